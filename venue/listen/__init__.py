"""The venue's front door: uvicorn as a library, deadlines and caps on all that a peer does."""

from venue.listen.server import (
    AddressTaken,
    Server,
    TooFewFiles,
    check_file_limit,
    listen,
    make_server,
)

__all__ = ["AddressTaken", "Server", "TooFewFiles", "check_file_limit", "listen", "make_server"]
