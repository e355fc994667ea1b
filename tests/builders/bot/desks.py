"""A desk with its outbox, and answers that arrive there."""

from collections.abc import Iterable

from bot.core import messages as m
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import Outbox, Pending
from bot.core.settings import BudgetSettings, StalenessSettings
from tests.builders.bot import made
from tests.builders.bot.made import LAG_NS, T0
from venue.wire import model
from venue.wire.names import MarketId
from venue.wire.requests import Amend

TRUST = StalenessSettings(read_lag_ns=LAG_NS)


def desk() -> tuple[OrderManager, Outbox]:
    """A desk without orders and its outbox."""
    out = Outbox(BudgetSettings())
    return OrderManager(TRUST, out), out


def answer(
    of: OrderManager,
    own: OwnOrder,
    request: m.Request,
    reply: m.Answer,
    now_ns: int = T0,
    begun_ns=T0,
) -> None:
    """An answer about an order arrives, and its request is under way no more."""
    under_way = of._out.pending
    for request_id, each in list(under_way.items()):
        if each.own is own and each.request == request:
            del under_way[request_id]
            break
    of.on_response(Pending(request, own, begun_ns), reply, now_ns)


def create(own: OwnOrder, again: bool = False) -> m.Create:
    """The create of an order."""
    return m.Create(own.intent.order, own.intent.body, again)


def sent(out: Outbox) -> list[m.Request]:
    """Requests that left since the outbox was last emptied."""
    requests = [effect.request for effect in out.effects if isinstance(effect, m.Send)]
    out.effects = []
    return requests


def amending(amend: Amend = Amend(price=45)) -> tuple[OrderManager, Outbox, OwnOrder]:  # noqa: B008
    """A desk with one order whose amend has left."""
    of, out = desk()
    own = made.own(State.OPEN)
    of.add_order(own)
    assert of.send_amend(own, amend, "moved", T0)
    sent(out)
    return of, out, own


def listed(
    of: OrderManager, rows: Iterable[model.Order], begun_ns: int, fills_ns: int | None = None
) -> list[MarketId]:
    """A whole list, begun and answered at an instant. fills_ns: when the newest walk of the fills
    began, if not then."""
    return of.on_full_list(rows, begun_ns, begun_ns, begun_ns if fills_ns is None else fills_ns)


def unlisted(of: OrderManager, begun_ns: int) -> list[MarketId]:
    """Two lists running show nothing, and the fills are walked a lag after the first of them."""
    assert listed(of, [], begun_ns) == []
    return listed(of, [], begun_ns + LAG_NS)
