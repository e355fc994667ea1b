"""The thin venue with a meddler in between, who may answer, or hold back, any request."""

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
    """Ten shares on either side, some cents from the fair value."""

    name = "two_sided"

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
    """`meddle` is asked first: an answer instead of the venue's, None for the venue's own. What it
    raises `Held` for waits in `held` until it is let go."""

    def __init__(self, mids: tuple[int, ...] = (50, 40)) -> None:
        super().__init__(list(mids), lambda: TwoSided(None))
        self.meddle: Callable[[m.Request], m.Answer | None] = lambda _request: None
        self.held: list[m.Send] = []
        self.notes: list[str] = []
        self.finished: m.DrainComplete | None = None
        self._by_name: dict[ClientOrderId, m.Answer] = {}

    def answer(self, request: m.Request) -> m.Answer:
        """What the venue says: the same to the same create, and no to writes about what is over."""
        if isinstance(request, m.Create):
            name = request.order.client_order_id
            if name not in self._by_name:
                self._by_name[name] = named(super().answer(request), name)
            return self._by_name[name]
        about = request.order_id if isinstance(request, m.AmendResting | m.CancelResting) else None
        if about is not None and about not in self.orders:
            return m.Rejected(422, "order_not_cancelable", "")
        return super().answer(request)

    def told(self, effect: m.Effect) -> None:
        """Notes are kept by name, and the end as it is."""
        if isinstance(effect, m.Noted):
            self.notes.append(effect.name)
        elif isinstance(effect, m.DrainComplete):
            self.finished = effect

    def ask(self, send: m.Send) -> None:
        """A request leaves: the meddler is asked, and else the venue."""
        try:
            answer = self.meddle(send.request)
        except Held:
            self.held.append(send)
            return
        self.let(send, self.answer(send.request) if answer is None else answer)

    def let(self, send: m.Send, answer: m.Answer) -> None:
        """A request is answered."""
        self.give(m.Response(send.request_id, answer, 500))

    def go(self, seconds: float) -> None:
        """Let time pass."""
        self.run(seconds, least_ns=LIKE_A_BOT_NS)

    def go_until(self, true: Callable[[], object]) -> None:
        """Let time pass until something is so, for half a minute at most."""
        for _ in range(600):
            if true():
                return
            self.go(0.05)
        raise AssertionError("it did not come to that")

    def stop(self) -> m.DrainComplete | None:
        """Ask for the end; how it ended, None when it has not within ten seconds."""
        self.give(m.StopRequested("asked"))
        self.go(10)
        return self.finished

    def end_one(self) -> OrderId:
        """The venue ends an order of ours by itself; its id."""
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
    """The venue, once the bot quotes both sides of its two rungs."""
    venue.start()
    venue.go(3)
    assert len(venue.orders) == 4
    return venue


class Held(Exception):
    """The answer comes later."""


def named(answer: m.Answer, name: ClientOrderId) -> m.Answer:
    """The answer to a create, with its name in it."""
    assert isinstance(answer, m.Ok)
    assert isinstance(answer.body, m.OrderBody)
    shown = msgspec.structs.replace(answer.body.order, client_order_id=name)
    return m.Ok(m.OrderBody(shown))


def over(order: model.Order) -> model.Order:
    """An order after its cancel."""
    return msgspec.structs.replace(order, status=model.OrderStatus.CANCELED, remaining_qty=Qty(0))
