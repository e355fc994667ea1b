"""Delivers notices to one webhook: a few a minute, again and again until taken, or given up.

A receiver that hangs, refuses, or asks for patience costs nobody anything but its own notices: they
wait in a queue of bounded length, the oldest go first when it is full.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from typing import Final

import httpx
import msgspec
import structlog

from bot.io.client.sockets import client_beside, whole_within
from bot.io.secret import Secret

QUEUE_MAX: Final = 64
TRY_S: Final = 10.0
"""How long one try may take, from the first byte to the last."""

BACKOFF_MIN_S: Final = 1.0
BACKOFF_MAX_S: Final = 60.0
PATIENCE_MAX_S: Final = 300.0
"""A receiver that asks for more patience than that is tried again after it."""

GIVE_UP_S: Final = 900.0
"""A notice that was not taken for so long is given up: it is news no more."""

_AGAIN: Final = frozenset({408, 425, 429})


class Notice(msgspec.Struct, frozen=True):
    """One notice as its receiver wants it."""

    body: bytes


class Times(msgspec.Struct, frozen=True):
    """How patient a courier is, in seconds."""

    attempt_s: float = TRY_S
    backoff_min_s: float = BACKOFF_MIN_S
    backoff_max_s: float = BACKOFF_MAX_S
    patience_max_s: float = PATIENCE_MAX_S
    give_up_s: float = GIVE_UP_S


class Courier:
    """Delivers to one address. count: told what became of each notice, see `notices.Counts`."""

    def __init__(self, address: Secret, per_minute: int, times: Times | None = None) -> None:
        self._address = address
        self._every_s = 60.0 / per_minute
        self._burst = per_minute
        self._times = Times() if times is None else times
        self._tokens = float(per_minute)
        self._counted_s = 0.0
        self._queue: deque[Notice] = deque()
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._hurry = asyncio.Event()
        self._under_way: asyncio.Future[str] | None = None
        self._client: httpx.AsyncClient | None = None
        self._failing = False
        self._log = structlog.stdlib.get_logger("bot")
        self.count: Callable[[str], None] = lambda fate: None

    def __len__(self) -> int:
        return len(self._queue)

    def offer(self, notice: Notice) -> None:
        """Deliver this when it can be; returns at once."""
        if len(self._queue) >= QUEUE_MAX:
            # Not the first of the queue: that one may be under way.
            del self._queue[1]
            self.count("dropped")
        self._queue.append(notice)
        self._empty.clear()
        self._wake.set()

    async def run(self) -> None:
        """Deliver for ever."""
        while True:
            while not self._queue:
                self._wake.clear()
                await self._wake.wait()
            if self._under_way is None:
                self._under_way = asyncio.ensure_future(self._deliver(self._queue[0]))
            try:
                # Whoever goes on after this was cancelled takes over the one that is under way.
                fate = await asyncio.shield(self._under_way)
            except Exception:  # noqa: BLE001 - the task's boundary: one notice is lost at most
                self._log.exception("notice_broken")
                fate = "lost"
            self._under_way = None
            self.count(fate)
            self._queue.popleft()
            if not self._queue:
                self._empty.set()

    async def drain(self) -> None:
        """Return once nothing waits, the pace forgotten; `run` need not be running any more."""
        self._hurry.set()
        if not self._queue:
            return
        going_on = asyncio.ensure_future(self.run())
        try:
            await self._empty.wait()
        finally:
            going_on.cancel()
            await asyncio.wait([going_on])

    async def close(self) -> None:
        """Give up what is under way, and let go of the connection."""
        if self._under_way is not None:
            self._under_way.cancel()
            await asyncio.wait([self._under_way])
            self._under_way = None
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _deliver(self, notice: Notice) -> str:
        """Try until it is taken or given up: `sent` or `lost`."""
        loop, times = asyncio.get_running_loop(), self._times
        begun_s, wait_s = loop.time(), times.backoff_min_s
        await self._paced()
        while True:
            why, asked_s = await self._try(notice)
            if not why:
                if self._failing:
                    self._log.info("notices_delivered_again")
                self._failing = False
                return "sent"
            if not self._failing:
                # Once, until one is taken again; the address is a secret and stays out of it.
                self._log.error("notice_not_taken", why=why)
                self._failing = True
            if asked_s is None or loop.time() - begun_s > times.give_up_s:
                return "lost"
            pause_s = min(max(wait_s, asked_s), times.patience_max_s)
            await asyncio.sleep(pause_s * (1 + random.random() / 4))
            wait_s = min(2 * wait_s, times.backoff_max_s)

    async def _paced(self) -> None:
        """Wait for a turn: so many a minute in the long run, and as many at once."""
        loop = asyncio.get_running_loop()
        now_s = loop.time()
        gained = (now_s - self._counted_s) / self._every_s
        self._tokens = min(float(self._burst), self._tokens + gained)
        self._counted_s = now_s
        if self._tokens < 1 and not self._hurry.is_set():
            try:
                async with asyncio.timeout((1 - self._tokens) * self._every_s):
                    await self._hurry.wait()
            except TimeoutError:
                self._tokens, self._counted_s = 1.0, loop.time()
        self._tokens = max(0.0, self._tokens - 1)

    async def _try(self, notice: Notice) -> tuple[str, float | None]:
        """Why it was not taken, empty if it was; and how long to wait at least, None for ever."""
        if self._client is None:
            # The body of an answer is nobody's business: it is never read.
            self._client = client_beside()
        headers = {"Content-Type": "application/json", "User-Agent": "laddermaker"}
        try:
            with whole_within(self._times.attempt_s):
                async with self._client.stream(
                    "POST", self._address.reveal(), content=notice.body, headers=headers
                ) as answer:
                    status = answer.status_code
                    patience = answer.headers.get("Retry-After", "")
        except httpx.TimeoutException:
            return "no answer in time", 0.0
        except (httpx.HTTPError, httpx.InvalidURL) as fault:
            return type(fault).__name__, 0.0
        if 200 <= status < 300:
            return "", 0.0
        if status in _AGAIN or status >= 500:
            # Of other scripts there are signs that pass for digits and are no number.
            is_number = patience.isascii() and patience.isdigit()
            return f"status {status}", float(patience) if is_number else 0.0
        return f"status {status}", None
