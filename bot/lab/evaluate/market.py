"""The market of an evaluation: a crowd's orders around the true values. Reads have no lag."""

from collections.abc import Sequence
from typing import Final

from bot.core import messages as m
from bot.lab.evaluate.scenarios import (
    MILLICENTS,
    NATURE,
    Act,
    Informed,
    Look,
    Noise,
    Scenario,
    TruePath,
    Visit,
)
from bot.lab.exchange.exchange import (
    MAKER,
    Exchange,
    LevelBook,
    PageLimits,
    PaperAccount,
    ShownBook,
    accounts,
    buy_order,
    print_of,
)
from bot.lab.sim.venue import PROJECT, SERIES, event_listing, market_id, market_listing
from venue.engine import messages as v
from venue.wire import model
from venue.wire.money import (
    PAYOUT_CENTS,
    PRICE_MAX,
    PRICE_MIN,
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
from venue.wire.names import MarketId, OrderId, Ticker, UserId
from venue.wire.requests import Amend, TimeInForce

CASH_CENTS: Final = Cents(10_000_000)  # what the trader begins with: enough that cash never binds
NOISE: Final = UserId("crowd.noise")
INFORMED: Final = UserId("crowd.informed")
SWEEP: Final = UserId("crowd.sweep")
ARBITRAGE: Final = UserId("crowd.arbitrage")
MAKERS: Final = tuple(UserId(f"crowd.maker.{number}") for number in range(NATURE.makers))
EVENT: Final = Ticker(f"{SERIES}-27Q1")

_CROWD_CENTS: Final = Cents(10_000_000_000)
_PAGES: Final = PageLimits(orders=200, fills=20, positions=200, events=20)
_BULK: Final = Qty(100)
"""Shares over which a fee a share is taken: rounding up to a cent hardly counts there."""


class TrueValueMarket:
    """One event of `world.rungs` rungs, the lowest strike first."""

    def __init__(self, world: Scenario, strikes: Sequence[int], start_ns: int) -> None:
        self.markets = [market_id(0, rung) for rung in range(world.rungs)]
        self.rung_of = {market: rung for rung, market in enumerate(self.markets)}
        self.books = {market: LevelBook(start_ns) for market in self.markets}
        self.account = PaperAccount()  # the trader's
        self.resting: dict[OrderId, v.OrderState] = {}  # its orders in the book
        # changed, prints: since the last frames
        self.changed: dict[MarketId, None] = {}
        self.prints: list[v.TradePrinted] = []
        self._made = 0
        self._maker_rate = world.maker_rate
        crowd = (NOISE, INFORMED, SWEEP, ARBITRAGE, *MAKERS)
        users = {MAKER: CASH_CENTS, **dict.fromkeys(crowd, _CROWD_CENTS)}
        self.exchange = Exchange(
            self,
            [*self._listing(world, strikes, start_ns), *accounts(users)],
            start_ns,
            order_id_key=b"evaluated",
            pages=_PAGES,
        )

    def _listing(self, world: Scenario, strikes: Sequence[int], start_ns: int) -> list[v.Command]:
        event = event_listing(EVENT, SERIES, 0, 1, start_ns + world.resolution_ns)
        rates = world.maker_rate, world.taker_rate
        rungs = [
            market_listing(market, Ticker(f"{EVENT}-R{rung}"), EVENT, strikes[rung], "USD", *rates)
            for rung, market in enumerate(self.markets)
        ]
        return [v.ListCompany(PROJECT, "Acme", "ACME"), event, *rungs]

    def on_events(self, events: list[v.Event], now_ns: int) -> None:
        for event in events:
            match event:
                case v.LevelChanged():
                    self.books[event.market_id].change(event)
                    self.changed[event.market_id] = None
                case v.TradePrinted():
                    self.prints.append(event)
                case v.OrderChanged() if event.order.user_id == MAKER:
                    self.resting.pop(event.order.order_id, None)
                    if event.order.remaining_qty and event.order.status in model.RESTING:
                        self.resting[event.order.order_id] = event.order
                case v.FillBooked() if event.user_id == MAKER:
                    self.account.on_fill(event)

    def execute_write(self, exchange: Exchange, command: v.Command, now_ns: int) -> v.Answer:
        return exchange.execute(command, now_ns)

    def shown_book(self, market_id: MarketId, now_ns: int) -> ShownBook:
        book = self.books[market_id]
        return ShownBook(*book.levels(), book.at_ns)

    def trade(
        self,
        user: UserId,
        market: MarketId,
        now_ns: int,
        *,
        buys: bool,
        price: int,
        qty: int,
        rests: bool = False,
    ) -> v.Answer:
        """Buy YES up to a canonical price, or NO down to one."""
        self._made += 1
        outcome = Outcome.YES if buys else Outcome.NO
        tif = TimeInForce.GTC if rests else TimeInForce.IOC
        own_price = canonical(outcome, Price(price))
        order = buy_order(market, outcome, own_price, qty, tif, f"c{self._made}")
        return self.exchange.execute(v.PlaceOrder(user, order), now_ns)

    def resolve(self, pays: Sequence[bool], now_ns: int) -> None:
        for market, yes in zip(self.markets, pays, strict=True):
            winner = Outcome.YES if yes else Outcome.NO
            self.exchange.execute(v.ResolveMarket(market, winner), now_ns)
            self.account.on_payout(market, winner)

    def frames(self, now_ns: int) -> list[m.Event]:
        events: list[m.Event] = [print_of(each) for each in self.prints]
        events += [self.exchange.book_update(market, now_ns) for market in self.changed]
        self.prints.clear()
        self.changed.clear()
        return events

    def book_frames(self, now_ns: int) -> list[m.BookUpdate]:
        return [self.exchange.book_update(market, now_ns) for market in self.markets]

    def best(self, market: MarketId) -> tuple[Price | None, Price | None]:
        book = self.books[market]
        return max(book.bids, default=None), min(book.asks, default=None)

    def own_levels(self) -> dict[tuple[MarketId, BookSide], dict[Price, int]]:
        """The trader's resting shares by canonical price."""
        found: dict[tuple[MarketId, BookSide], dict[Price, int]] = {}
        for order in self.resting.values():
            side = book_side(order.outcome, order.side)
            sizes = found.setdefault((order.market_id, side), {})
            price = canonical(order.outcome, order.price)
            sizes[price] = sizes.get(price, 0) + order.remaining_qty
        return found

    def worst_cents(self) -> int:
        """The trader's exposure, outcome by outcome from the venue's state alone."""
        orders = [
            (order, fee_cents(self._maker_rate, order.remaining_qty, order.price))
            for order in self.resting.values()
        ]
        worst = 0
        for paying in range(len(self.markets) + 1):
            # Exactly the `paying` lowest rungs resolve YES.
            winners = {
                market: Outcome.YES if rung < paying else Outcome.NO
                for market, rung in self.rung_of.items()
            }
            total = self.account.cash_cents
            for (market, outcome), qty in self.account.shares.items():
                total += PAYOUT_CENTS * qty if outcome is winners[market] else 0
            for order, fee in orders:
                pays = PAYOUT_CENTS if order.outcome is winners[order.market_id] else 0
                gain = pays - order.price if order.side is Side.BUY else order.price - pays
                total += min(0, gain * order.remaining_qty - fee)
            worst = min(worst, total)
        return -worst


class DrawnCrowd:
    def __init__(
        self, world: Scenario, true_path: TruePath, venue: TrueValueMarket, start_ns: int
    ) -> None:
        self._true_path = true_path
        self._venue = venue
        self._start_ns = start_ns
        self._orders: dict[tuple[int, int, bool], OrderId] = {}
        self._fees_mc = {
            price: fee_cents(world.taker_rate, _BULK, Price(price)) * MILLICENTS // _BULK
            for price in range(PRICE_MIN, PRICE_MAX + 1)
        }
        self._taker_rate = world.taker_rate

    def perform_act(self, act: Act, now_ns: int) -> None:
        match act:
            case Noise():
                self.noise(act, now_ns)
            case Visit():
                self._visit(act, now_ns)
            case Informed():
                self._informed(act, now_ns)
            case Look():
                self._look(now_ns)

    def noise(self, act: Noise, now_ns: int) -> None:
        market = self._venue.markets[act.rung]
        bid, ask = self._venue.best(market)
        if act.buys:
            within = ask is not None and ask <= act.limit
        else:
            within = bid is not None and bid >= act.limit
        if within:
            self._venue.trade(NOISE, market, now_ns, buys=act.buys, price=act.limit, qty=act.qty)

    def _informed(self, act: Informed, now_ns: int) -> None:
        """Take orders that are off by more than the fee."""
        trade, market = self._venue.trade, self._venue.markets[act.rung]
        fair_mc = self._true_path.fairs(now_ns - self._start_ns)[act.rung]
        bid, ask = self._venue.best(market)
        user = SWEEP if act.sweep else INFORMED
        cheap = [p for p, fee in self._fees_mc.items() if p * MILLICENTS + fee < fair_mc]
        dear = [p for p, fee in self._fees_mc.items() if p * MILLICENTS - fee > fair_mc]
        if ask is not None and cheap and ask <= cheap[-1]:
            trade(user, market, now_ns, buys=True, price=cheap[-1], qty=act.qty)
        elif bid is not None and dear and bid >= dear[0]:
            trade(user, market, now_ns, buys=False, price=dear[0], qty=act.qty)

    def _visit(self, act: Visit, now_ns: int) -> None:
        best_bid, best_ask = self._venue.best(self._venue.markets[act.rung])
        bid, ask = act.bid, act.ask
        if bid is not None and best_ask is not None:
            bid = min(bid, best_ask - 1)
        if ask is not None and best_bid is not None:
            ask = max(ask, best_bid + 1)
        self._move(act, True, bid, act.bid_qty, now_ns)
        self._move(act, False, ask, act.ask_qty, now_ns)

    def _move(self, act: Visit, buys: bool, price: int | None, qty: int, now_ns: int) -> None:
        user, key = MAKERS[act.maker], (act.maker, act.rung, buys)
        apply, resting = self._venue.exchange.execute, self._orders.pop(key, None)
        order: v.OrderState | None = None
        if price is None or not PRICE_MIN <= price <= PRICE_MAX:
            if resting is not None:
                apply(v.CancelOrder(user, resting), now_ns)
            return
        if resting is not None:
            own_price = canonical(Outcome.YES if buys else Outcome.NO, Price(price))
            amend = v.AmendOrder(user, resting, Amend(price=own_price, qty=Qty(qty)))
            answer = apply(amend, now_ns)
            order = answer.order if isinstance(answer, v.Amended) else None
        if order is None:
            market = self._venue.markets[act.rung]
            placed = self._venue.trade(
                user, market, now_ns, buys=buys, price=price, qty=qty, rests=True
            )
            assert isinstance(placed, v.Placed), placed
            order = placed.order
        if order.remaining_qty:
            self._orders[key] = order.order_id

    def _look(self, now_ns: int) -> None:
        """Take a higher rung's bid against a lower rung's ask below it."""
        venue = self._venue
        cheapest: tuple[Price, MarketId] | None = None
        for market in venue.markets:
            bid, ask = venue.best(market)
            if bid is not None and cheapest is not None and bid > cheapest[0]:
                low_ask, low = cheapest
                qty = min(venue.books[low].asks[low_ask], venue.books[market].bids[bid])
                fees = sum(fee_cents(self._taker_rate, qty, each) for each in (low_ask, bid))
                if qty * (bid - low_ask) > fees:
                    venue.trade(ARBITRAGE, low, now_ns, buys=True, price=low_ask, qty=qty)
                    venue.trade(ARBITRAGE, market, now_ns, buys=False, price=bid, qty=qty)
                return
            if ask is not None and (cheapest is None or ask < cheapest[0]):
                cheapest = (ask, market)
