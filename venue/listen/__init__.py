"""The venue's front door: uvicorn as a library, deadlines and caps on all that a peer does."""

from venue.listen.server import AddressTaken, Server, listen, make_server

__all__ = ["AddressTaken", "Server", "listen", "make_server"]
