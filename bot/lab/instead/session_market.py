"""The venue of a session that never was: the backtest's exchange around a recorded run's markets.

Several events, fees and strikes as the series showed them; holdings as they were at the start. What
of a print that filled us then fills nobody of ours now goes to others at its price, as far as there
are any: their shares stand there no more until their size changes.
"""

from typing import Final

from bot.core import messages as m
from bot.lab.exchange.account import Account
from bot.lab.exchange.exchange import MAKER
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.terms import Terms
from bot.lab.instead.session import Act, Session
from venue.core import messages as v
from venue.wire.limits import QTY_MAX
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import QtyOrder, TimeInForce

_EVEN: Final = Price(50)
_ENOUGH_CENTS: Final = Cents(200)
"""For a share at an even price, with any fee."""


class SessionMarket(LiveMarket):
    """The markets of a session under one model of the queue."""

    def __init__(self, session: Session, terms: Terms, queue_model: QueueModel) -> None:
        begun_ns = session.run.begun_ns
        super().__init__(session.catalogue, terms, queue_model, begun_ns)
        # No order is larger than the venue takes; what is held may be.
        parts = [
            (market_id, outcome, min(qty - begin, QTY_MAX))
            for market_id, outcome, qty in session.holdings
            for begin in range(0, qty, QTY_MAX)
        ]
        for place, (market_id, outcome, qty) in enumerate(parts):
            self._endow(place, market_id, outcome, qty, begun_ns)
        self.exchange.read_all(begun_ns)

    def _endow(
        self, place: int, market_id: MarketId, outcome: Outcome, qty: int, now_ns: int
    ) -> None:
        """Shares are held, and the cash is what it was: they were bought before anything began."""
        self.exchange.apply(v.Deposit(MAKER, Cents(_ENOUGH_CENTS * qty)), now_ns)
        name = ClientOrderId(f"held-{place}")
        bought = QtyOrder(market_id, outcome, Side.BUY, _EVEN, Qty(qty), TimeInForce.GTC, name)
        self.exchange.apply(v.PlaceOrder(MAKER, bought), now_ns)
        side, price = book_side(outcome, Side.BUY), canonical(outcome, _EVEN)
        self._acting_as_print = True
        self._meet(market_id, side, price, qty, now_ns)
        self._acting_as_print = False
        self.exchange.apply(v.Withdraw(MAKER, Cents(self.gain_cents)), now_ns)
        held = {**self.account.shares}
        self.account = Account()
        self.account.shares = held

    def operate(self, command: v.Command, now_ns: int) -> None:
        """Carry out what an operator did."""
        self.exchange.apply(command, now_ns)

    def act(self, act: Act) -> None:
        """A book or a print of others happens now."""
        before, seen = len(self.account.fills), act.seen
        self.on_frame(seen, seen.ts_ns)
        if not act.ours or not isinstance(seen, m.TradeSeen):
            return
        left = seen.size - sum(fill.qty for fill in self.account.fills[before:])
        depth, side = self.depths[seen.market_id], BookSide.ASK
        if not seen.taker_bought_yes:
            side = BookSide.BID
        for price, size in [*depth.left(side)]:
            if price == seen.price:
                depth.take(side, price, min(left, size))
                self._changed[seen.market_id] = None
