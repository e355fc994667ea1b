"""An order manager with its outbox, and responses to its requests."""

from collections.abc import Iterable

from bot.core import messages as m
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import Outbox, Pending
from bot.core.settings import BudgetSettings, StalenessSettings
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from venue.wire import model
from venue.wire.errors import CODES, Code
from venue.wire.names import MarketId
from venue.wire.requests import Amend

TRUST = StalenessSettings(read_lag_ns=LAG_NS)


class Desk(OrderManager):
    """An order manager that shows its outbox."""

    def __init__(self, staleness: StalenessSettings, out: Outbox) -> None:
        super().__init__(staleness, out)
        self.outbox = out


def desk(staleness: StalenessSettings = TRUST) -> tuple[Desk, Outbox]:
    """An order manager without orders, and its outbox."""
    of = Desk(staleness, Outbox(BudgetSettings()))
    return of, of.outbox


def with_order(state: State = State.OPEN, **wanted) -> tuple[Desk, Outbox, OwnOrder]:
    """An order manager with one order in a state."""
    of, out = desk()
    own = made.own(state, **wanted)
    of.add_order(own)
    return of, out, own


def rejected(code: str) -> m.Rejected:
    """The venue's rejection with this code."""
    return m.Rejected(CODES[Code(code)].status, code, "")


def answer(
    of: Desk, own: OwnOrder, request: m.Request, reply: m.Answer, now_ns: int = T0, begun_ns=T0
) -> None:
    """A response about an order arrives; its request is no longer in flight."""
    under_way = of.outbox.pending
    for request_id, each in list(under_way.items()):
        if each.own is own and each.request == request:
            del under_way[request_id]
            break
    of.on_response(Pending(request, own, begun_ns), reply, now_ns)


def create(own: OwnOrder, again: bool = False) -> m.Create:
    """The create of an order."""
    return m.Create(own.order, again)


def sent(out: Outbox) -> list[m.Request]:
    """Requests sent since the last call."""
    requests = [effect.request for effect in out.effects if isinstance(effect, m.Send)]
    out.effects = []
    return requests


def amending(amend: Amend = Amend(price=45)) -> tuple[Desk, Outbox, OwnOrder]:  # noqa: B008
    """An order manager with one order whose amend is in flight."""
    of, out, own = with_order()
    assert of.send_amend(own, amend, "moved", T0)
    sent(out)
    return of, out, own


def respond_to_amend(of: Desk, own: OwnOrder, reply: m.Answer) -> None:
    """The amend in flight is answered."""
    answer(of, own, m.AmendResting(own.order_id, own.amend), reply)


def respond_to_create(
    of: Desk, own: OwnOrder, reply: m.Answer, now_ns: int = T0, *, again: bool = True
) -> None:
    """A create, by default a resend of it, is answered."""
    answer(of, own, create(own, again), reply, now_ns)


def respond_to_cancel(of: Desk, own: OwnOrder, reply: m.Answer, now_ns: int = T0) -> None:
    """A cancel is answered."""
    answer(of, own, m.CancelResting(own.order_id), reply, now_ns)


def query(of: Desk, own: OwnOrder, row: model.Order, at_ns: int) -> None:
    """A read of the order by its id, begun and answered at an instant, shows this row."""
    of.on_order_row(own, row, at_ns, at_ns, by_id=True)


def listed(
    of: OrderManager, rows: Iterable[model.Order], begun_ns: int, fills_ns: int | None = None
) -> list[MarketId]:
    """A full list, begun and answered at an instant. fills_ns: the start of the newest read of the
    fills, if not then."""
    return of.on_full_list(rows, begun_ns, begun_ns, begun_ns if fills_ns is None else fills_ns)


def unlisted(of: OrderManager, begun_ns: int) -> list[MarketId]:
    """Two lists in a row lack every order; the fills are read a lag after the first."""
    assert listed(of, [], begun_ns) == []
    return listed(of, [], begun_ns + LAG_NS)
