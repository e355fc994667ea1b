"""Reads and amends of one own order."""

from bot.core.orders.order import OrderEvent, OwnOrder, State
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from venue.wire import model
from venue.wire.requests import Amend

STRANGE = model.OrderStatus.UNKNOWN
CANCELED = model.OrderStatus.CANCELED


def read(own: OwnOrder, begun_ns: int, **shown) -> None:
    """A read by id, begun at an instant, shows the order with these fields."""
    own.on_query(made.shown(own, **shown), begun_ns, LAG_NS)


def read_over(own: OwnOrder, begun_ns: int, filled: int = 0, status=CANCELED) -> None:
    """A read by id shows the order closed."""
    own.on_query(made.over(own, status, filled), begun_ns, LAG_NS)


def amending(amend: Amend, state: State = State.PENDING_REPLACE, **known) -> OwnOrder:
    """An order of ten at 40 whose amend is in flight, or timed out at T0."""
    own = made.own(State.OPEN)
    if known:
        read(own, T0 + LAG_NS, **known)
    own.last_write_ns = T0
    own.on_amend_sent(amend)
    if state is State.REPLACE_UNKNOWN:
        own.on_answer(OrderEvent.TIMEOUT, T0)
    return own
