"""What the journal of earlier runs tells a new one: read from bytes, without a disk.

The newest segment tells all by itself, for its head carries what came before it. One whose head a
crash tore off holds nothing. Where a segment is damaged, everything that can be read still counts
as far as it opens an intent, for one too many only costs a request; but orders are no longer known
from it, as if it were lost: all that rests is cancelled first.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from bot.core import messages as m
from bot.io.journal.intents import Intents
from bot.io.journal.records import Entry, Head, Segment
from bot.io.journal.working import OpenOrderIndex
from venue.wire.instant import Instant, to_ns
from venue.wire.money import Cents, Outcome
from venue.wire.names import MarketId, OrderId, Ticker, fold_ticker


class RecoveredState(msgspec.Struct, frozen=True):
    """What a new run begins with. damage: where a damaged journal is, for a person. winners,
    complete_fill, fills_since, event_cash: as in `Started`."""

    fate: m.JournalFate
    open_intents: tuple[m.UnconfirmedCreate, ...] = ()
    working: tuple[m.JournaledOrder, ...] = ()
    damage: str = ""
    winners: tuple[tuple[MarketId, Outcome], ...] = ()
    complete_fill: m.FillMark | None = None
    event_cash: tuple[tuple[Ticker, Cents], ...] = ()
    fills_since: tuple[m.FillMark, ...] = ()

    def head(self, at_ns: int) -> Head:
        """What the first segment of that run carries."""
        return Head(
            at_ns,
            self.open_intents,
            self.working,
            winners=self.winners,
            complete_fill=self.complete_fill,
            event_cash=self.event_cash,
            fills_since=self.fills_since,
        )


NOTHING_LEFT: Final = RecoveredState(m.JournalFate.FOUND)
"""What a run on an account of its own begins with, whatever a journal says."""


_NEW: Final = Head(0, ())

_TELLING: Final = frozenset(
    (m.Send, m.Response, m.Started, m.DrainComplete, m.CreateResolved, m.OrdersAdopted, m.Noted)
)
"""The kinds of entries that a memory hangs on; most are of others, and this is on the hot path."""


WINNERS_MAX: Final = 1_000
"""Winners remembered, far above the rungs of a series that trades. With one forgotten the others of
its ladder are quoted as if nobody had ever been paid for it."""


EVENTS_MAX: Final = 1_000
"""Events whose cash is remembered; of one that was forgotten a loss limit begins anew."""

FILLS_SINCE_MAX: Final = 10_000
"""Fills remembered by id that no audit has proved complete; with more the oldest count as such."""

_CASH: Final = frozenset(("fill_booked", "rung_settled", "unallocated_settlement"))
"""Notes of cash that came or went for an event."""


class RunningState:
    """Follows a journal: which creates are open, which orders rest, which winners were told, and
    what was booked."""

    def __init__(self, head: Head = _NEW) -> None:
        self._intents = Intents(head.open_intents, head.under_way)
        self._working = OpenOrderIndex(head.working, head.under_way)
        self._under_way = {send.request_id: send for send in head.under_way}
        self._winners = dict(head.winners)
        self._complete_fill = head.complete_fill
        self._fills_since = {mark.fill_id: mark for mark in head.fills_since}
        self._event_cash = dict(head.event_cash)

    @property
    def too_many(self) -> bool:
        """Whether more intents are open than can be."""
        return self._intents.too_many

    def follow(self, entry: Entry) -> None:
        """Take in the next entry."""
        message = entry.message
        if type(message) not in _TELLING:
            return
        match message:
            case m.Send(request=m.Create() | m.AmendResting() | m.CancelResting()):
                self._under_way[message.request_id] = message
            case m.Response():
                self._under_way.pop(message.request_id, None)
            case m.Started():
                self._under_way.clear()
                if message.new_account:
                    self._winners.clear()
                    self._event_cash.clear()
                    self._complete_fill = None
                    self._fills_since.clear()
            case m.Noted():
                self._noted(message.name, message.fields)
                return
            case m.CreateResolved(order_id=str(order_id)):
                intent = self._intents.of(message.client_order_id)
                if intent is not None:
                    self._working.identified(intent.order, OrderId(order_id), entry.at_ns)
        self._intents.follow(entry.message)
        self._working.follow(entry.message, entry.at_ns)

    def _noted(self, name: str, fields: dict[str, str | int]) -> None:
        if name == "winner_told":
            self._told(fields)
        elif name == "event_left":
            self._event_cash.pop(fold_ticker(str(fields["event"])), None)
        elif name in _CASH and "cents" in fields:
            event = Ticker(str(fields["event"]))
            before = self._event_cash.pop(event, Cents(0))
            self._event_cash[event] = Cents(before + int(fields["cents"]))
            if len(self._event_cash) > EVENTS_MAX:
                del self._event_cash[next(iter(self._event_cash))]
        if name == "fill_booked":
            mark = _mark_of(fields)
            self._fills_since[mark.fill_id] = mark
            if len(self._fills_since) > FILLS_SINCE_MAX:
                self._complete_up_to(self._fills_since[next(iter(self._fills_since))])
        elif name in ("fills_complete", "books_opened"):
            self._complete_up_to(_mark_of(fields))

    def _complete_up_to(self, complete: m.FillMark) -> None:
        """Every fill up to this one is booked; one of the same instant may be listed above it."""
        self._complete_fill = complete
        self._fills_since.pop(complete.fill_id, None)
        from_ns = to_ns(complete.created_at)
        for mark in [*self._fills_since.values()]:
            if to_ns(mark.created_at) < from_ns:
                del self._fills_since[mark.fill_id]

    def _told(self, fields: dict[str, str | int]) -> None:
        """What a rung of ours paid has told its winner."""
        self._winners[MarketId(str(fields["market_id"]))] = Outcome(str(fields["winner"]))
        if len(self._winners) > WINNERS_MAX:
            del self._winners[next(iter(self._winners))]

    def head(self, at_ns: int) -> Head:
        """What a segment that begins now carries."""
        return Head(
            at_ns,
            self._intents.open(),
            self._working.orders(),
            tuple(self._under_way.values()),
            tuple(self._winners.items()),
            self._complete_fill,
            tuple(self._event_cash.items()),
            tuple(self._fills_since.values()),
        )

    def memory(self) -> RecoveredState:
        """What a run begins with after this one has died: no answer comes any more."""
        return RecoveredState(
            m.JournalFate.FOUND,
            self._intents.open(),
            self._working.orders(),
            winners=tuple(self._winners.items()),
            complete_fill=self._complete_fill,
            event_cash=tuple(self._event_cash.items()),
            fills_since=tuple(self._fills_since.values()),
        )


def _mark_of(fields: dict[str, str | int]) -> m.FillMark:
    return m.FillMark(str(fields["fill_id"]), Instant(str(fields["created_at"])))


def recall(newest_first: Iterable[Segment]) -> RecoveredState:
    """What the segments tell. Takes no more of them than are needed.

    Raises JournalFault as `Segment` does.
    """
    needed: list[Segment] = []
    for segment in newest_first:
        if segment.head is not None:
            needed.append(segment)
            break
        if segment.damaged_at is not None:
            needed.append(segment)
    if not needed:
        return RecoveredState(m.JournalFate.LOST)
    trail = RunningState(needed[-1].head or _NEW)
    damage = ""
    for segment in reversed(needed):
        for entry in segment.entries():
            trail.follow(entry)
        for entry in segment.salvaged():
            trail.follow(entry)
        if segment.damaged_at is not None:
            damage = f"{segment.name}: journal damaged at byte {segment.damaged_at}"
    memory = trail.memory()
    if damage:
        return RecoveredState(
            m.JournalFate.DAMAGED, memory.open_intents, (), damage, winners=memory.winners
        )
    return memory
