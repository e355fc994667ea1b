"""The thin venue with a meddler in between, who may answer or hold back any request."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from bot.core import messages as m
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.instant import NS_PER_MS
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import ClientOrderId, OrderId

LIKE_A_BOT_NS = 5 * NS_PER_MS


class TwoSided(Strategy):
    """Ten shares on either side, three and four cents from the fair value."""

    name = "two_sided"

    def __init__(self) -> None:
        super().__init__(None)

    def quote(self, view: EventView) -> Quotes:
        wanted = {}
        for rung in view.rungs:
            if rung.quotable and rung.fair_cents is not None:
                fair = int(rung.fair_cents)
                bid = Quote(BookSide.BID, Price(max(1, fair - 3)), Qty(10))
                ask = Quote(BookSide.ASK, Price(min(99, fair + 4)), Qty(10))
                wanted[rung.market_id] = (bid, ask)
        return wanted


class Meddled(Thin):
    """`meddle` is asked first: a response instead of the venue's, None for the venue's own. A
    request for which it raises `Held` waits in `held` until it is answered."""

    def __init__(
        self,
        mids: tuple[int, ...] = (50, 40),
        make_strategy: Callable[[], Strategy] = TwoSided,
        **settings: object,
    ) -> None:
        super().__init__(list(mids), make_strategy, **settings)
        self.meddle: Callable[[m.Request], m.Answer | None] = lambda _request: None
        self.held: list[m.Send] = []
        self.notes: list[str] = []
        self.finished: m.DrainComplete | None = None
        self._by_name: dict[ClientOrderId, m.Answer] = {}

    def answer(self, request: m.Request) -> m.Answer:
        """The same to the same create; a rejection of a write about a closed order."""
        if isinstance(request, m.Create):
            name = request.order.client_order_id
            if name not in self._by_name:
                self._by_name[name] = named(super().answer(request), name)
            return self._by_name[name]
        about = request.order_id if isinstance(request, m.AmendResting | m.CancelResting) else None
        if about is not None and about not in self.orders:
            return m.Rejected(422, "order_not_cancelable", "")
        return super().answer(request)

    def on_effect(self, effect: m.Effect) -> None:
        """Record names of notes, and the end."""
        if isinstance(effect, m.Noted):
            self.notes.append(effect.name)
        elif isinstance(effect, m.DrainComplete):
            self.finished = effect

    def ask(self, send: m.Send) -> None:
        """A request is answered by `meddle`, or else by the venue."""
        try:
            answer = self.meddle(send.request)
        except Held:
            self.held.append(send)
            return
        self.let(send, self.answer(send.request) if answer is None else answer)

    def let(self, send: m.Send, answer: m.Answer) -> None:
        """A request is answered."""
        self.give(m.Response(send.request_id, answer, 500))

    def lose(self, *kinds: type) -> None:
        """Requests of these kinds time out."""
        self.meddle = lambda asked: m.Unknown("timeout") if isinstance(asked, kinds) else None

    def go(self, seconds: float) -> None:
        """Let time pass."""
        self.run(seconds, least_ns=LIKE_A_BOT_NS)

    def go_until(self, true: Callable[[], object]) -> None:
        """Let time pass until something is true, for half a minute at most."""
        for _ in range(600):
            if true():
                return
            self.go(0.05)
        raise AssertionError("it did not come to that")

    def stop(self, seconds: float = 10) -> m.DrainComplete | None:
        """Ask for the end; how the run ended, None if it has not."""
        self.give(m.StopRequested("asked"))
        self.go(seconds)
        return self.finished

    def stops_clean(self) -> bool:
        """Ask for the end; True if the run ended within ten seconds with no order resting."""
        return self.stop() == m.DrainComplete((), ()) and not self.orders

    def knows_its_orders(self) -> bool:
        """True if the trader's live orders are those that rest."""
        return {own.order_id for own in self.trader.desk.live_orders} == set(self.orders)

    def end_one(self) -> OrderId:
        """The venue cancels an order of ours by itself; its id."""
        order_id = next(iter(self.orders))
        gone = over(self.orders.pop(order_id))
        before = self.meddle

        def meddle(request: m.Request) -> m.Answer | None:
            if isinstance(request, m.ReadOrder) and request.order_id == order_id:
                return m.Ok(m.OrderBody(gone))
            return before(request)

        self.meddle = meddle
        return order_id


V = TypeVar("V", bound=Meddled)


def quoted(venue: V) -> V:
    """The venue once the bot quotes both sides of its two rungs."""
    venue.start()
    venue.go(3)
    assert len(venue.orders) == 4
    return venue


class Held(Exception):
    """The answer comes later."""


def named(answer: m.Answer, name: ClientOrderId) -> m.Answer:
    """The response to a create, with its client order id in it."""
    assert isinstance(answer, m.Ok)
    assert isinstance(answer.body, m.OrderBody)
    shown = msgspec.structs.replace(answer.body.order, client_order_id=name)
    return m.Ok(m.OrderBody(shown))


def over(order: model.Order) -> model.Order:
    """An order after its cancel."""
    return msgspec.structs.replace(order, status=model.OrderStatus.CANCELED, remaining_qty=Qty(0))
