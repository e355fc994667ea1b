"""Notices to people by webhook: what happened, told once, never in the way of trading.

An event becomes a notice at once and waits in a bounded queue; what takes time, the network and
the pauses between tries, is a task of its own. The same thing again within a while is counted and
not sent. The address is a secret: whoever has it may speak in our name.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec
import structlog

from bot.core import messages as m
from bot.core.report import Report
from bot.io.client.answers import plain
from bot.io.metrics.kept import NOTICES
from bot.io.metrics.table import Family
from bot.io.notices.courier import Courier, Notice
from bot.io.secret import Secret
from venue.wire.instant import NS_PER_SECOND, from_ns

KEYS_MAX: Final = 256
TEXT_MAX: Final = 1_500
NAMED_MAX: Final = 50
"""Orders that a text names: so many fit."""

FINISH_S: Final = 3.0


class What(StrEnum):
    """What is told."""

    BREAKER = "breaker"
    LATCH = "latch"
    STOP = "stop"
    FOREIGN_ORDERS = "foreign_orders"
    UNKNOWN_ORDER = "unknown_order"
    KEY_REFUSED = "key_refused"
    DAILY_SUMMARY = "daily_summary"


class Form(StrEnum):
    """What a receiver wants to read."""

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
"""What differs between two tellings of one thing: ids and numbers."""


class Target(msgspec.Struct, frozen=True):
    """One receiver. what: the events it wants. per_minute: most notices in a minute, in the long
    run. repeat_s: the same thing is told again after so long at the earliest."""

    address: Secret
    form: Form
    what: frozenset[What]
    per_minute: int
    repeat_s: int


class Counts(msgspec.Struct):
    """What became of the notices to all receivers. fates: sent, repeated (counted with the next one
    like it), dropped (the queue was full), lost (given up)."""

    fates: dict[str, int]
    waiting: int = 0


class Notices:
    """Tells the receivers what happens in one run."""

    name = "notices"

    def __init__(
        self, bot: str, targets: Sequence[Target], couriers: Sequence[Courier] | None = None
    ) -> None:
        """couriers: one for each target, where other than the usual ones are wanted."""
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
        """The addresses."""
        return tuple(target.address for target in self._targets)

    @property
    def families(self) -> tuple[tuple[Family[Any], Any], ...]:
        """See Companion."""
        self.counts.waiting = sum(len(courier) for courier in self._couriers)
        return tuple((family, self.counts) for family in NOTICES)

    def _count(self, fate: str) -> None:
        self.counts.fates[fate] += 1

    def begin(self, look: Callable[[], Report | None], now_ns: Callable[[], int]) -> None:
        """See Companion."""
        self._look = look
        self._now_ns = now_ns

    # --- what happens -----------------------------------------------------------------------------

    def did(self, effect: m.Effect, at_ns: int) -> None:
        """See Companion."""
        match effect:
            case m.Latched(by=m.LatchedBy.BREAKER):
                self.tell(What.BREAKER, effect.reason, at_ns)
            case m.Noted(name=name, fields=fields) if name in _NOTES:
                text = str(fields.get("text") or fields.get("reason") or name)
                self.tell(_NOTES[name], text, at_ns)
            case m.Noted(name=name) if name in _CLEARED:
                text = f"{name.removesuffix('_cleared')}: over"
                self.tell(_CLEARED[name], text, at_ns, resolved=True)
            case m.DrainComplete(left=left, unknown=unknown) if left or unknown:
                named = (*left, *unknown)
                more = f" and {len(named) - NAMED_MAX} more" if len(named) > NAMED_MAX else ""
                told = ", ".join(named[:NAMED_MAX]) + more
                self.tell(What.STOP, f"stopped with orders left: {told}", at_ns)
            case m.DrainComplete(unshown=True):
                self.tell(What.STOP, "stopped, and no list shows that nothing rests", at_ns)
            case m.DrainComplete():
                self.tell(What.STOP, "stopped, nothing rests", at_ns, resolved=True)

    def tell(self, what: What, text: str, at_ns: int, *, resolved: bool = False) -> None:
        """Tell whoever wants to know of such things."""
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
            notice = Notice(self._body(target.form, what, text, series, at_ns, resolved, repeats))
            self._couriers[place].offer(notice)

    def _repeats(self, place: int, target: Target, what: str, text: str, at_ns: int) -> int | None:
        """How often the same thing happened untold since it was last told; None: not now."""
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
        """See Companion."""
        async with asyncio.TaskGroup() as tasks:
            for courier in self._couriers:
                tasks.create_task(courier.run())

    async def finish(self) -> None:
        """Deliver what waits, if that takes no longer than a few seconds."""
        try:
            async with asyncio.timeout(FINISH_S):
                await asyncio.gather(*(courier.drain() for courier in self._couriers))
        except TimeoutError:
            left = sum(len(courier) for courier in self._couriers)
            structlog.stdlib.get_logger("bot").warning("notices_undelivered", count=left)
        for courier in self._couriers:
            await courier.close()
