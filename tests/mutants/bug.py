"""A planted bug: one classic mistake as a few patches, and what the simulator needs to meet it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from bot.core import messages as m
from bot.core import trader
from bot.core.orders.order import OrderEvent, OwnOrder
from bot.core.orders.outbox import Pending
from bot.core.trader import Trader

FORGOTTEN: Final = ("B1", "B2", "B3", "B6", "B8", "B9", "B11", "B13", "B15")
"""What may be seen broken first once an order, or a part of one, is forgotten."""


class Patch(NamedTuple):
    """`home.name` is `value` while a world runs, in this process only."""

    home: Any
    name: str
    value: Any


@contextmanager
def planted(patches: Sequence[Patch]) -> Iterator[None]:
    before = [(patch, patch.home.__dict__[patch.name]) for patch in patches]
    try:
        for patch in patches:
            setattr(patch.home, patch.name, patch.value)
        yield
    finally:
        for patch, was in before:
            setattr(patch.home, patch.name, was)


class Bug(NamedTuple):
    """One mistake.

    name: lower-kebab. rows: of the failure catalogue, the one it stands for first. mistake: how it
    is made in the field, one sentence. breaks: the invariants any of which may be the first that
    does not hold; `raises` where the mistake is an exception that nobody catches. likely: faults
    and episodes drawn in every seed, as often as any seed has them, where meeting them is rare;
    shape: what every world has that some have anyway.
    replays: whether every world is replayed, which alone shows chance and clocks.
    """

    name: str
    rows: tuple[int, ...]
    mistake: str
    breaks: tuple[str, ...]
    patches: tuple[Patch, ...]
    likely: tuple[str, ...] = ()
    profile: str = "swarm"
    replays: bool = False
    shape: tuple[tuple[str, Any], ...] = ()


_order_answered = Trader._order_answered
_answered = OwnOrder.on_answer

NEVER_LEFT: Final = m.Rejected(0, "", "planted")
"""What an answer is misread as: the request never left, so there is no order."""


def misread(
    kind: type[m.Create] | type[m.AmendResting] | type[m.CancelResting], reason: str
) -> Patch:
    def order_answered(self: Trader, pending: Pending, own: OwnOrder, answer: m.Answer) -> None:
        request = pending.request
        first = isinstance(request, kind) and not getattr(request, "again", False)
        if first and isinstance(answer, m.Unknown) and answer.reason.startswith(reason):
            answer = NEVER_LEFT
        _order_answered(self, pending, own, answer)

    return Patch(Trader, "_order_answered", order_answered)


def handles(kind: type[m.Event], handler: Callable[[Trader, Any], None]) -> Patch:
    return Patch(trader, "HANDLERS", {**trader.HANDLERS, kind: handler})


def forgets(when: Callable[[OwnOrder, OrderEvent], bool], ends_by: OrderEvent) -> Patch:
    def answered(self: OwnOrder, fact: OrderEvent, now_ns: int) -> None:
        if when(self, fact):
            self.last_write_ns = now_ns
            self.apply_event(ends_by, now_ns)
        else:
            _answered(self, fact, now_ns)

    return Patch(OwnOrder, "on_answer", answered)
