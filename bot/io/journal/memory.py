"""What the journal of earlier runs tells a new one: read from bytes, without a disk.

The newest segment tells all by itself, for its head carries what came before it. One whose head a
crash tore off holds nothing. Where a segment is damaged, everything that can be read still counts
as far as it opens an intent, for one too many only costs a request; but orders are no longer known
from it, as if it were lost: all that rests is cancelled first.

Source: design, laws 3, 7 and 8; reliability, rows 59, 60, 62, 67.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from bot.core import messages as m
from bot.io.journal.intents import Intents
from bot.io.journal.records import Entry, Head, Segment
from bot.io.journal.working import Working
from venue.wire.names import OrderId


class Memory(msgspec.Struct, frozen=True):
    """What a new run begins with. damage: where a damaged journal is, for a person."""

    fate: m.JournalFate
    open_intents: tuple[m.OpenIntent, ...] = ()
    working: tuple[m.KnownOrder, ...] = ()
    damage: str = ""


NOTHING_LEFT: Final = Memory(m.JournalFate.FOUND)
"""What a run on an account of its own begins with, whatever a journal says."""


_NEW: Final = Head(0, ())

_TELLING: Final = frozenset(
    (m.Send, m.Replied, m.Started, m.Finished, m.IntentSettled, m.TakenOver)
)
"""The kinds of entries that a memory hangs on; most are of others, and this is on the hot path."""


class Trail:
    """Follows a journal: which creates are open, and which orders rest."""

    def __init__(self, head: Head = _NEW) -> None:
        self._intents = Intents(head.open_intents, head.under_way)
        self._working = Working(head.working, head.under_way)
        self._under_way = {send.request_id: send for send in head.under_way}

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
            case m.Replied():
                self._under_way.pop(message.request_id, None)
            case m.Started():
                self._under_way.clear()
            case m.IntentSettled(order_id=str(order_id)):
                intent = self._intents.of(message.client_order_id)
                if intent is not None:
                    self._working.identified(intent.order, OrderId(order_id), entry.at_ns)
        self._intents.follow(entry.message)
        self._working.follow(entry.message, entry.at_ns)

    def head(self, at_ns: int) -> Head:
        """What a segment that begins now carries."""
        return Head(
            at_ns,
            self._intents.open(),
            self._working.orders(),
            tuple(self._under_way.values()),
        )

    def memory(self) -> Memory:
        """What a run begins with after this one has died: no answer comes any more."""
        return Memory(m.JournalFate.FOUND, self._intents.open(), self._working.orders())


def recall(newest_first: Iterable[Segment]) -> Memory:
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
        return Memory(m.JournalFate.LOST)
    trail = Trail(needed[-1].head or _NEW)
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
        return Memory(m.JournalFate.DAMAGED, memory.open_intents, (), damage)
    return memory
