"""The venue's front door: uvicorn as a library, deadlines and caps on all that a peer does."""

from venue.listen.server import Server, make_server

__all__ = ["Server", "make_server"]
