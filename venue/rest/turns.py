"""Whose long read or body is dealt with next: of each user one in a turn of the loop, so that a
thousand at once keep nobody else waiting. So do answers that take no token. And how many long
answers of one user are kept until they are taken."""

import asyncio
from collections import deque

from venue.wire.names import UserId


class FairTurns:
    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def wait_turn(self, whose: str, *, again: bool = False) -> None:
        """Return in its turn, first come, first served; what the caller does without awaiting is
        done in it. again: the next turn, for a half-made answer takes memory."""
        waiting = self._waiting.get(whose)
        loop = asyncio.get_running_loop()
        if waiting is None:
            self._waiting[whose] = deque()
            loop.call_soon(self._pass_on, whose, loop)
        else:
            turn: asyncio.Future[None] = loop.create_future()
            if again:
                waiting.appendleft(turn)
            else:
                waiting.append(turn)
            await turn

    def _pass_on(self, whose: str, loop: asyncio.AbstractEventLoop) -> None:
        waiting = self._waiting[whose]
        while waiting:
            turn = waiting.popleft()
            # The waiter may have been cancelled.
            if not turn.done():
                turn.set_result(None)
                loop.call_soon(self._pass_on, whose, loop)
                return
        del self._waiting[whose]


class ResponseSlots:
    """At most `most` answers of each user from when they are made until they are sent: slow readers
    on many connections would fill the memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._taken: dict[UserId, int] = {}
        self._waiting: dict[UserId, deque[asyncio.Future[None]]] = {}

    def is_full(self, user_id: UserId) -> bool:
        return self._taken.get(user_id, 0) >= self._most

    async def acquire_slot(self, user_id: UserId) -> None:
        if not self.is_full(user_id):
            self._taken[user_id] = self._taken.get(user_id, 0) + 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(user_id, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.release_slot(user_id)
            raise

    def release_slot(self, user_id: UserId) -> None:
        waiting = self._waiting.get(user_id, deque())
        while waiting:
            place = waiting.popleft()
            if not waiting:
                del self._waiting[user_id]
            # The waiter may have been cancelled.
            if not place.done():
                place.set_result(None)
                return
        self._taken[user_id] -= 1
        if not self._taken[user_id]:
            del self._taken[user_id]
