"""Which creates may be live without our knowing: the ones the journal holds no answer for.

Source: design, laws 3 and 7; reliability, rows 22-25, 59.
"""

from collections import OrderedDict
from typing import Final

from bot.core import messages as m
from venue.wire.names import ClientOrderId

_REFUSED_MAX: Final = 1_000
"""Clear refusals remembered; forgetting one only makes a later sending of it count as in doubt."""


class _Intent:
    """A create that was sent. `doubt`: an earlier sending of it may have been carried out."""

    __slots__ = ("doubt", "intent", "sendings")

    def __init__(self, intent: m.OpenIntent, doubt: bool) -> None:
        self.intent = intent
        self.doubt = doubt
        self.sendings = 0


class Intents:
    """Follows a journal, entry by entry.

    An intent opens when its create is sent. It closes when an answer is Done, when every sending of
    it was refused, and when a run ends with a read that shows nothing left. A refusal after a
    sending without an answer closes nothing: the earlier one may be what stands in the way.
    """

    def __init__(self, open_intents: tuple[m.OpenIntent, ...] = ()) -> None:
        self._open = {
            intent.order.client_order_id: _Intent(intent, doubt=True) for intent in open_intents
        }
        self._asked: dict[m.RequestId, ClientOrderId] = {}
        self._refused: OrderedDict[ClientOrderId, None] = OrderedDict()

    def open(self) -> tuple[m.OpenIntent, ...]:
        """The intents without a definite answer, oldest first."""
        return tuple(each.intent for each in self._open.values())

    def follow(self, message: m.Event | m.Effect) -> None:
        """Take in the next entry."""
        match message:
            case m.Send(request=m.Create() as create):
                self._sent(message.request_id, create)
            case m.Replied() if message.request_id in self._asked:
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
            case m.Finished(left=(), unknown=()):
                self._open.clear()

    def _sent(self, request_id: m.RequestId, create: m.Create) -> None:
        name = create.order.client_order_id
        known = self._open.get(name)
        if known is None:
            # Sent again after a clear refusal (too fast, say) it is as good as new.
            doubt = create.again and name not in self._refused
            known = _Intent(m.OpenIntent(create.order, create.body), doubt)
            self._open[name] = known
        known.sendings += 1
        self._asked[request_id] = name

    def _answered(self, name: ClientOrderId, answer: m.Answer) -> None:
        known = self._open.get(name)
        if known is None:
            return
        known.sendings -= 1
        if isinstance(answer, m.Unknown):
            known.doubt = True
        elif isinstance(answer, m.Done):
            del self._open[name]
        elif not known.doubt and known.sendings == 0:
            del self._open[name]
            self._refused[name] = None
            if len(self._refused) > _REFUSED_MAX:
                self._refused.popitem(last=False)
