"""Whose read is made next, or whose long body read: of one user's, one in a turn of the loop.

A page of a thousand rows takes milliseconds in which nobody else is served, and so does a body of
the longest. Sent over many connections at once, the loop would deal with all of them before it
looked at anybody else's order; in turns they keep nobody waiting but the user who sent them.

Source: interface, Limits (one bucket per credential: nobody pays for what others ask).
"""

import asyncio
from collections import deque

from venue.wire.names import UserId


class Turns:
    """The turns of every user who reads or sends much just now."""

    def __init__(self) -> None:
        self._waiting: dict[UserId, deque[asyncio.Future[None]]] = {}

    async def take(self, user_id: UserId, *, again: bool = False) -> None:
        """Return in the user's turn, at once when it is free; first come, first served.

        What the caller does without awaiting is done in it. It ends by itself. Who has just had
        one takes the next with `again`: what is half made takes room until it is whole.
        """
        waiting = self._waiting.get(user_id)
        loop = asyncio.get_running_loop()
        if waiting is None:
            self._waiting[user_id] = deque()
            loop.call_soon(self._pass_on, user_id, loop)
        else:
            turn: asyncio.Future[None] = loop.create_future()
            if again:
                waiting.appendleft(turn)
            else:
                waiting.append(turn)
            await turn

    def _pass_on(self, user_id: UserId, loop: asyncio.AbstractEventLoop) -> None:
        waiting = self._waiting[user_id]
        while waiting:
            turn = waiting.popleft()
            # Whoever was to have it may have been cancelled.
            if not turn.done():
                turn.set_result(None)
                loop.call_soon(self._pass_on, user_id, loop)
                return
        del self._waiting[user_id]

    @property
    def users(self) -> int:
        """How many users' turns are kept: those with a read in this turn of the loop."""
        return len(self._waiting)
