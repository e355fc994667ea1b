"""The venue's front door: uvicorn as a library, deadlines and caps on all that a peer does."""

from venue.listen.server import (
    AddressTaken,
    FewFiles,
    Server,
    listen,
    make_server,
    refuse_few_files,
)

__all__ = ["AddressTaken", "FewFiles", "Server", "listen", "make_server", "refuse_few_files"]
