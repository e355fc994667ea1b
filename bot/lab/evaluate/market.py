"""The market of an evaluation: a crowd's orders around true values, and the books that come of it.

Reads show what the engine did at once.
"""

from collections.abc import Sequence
from typing import Final

from bot.lab.evaluate.account import Account
from bot.lab.evaluate.draws import Class
from bot.lab.evaluate.worlds import World
from bot.lab.exchange.exchange import MAKER, Exchange, LevelBook, PageLimits, ShownBook, accounts
from bot.lab.sim.venue.simulated import PROJECT, SERIES, market_id
from venue.core import messages as v
from venue.wire import model
from venue.wire.money import (
    PAYOUT_CENTS,
    BookSide,
    Cents,
    Outcome,
    Price,
    Qty,
    Side,
    book_side,
    canonical,
    fee_cents,
)
from venue.wire.names import ClientOrderId, MarketId, OrderId, Ticker, UserId
from venue.wire.requests import Amend, QtyOrder, TimeInForce

CASH_CENTS: Final = Cents(10_000_000)
"""What the trader begins with: enough that cash never binds."""

_CROWD_CENTS: Final = Cents(10_000_000_000)
_PAGES: Final = PageLimits(orders=200, fills=20, positions=200, events=20)
TAKERS: Final = {each: UserId(f"crowd.{each}") for each in Class}
EVENT: Final = Ticker(f"{SERIES}-27Q1")

_Own = dict[tuple[MarketId, BookSide, Price], int]


class TrueValueMarket:
    """One event of `world.rungs` rungs.

    exchange: where everybody's orders are. markets: the rungs in strike order. books: whole ones.
    own: the trader's resting shares by level. acting: who sends what is being carried out. changed:
    rungs whose book is another since it was last cleared, and prints since then, in order.
    """

    def __init__(self, world: World, strikes: Sequence[int], start_ns: int) -> None:
        self.markets = [market_id(0, rung) for rung in range(world.rungs)]
        self.rung_of = {market: rung for rung, market in enumerate(self.markets)}
        self.books = {market: LevelBook(start_ns) for market in self.markets}
        self.account = Account(world.rungs)
        self.own: _Own = {}
        self._own_levels: dict[OrderId, tuple[tuple[MarketId, BookSide, Price], int]] = {}
        self.acting = Class.SELF
        self.changed: dict[MarketId, None] = {}
        self.prints: list[v.TradePrinted] = []
        self._made = 0
        self._maker_rate = world.maker_rate
        users = {MAKER: CASH_CENTS, **dict.fromkeys(TAKERS.values(), _CROWD_CENTS)}
        self.exchange = Exchange(
            self,
            [*self._listing(world, strikes, start_ns), *accounts(users)],
            start_ns,
            order_id_key=b"evaluated",
            pages=_PAGES,
        )

    def _listing(self, world: World, strikes: Sequence[int], start_ns: int) -> list[v.Command]:
        event = v.ListEvent(
            event_ticker=EVENT,
            series_ticker=SERIES,
            project_market_id="cccccccc-0000-4000-8000-000000000000",
            project_id=PROJECT,
            title="Acme at the end of the quarter",
            category="valuation",
            status=model.EventStatus.OPEN,
            mutually_exclusive=False,
            resolution_date_ns=start_ns + world.resolution_ns,
        )
        rungs = [
            v.ListMarket(
                market_id=market,
                ticker=Ticker(f"{EVENT}-R{rung}"),
                event_ticker=EVENT,
                name=f"above {strikes[rung]}",
                outcome_label="above",
                maker_fee_rate=world.maker_rate,
                taker_fee_rate=world.taker_rate,
                strike_value=str(strikes[rung]),
                strike_unit="USD",
            )
            for rung, market in enumerate(self.markets)
        ]
        return [v.ListCompany(PROJECT, "Acme", "ACME"), event, *rungs]

    # --- commands ---------------------------------------------------------------------------------

    def on_events(self, events: list[v.Event], now_ns: int) -> None:
        """Keep what a command changed."""
        for event in events:
            match event:
                case v.LevelChanged():
                    self.books[event.market_id].change(event)
                    self.changed[event.market_id] = None
                case v.TradePrinted():
                    self.prints.append(event)
                case v.OrderChanged() if event.order.user_id == MAKER:
                    self._keep_own(event.order)
                case v.FillBooked() if event.user_id == MAKER:
                    self._filled(event)
                case _:
                    pass

    def carry_out(self, exchange: Exchange, command: v.Command, now_ns: int) -> v.Answer:
        """Every order that ours can meet is in the engine."""
        self.acting = Class.SELF
        return exchange.apply(command, now_ns)

    def shown_book(self, market_id: MarketId, now_ns: int) -> ShownBook:
        """The whole book, of its newest change."""
        book = self.books[market_id]
        return ShownBook(*book.levels(), book.at_ns)

    def _keep_own(self, order: v.OrderState) -> None:
        """The trader's size at a level, for telling others' books from ours."""
        before = self._own_levels.pop(order.order_id, None)
        if before is not None:
            self.own[before[0]] -= before[1]
        if order.remaining_qty and order.status in model.RESTING:
            side = book_side(order.outcome, order.side)
            level = (order.market_id, side, canonical(order.outcome, order.price))
            self._own_levels[order.order_id] = (level, order.remaining_qty)
            self.own[level] = self.own.get(level, 0) + order.remaining_qty

    def _filled(self, fill: v.FillBooked) -> None:
        side = book_side(fill.outcome, fill.side)
        self.account.filled(
            rung=self.rung_of[fill.market_id],
            sign=1 if side is BookSide.BID else -1,
            price=fill.trade_price,
            qty=fill.qty,
            fee_cents=fill.fee_cents,
            maker=fill.liquidity is model.Liquidity.MAKER,
            by=self.acting,
            at_ns=fill.at_ns,
        )

    def trade(
        self,
        who: Class,
        market: MarketId,
        *,
        buys: bool,
        price: int,
        qty: int,
        now_ns: int,
        rests: bool = False,
        user: UserId | None = None,
    ) -> v.Answer:
        """An order of the crowd: it buys YES up to a canonical price, or NO down to one."""
        self._made += 1
        outcome = Outcome.YES if buys else Outcome.NO
        order = QtyOrder(
            market,
            outcome,
            Side.BUY,
            canonical(outcome, Price(price)),
            Qty(qty),
            TimeInForce.GTC if rests else TimeInForce.IOC,
            ClientOrderId(f"c{self._made}"),
        )
        self.acting = who
        return self.exchange.apply(v.PlaceOrder(user or TAKERS[who], order), now_ns)

    def amend(self, user: UserId, order_id: OrderId, amend: Amend, now_ns: int) -> v.Answer:
        """A background maker moves an order."""
        self.acting = Class.MAKER
        return self.exchange.apply(v.AmendOrder(user, order_id, amend), now_ns)

    def cancel(self, user: UserId, order_id: OrderId, now_ns: int) -> v.Answer:
        """A background maker takes an order away."""
        self.acting = Class.MAKER
        return self.exchange.apply(v.CancelOrder(user, order_id), now_ns)

    def resolve(self, pays: Sequence[bool], now_ns: int) -> None:
        """Every rung pays what it is worth in the end."""
        for market, yes in zip(self.markets, pays, strict=True):
            winner = Outcome.YES if yes else Outcome.NO
            self.exchange.apply(v.ResolveMarket(market, winner), now_ns)

    # --- books ------------------------------------------------------------------------------------

    def best(self, market: MarketId) -> tuple[Price | None, Price | None]:
        """Best bid and ask, whosever they are."""
        book = self.books[market]
        return max(book.bids, default=None), min(book.asks, default=None)

    def best_of_others(self, market: MarketId) -> tuple[Price | None, Price | None]:
        """Best bid and ask of the crowd."""
        book, own = self.books[market], self.own
        bid, ask = BookSide.BID, BookSide.ASK
        bids = [p for p, size in book.bids.items() if size > own.get((market, bid, p), 0)]
        asks = [p for p, size in book.asks.items() if size > own.get((market, ask, p), 0)]
        return max(bids, default=None), min(asks, default=None)

    def own_best(self) -> dict[tuple[MarketId, BookSide], tuple[Price, int]]:
        """The trader's best price and its size there, on each side where something rests."""
        found: dict[tuple[MarketId, BookSide], tuple[Price, int]] = {}
        for (market, side, price), qty in self.own.items():
            if not qty:
                continue
            last = found.get((market, side))
            if last is None or (price > last[0]) == (side is BookSide.BID):
                found[(market, side)] = (price, qty)
        return found

    def worst_cents(self) -> int:
        """What the trader may lose at worst by what it holds and what rests at the venue, cents.

        Reckoned from the venue's own state, outcome by outcome, with every order filled that would
        hurt there: nothing of the trader's own reckoning is in it.
        """
        account, rungs = self.account, len(self.markets)
        orders = [
            (self.rung_of[market], 1 if side is BookSide.BID else -1, int(price), qty)
            for (market, side, price), qty in self._own_levels.values()
        ]
        fees = [fee_cents(self._maker_rate, Qty(qty), Price(price)) for _, _, price, qty in orders]
        worth, worst = account.cash_cents, 0
        for paying in range(rungs + 1):
            # Exactly the `paying` lowest rungs resolve YES.
            if paying:
                worth += PAYOUT_CENTS * account.net[paying - 1]
            total = worth
            for (rung, sign, price, qty), fee in zip(orders, fees, strict=True):
                pays = PAYOUT_CENTS if rung < paying else 0
                total += min(0, sign * (pays - price) * qty - fee)
            worst = min(worst, total)
        return -worst

    def forget_empty_levels(self) -> None:
        """Drop levels at which nothing of the trader's rests any more."""
        self.own = {level: qty for level, qty in self.own.items() if qty}

    @property
    def locked_cents(self) -> int:
        """What of the trader's cash cannot be used now: paid for shares, or reserved."""
        return CASH_CENTS - self.exchange.available_cents
