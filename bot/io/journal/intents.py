"""Which creates may be live without our knowing: the ones the journal holds no answer for."""

from collections import OrderedDict
from typing import Final

from bot.core import messages as m
from bot.core.orders.order import slot_shown
from venue.wire import model
from venue.wire.errors import Advice, Code, Sequenced, row_for
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder

OPEN_MAX: Final = 2_000
"""Far above every limit on resting orders. None may be forgotten: whoever has more must stop."""

_REFUSED_MAX: Final = 1_000
"""Clear refusals remembered; forgetting one only makes a later sending of it count as in doubt."""


class _Intent:
    """A create that was sent. `doubt`: an earlier sending of it may have been carried out."""

    __slots__ = ("doubt", "intent", "sendings")

    def __init__(self, intent: m.UnconfirmedCreate, doubt: bool) -> None:
        self.intent = intent
        self.doubt = doubt
        self.sendings = 0


class Intents:
    """Follows a journal, entry by entry.

    An intent opens when its create is sent. It closes when an answer shows its order, when every
    sending of it was refused, when a read has explained it, and when a run ends with a read that
    shows nothing left. A refusal after a sending without an answer closes nothing: the earlier one
    may be what stands in the way. Only that of a resolved market does, for nothing rests there.
    """

    def __init__(
        self, open_intents: tuple[m.UnconfirmedCreate, ...] = (), under_way: tuple[m.Send, ...] = ()
    ) -> None:
        """under_way: writes of the same run that have no answer yet, creates among them."""
        self._open = {
            intent.order.client_order_id: _Intent(intent, doubt=True) for intent in open_intents
        }
        self._asked: dict[m.RequestId, ClientOrderId] = {}
        self._refused: OrderedDict[ClientOrderId, None] = OrderedDict()
        for send in under_way:
            if isinstance(send.request, m.Create):
                known = self._open.get(send.request.order.client_order_id)
                if known is not None:
                    known.sendings += 1
                    known.doubt = send.request.again
                    self._asked[send.request_id] = send.request.order.client_order_id

    def open(self) -> tuple[m.UnconfirmedCreate, ...]:
        """The intents without a definite answer, oldest first."""
        return tuple(each.intent for each in self._open.values())

    def follow(self, message: m.Event | m.Effect) -> None:
        """Take in the next entry."""
        match message:
            case m.Send(request=m.Create() as create):
                self._sent(message.request_id, create)
            case m.Response() if message.request_id in self._asked:
                self._answered(self._asked.pop(message.request_id), message.answer)
            case m.Started(new_account=True):
                # What was left open was left at a venue that is gone.
                self._open.clear()
                self._asked.clear()
            case m.Started():
                # Request ids begin anew: what the run before still waited for never came.
                for each in self._open.values():
                    each.doubt = each.doubt or each.sendings > 0
                    each.sendings = 0
                self._asked.clear()
            case m.CreateResolved():
                self._open.pop(message.client_order_id, None)
            case m.DrainComplete(left=(), unknown=(), unshown=False):
                self._open.clear()

    def of(self, name: ClientOrderId) -> m.UnconfirmedCreate | None:
        """The open intent of this name."""
        known = self._open.get(name)
        return None if known is None else known.intent

    @property
    def too_many(self) -> bool:
        """Whether more are open than can be."""
        return len(self._open) > OPEN_MAX

    def _sent(self, request_id: m.RequestId, create: m.Create) -> None:
        name = create.order.client_order_id
        known = self._open.get(name)
        if known is None:
            # Sent again after a clear refusal (too fast, say) it is as good as new.
            doubt = create.again and name not in self._refused
            known = _Intent(m.UnconfirmedCreate(create.order, create.body), doubt)
            self._open[name] = known
        known.sendings += 1
        self._asked[request_id] = name

    def _answered(self, name: ClientOrderId, answer: m.Answer) -> None:
        known = self._open.get(name)
        if known is None:
            return
        known.sendings -= 1
        if _is_done(known.intent, answer) or _is_resolved(answer):
            del self._open[name]
        elif not _is_against(answer):
            known.doubt = True
        elif not known.doubt and known.sendings == 0:
            del self._open[name]
            self._refused[name] = None
            if len(self._refused) > _REFUSED_MAX:
                self._refused.popitem(last=False)


def _is_done(intent: m.UnconfirmedCreate, answer: m.Answer) -> bool:
    if not isinstance(answer, m.Ok) or not isinstance(answer.body, m.OrderBody):
        return False
    return is_order_of(intent.order, answer.body.order)


def is_order_of(wanted: QtyOrder, shown: model.Order) -> bool:
    """True if the answer to a create shows its own order, and not another one's; without a name one
    of its market, outcome, side and price is taken for it: at another price it may be any order
    that rested there before."""
    if shown.client_order_id:
        return shown.client_order_id == wanted.client_order_id
    there = (wanted.market_id, wanted.outcome.value, wanted.side.value, wanted.price)
    return slot_shown(shown) == there


def _is_resolved(answer: m.Answer) -> bool:
    return isinstance(answer, m.Rejected) and answer.code == Code.MARKET_RESOLVED


def _is_against(answer: m.Answer) -> bool:
    """Whether an answer says that this sending made no order."""
    if not isinstance(answer, m.Rejected):
        return False
    # Status 0 never left this host, like a request that never reached the engine.
    row = row_for(answer.status or 429, answer.code)
    return row.sequenced is not Sequenced.UNKNOWN and row.advice is not Advice.EXISTS
