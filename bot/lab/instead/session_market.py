"""The venue of a session that never was: the backtest's exchange around a recorded run's markets.

Several events, fees and strikes as the series showed them; holdings as they were at the start. What
of a print that filled us then fills nobody of ours now goes to others at its price, as far as there
are any: their shares stand there no more until their size changes.
"""

from typing import Final

from bot.lab.exchange.account import Account
from bot.lab.exchange.exchange import MAKER
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.recorded import RecordedMarket
from bot.lab.exchange.terms import Terms
from bot.lab.instead.session import Act, Session
from venue.core import messages as v
from venue.crowd.tape import TradeRecord
from venue.wire.limits import QTY_MAX
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty, Side, book_side, canonical
from venue.wire.names import ClientOrderId, MarketId
from venue.wire.requests import QtyOrder, TimeInForce

_EVEN: Final = Price(50)
_ENOUGH_CENTS: Final = Cents(200)
"""For a share at an even price, with any fee."""


class SessionMarket(RecordedMarket):
    """The markets of a session under one model of the queue."""

    def __init__(self, session: Session, terms: Terms, queue_model: QueueModel) -> None:
        begun_ns = session.run.begun_ns
        super().__init__(session.tape, terms, queue_model, 0, begun_ns, session.catalogue)
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
        """A record of the market happens now."""
        before = len(self.account.fills)
        self.play(act.record)
        record = act.record
        if not act.ours or not isinstance(record, TradeRecord):
            return
        met = sum(fill.qty for fill in self.account.fills[before:])
        self._to_others(MarketId(record.ticker), record, record.qty - met)

    def _to_others(self, market_id: MarketId, record: TradeRecord, qty: int) -> None:
        """A print of so many shares meets others at its price."""
        depth = self.depths[market_id]
        side = BookSide.ASK if record.taker_outcome is Outcome.YES else BookSide.BID
        for price, size in [*depth.left(side)]:
            if price == record.price:
                depth.take(side, price, min(qty, size))
                self._changed[market_id] = None
