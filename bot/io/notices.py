"""Notices to people by webhook: sent once, retried with backoff, never in the way of trading."""

import asyncio
import random
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final

import httpx
import msgspec
import structlog

from bot.core import messages as m
from bot.core.report import Report
from bot.io.client.answers import plain
from bot.io.client.sockets import client_beside, whole_within
from bot.io.metrics.table import NOTICES, Family
from bot.io.secret import Secret
from venue.wire.instant import NS_PER_SECOND, from_ns

QUEUE_MAX: Final = 64
_AGAIN: Final = frozenset({408, 425, 429})


class Times(msgspec.Struct, frozen=True):
    attempt_s: float = 10.0
    """Of one try, from the first byte to the last."""

    backoff_min_s: float = 1.0
    backoff_max_s: float = 60.0
    patience_max_s: float = 300.0
    """Retry of a receiver that asks for a longer wait."""

    give_up_s: float = 900.0
    """After so long a notice is no news any more."""


class Courier:
    """Delivers to one address, throttled. count: called with the outcome of each notice."""

    def __init__(self, address: Secret, per_minute: int, times: Times | None = None) -> None:
        self._address = address
        self._every_s = 60.0 / per_minute
        self._burst = per_minute
        self._times = Times() if times is None else times
        self._tokens = float(per_minute)
        self._counted_s = 0.0
        self._queue: deque[bytes] = deque()
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

    def offer(self, notice: bytes) -> None:
        if len(self._queue) >= QUEUE_MAX:
            # Not the first of the queue: that one may be in flight.
            del self._queue[1]
            self.count("dropped")
        self._queue.append(notice)
        self._empty.clear()
        self._wake.set()

    async def run(self) -> None:
        while True:
            while not self._queue:
                self._wake.clear()
                await self._wake.wait()
            if self._under_way is None:
                self._under_way = asyncio.ensure_future(self._deliver(self._queue[0]))
            try:
                # A task that runs on after this was cancelled takes over the notice in flight.
                fate = await asyncio.shield(self._under_way)
            except Exception:  # noqa: BLE001 - the task's boundary: one notice is lost at most
                self._log.exception("notice_broken")
                fate = "lost"
            self._under_way = None
            self.count(fate)
            self._queue.popleft()
            if not self._queue:
                self._empty.set()

    async def deliver_all(self) -> None:
        """Deliver the queue without the throttle; `run` need not be running any more."""
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
        if self._under_way is not None:
            self._under_way.cancel()
            await asyncio.wait([self._under_way])
            self._under_way = None
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _deliver(self, notice: bytes) -> str:
        """Retry until it is taken or given up: `sent` or `lost`."""
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
        """Wait for the throttle: so many a minute in the long run, and as many at once."""
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

    async def _try(self, notice: bytes) -> tuple[str, float | None]:
        """Why it was not taken, empty if it was; and the shortest wait, None for ever."""
        if self._client is None:
            # The body of an answer is never read.
            self._client = client_beside()
        headers = {"Content-Type": "application/json", "User-Agent": "laddermaker"}
        try:
            with whole_within(self._times.attempt_s):
                async with self._client.stream(
                    "POST", self._address.reveal(), content=notice, headers=headers
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


KEYS_MAX: Final = 256
TEXT_MAX: Final = 1_500
NAMED_MAX: Final = 50
"""Orders that a text names."""

FINISH_S: Final = 3.0


class What(StrEnum):
    BREAKER = "breaker"
    LATCH = "latch"
    STOP = "stop"
    FOREIGN_ORDERS = "foreign_orders"
    UNKNOWN_ORDER = "unknown_order"
    KEY_REFUSED = "key_refused"
    DAILY_SUMMARY = "daily_summary"


class Form(StrEnum):
    """The format that a receiver reads."""

    JSON = "json"
    SLACK = "slack"


_NOTES: Final = {
    "latched": What.LATCH,
    "latched_not_flat": What.LATCH,
    "inconsistency": What.LATCH,
    "stopping": What.STOP,
    "foreign_orders": What.FOREIGN_ORDERS,
    "strangers_found": What.FOREIGN_ORDERS,
    "unknown_old": What.UNKNOWN_ORDER,
    "key_refused": What.KEY_REFUSED,
    "read_key_refused": What.KEY_REFUSED,
    "standby_key_refused": What.KEY_REFUSED,
}
_CLEARED: Final = {f"{name}_cleared": what for name, what in _NOTES.items()}
_VARYING: Final = re.compile(r"\b[0-9a-fA-F-]{8,}\b|[0-9]+")
"""Ids and numbers, which differ between two notices of one thing."""


class Target(msgspec.Struct, frozen=True):
    """One receiver. what: the events it wants. per_minute: throttle. repeat_s: shortest time
    between two notices of one thing."""

    address: Secret
    form: Form
    what: frozenset[What]
    per_minute: int
    repeat_s: int


class Counts(msgspec.Struct):
    """Notices by outcome: sent, repeated (counted with the next one like it), dropped (queue full),
    lost (given up)."""

    fates: dict[str, int]
    waiting: int = 0


class Notices:
    name = "notices"

    def __init__(
        self, bot: str, targets: Sequence[Target], couriers: Sequence[Courier] | None = None
    ) -> None:
        """couriers: one for each target, instead of the usual ones."""
        self._bot = bot
        self._targets = tuple(targets)
        self.counts = Counts(dict.fromkeys(("sent", "repeated", "dropped", "lost"), 0))
        made = [Courier(each.address, each.per_minute) for each in targets]
        self._couriers = tuple(made if couriers is None else couriers)
        for courier in self._couriers:
            courier.count = self._count
        self._last: OrderedDict[tuple[int, str, str], tuple[int, int]] = OrderedDict()
        self._look: Callable[[], Report | None] = lambda: None
        self._now_ns: Callable[[], int] = lambda: 0

    @property
    def secrets(self) -> tuple[Secret, ...]:
        return tuple(target.address for target in self._targets)

    @property
    def families(self) -> tuple[tuple[Family[Any], Any], ...]:
        self.counts.waiting = sum(len(courier) for courier in self._couriers)
        return tuple((family, self.counts) for family in NOTICES)

    def _count(self, fate: str) -> None:
        self.counts.fates[fate] += 1

    def on_run_start(self, look: Callable[[], Report | None], now_ns: Callable[[], int]) -> None:
        self._look = look
        self._now_ns = now_ns

    # --- what happens -----------------------------------------------------------------------------

    def did(self, effect: m.Effect, at_ns: int) -> None:
        match effect:
            case m.Latched(by=m.LatchedBy.BREAKER):
                self.notify(What.BREAKER, effect.reason, at_ns)
            case m.Noted(name=name, fields=fields) if name in _NOTES:
                text = str(fields.get("text") or fields.get("reason") or name)
                self.notify(_NOTES[name], text, at_ns)
            case m.Noted(name=name) if name in _CLEARED:
                text = f"{name.removesuffix('_cleared')}: over"
                self.notify(_CLEARED[name], text, at_ns, resolved=True)
            case m.DrainComplete(left=left, unknown=unknown) if left or unknown:
                named = (*left, *unknown)
                more = f" and {len(named) - NAMED_MAX} more" if len(named) > NAMED_MAX else ""
                told = ", ".join(named[:NAMED_MAX]) + more
                self.notify(What.STOP, f"stopped with orders left: {told}", at_ns)
            case m.DrainComplete(unshown=True):
                self.notify(What.STOP, "stopped, and no list shows that nothing rests", at_ns)
            case m.DrainComplete():
                self.notify(What.STOP, "stopped, nothing rests", at_ns, resolved=True)

    def notify(self, what: What, text: str, at_ns: int, *, resolved: bool = False) -> None:
        report = self._look()
        series = "" if report is None else str(report.series_ticker)
        text = plain(text, TEXT_MAX)
        for place, target in enumerate(self._targets):
            if what not in target.what:
                continue
            repeats = self._repeats(place, target, f"{what} {resolved}", text, at_ns)
            if repeats is None:
                self._count("repeated")
                continue
            notice = self._body(target.form, what, text, series, at_ns, resolved, repeats)
            self._couriers[place].offer(notice)

    def _repeats(self, place: int, target: Target, what: str, text: str, at_ns: int) -> int | None:
        """How often the same thing happened since it was last sent; None: do not send it now."""
        key = (place, what, _VARYING.sub("#", text))
        told_ns, untold = self._last.get(key, (None, 0))
        if told_ns is not None and at_ns - told_ns < target.repeat_s * NS_PER_SECOND:
            self._last[key] = (told_ns, untold + 1)
            return None
        self._last[key] = (at_ns, 0)
        self._last.move_to_end(key)
        while len(self._last) > KEYS_MAX:
            self._last.popitem(last=False)
        return untold

    def _body(
        self,
        form: Form,
        what: What,
        text: str,
        series: str,
        at_ns: int,
        resolved: bool,
        repeats: int,
    ) -> bytes:
        if form is Form.SLACK:
            sign = "over" if resolved else what.replace("_", " ")
            more = f" ({repeats} more like it since the last)" if repeats else ""
            said = f"*{self._bot}* {series} {sign}: {text}{more}"
            for raw, shown in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
                said = said.replace(raw, shown)
            return msgspec.json.encode({"text": said})
        return msgspec.json.encode(
            {
                "event": what.value,
                "bot": self._bot,
                "series": series,
                "at": from_ns(at_ns),
                "text": text,
                "resolved": resolved,
                "repeats": repeats,
            }
        )

    # --- the tasks --------------------------------------------------------------------------------

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for courier in self._couriers:
                tasks.create_task(courier.run())

    async def on_run_end(self) -> None:
        """Deliver the queue, with a timeout of a few seconds."""
        try:
            async with asyncio.timeout(FINISH_S):
                await asyncio.gather(*(courier.deliver_all() for courier in self._couriers))
        except TimeoutError:
            left = sum(len(courier) for courier in self._couriers)
            structlog.stdlib.get_logger("bot").warning("notices_undelivered", count=left)
        for courier in self._couriers:
            await courier.close()
