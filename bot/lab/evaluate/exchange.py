"""The venue of an evaluation: the real engine, and of its read side only what the trader reads.

Reads show what the engine did at once; writes pass the venue's own token bucket. What the crowd's
accounts hold is kept by the engine alone.
"""

from collections.abc import Sequence
from typing import Final

from bot.core import messages as m
from bot.core.strategy import Levels
from bot.lab.evaluate.account import Account
from bot.lab.evaluate.draws import Class
from bot.lab.evaluate.worlds import World
from bot.lab.sim.venue.exchange import MAKER, PROJECT, SERIES, Tape, market_id, refusal, shown
from venue.core import messages as v
from venue.core.engine import Engine
from venue.read.account import Scope
from venue.read.catalog import EventFilter
from venue.read.projector import Views
from venue.wire import codec, instant, model
from venue.wire.errors import Code
from venue.wire.limits import RATE_BURST, RATE_PER_SECOND, TokenBucket
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
_PAGE: Final = 20
_OF_ACCOUNTS: Final = (v.PositionChanged, v.BalanceChanged)
TAKERS: Final = {each: UserId(f"crowd.{each}") for each in Class}
EVENT: Final = Ticker(f"{SERIES}-27Q1")

_Own = dict[tuple[MarketId, BookSide, Price], int]


class Exchange:
    """One event of `world.rungs` rungs.

    markets: the rungs in strike order. tapes: whole books. own: the trader's resting shares by
    level. acting: who sends what is being carried out. changed: rungs whose book is another since
    it was last cleared, and prints since then, in order.
    """

    def __init__(self, world: World, strikes: Sequence[int], start_ns: int) -> None:
        self.engine = Engine(order_id_key=b"evaluated")
        self.markets = [market_id(0, rung) for rung in range(world.rungs)]
        self.rung_of = {market: rung for rung, market in enumerate(self.markets)}
        self.tapes = {market: Tape(start_ns) for market in self.markets}
        self.account = Account(world.rungs)
        self.own: _Own = {}
        self._own_levels: dict[OrderId, tuple[tuple[MarketId, BookSide, Price], int]] = {}
        self.acting = Class.SELF
        self.changed: dict[MarketId, None] = {}
        self.prints: list[v.TradePrinted] = []
        self.bucket = TokenBucket.full(RATE_PER_SECOND, RATE_BURST, start_ns)
        self.refused: dict[str, int] = {}
        self._views = Views()
        self._made = 0
        self._maker_rate = world.maker_rate
        self._list(world, strikes, start_ns)
        self._series = self._views.catalog.events(EventFilter(series_ticker=SERIES), -1, _PAGE)[0]

    def _list(self, world: World, strikes: Sequence[int], start_ns: int) -> None:
        commands: list[v.Command] = [
            v.ListCompany(PROJECT, "Acme", "ACME"),
            v.ListEvent(
                event_ticker=EVENT,
                series_ticker=SERIES,
                project_market_id="cccccccc-0000-4000-8000-000000000000",
                project_id=PROJECT,
                title="Acme at the end of the quarter",
                category="valuation",
                status=model.EventStatus.OPEN,
                mutually_exclusive=False,
                resolution_date_ns=start_ns + world.resolution_ns,
            ),
        ]
        for rung, market in enumerate(self.markets):
            commands.append(
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
            )
        users = {MAKER: CASH_CENTS, **dict.fromkeys(TAKERS.values(), _CROWD_CENTS)}
        for user, cents in users.items():
            commands += [v.AddUser(user), v.Deposit(user, cents)]
        for command in commands:
            answer, events = self.engine.apply(command, start_ns)
            assert not isinstance(answer, v.Refused), answer
            for event in events:
                self._views.apply(event)

    # --- commands ---------------------------------------------------------------------------------

    def apply(self, command: v.Command, now_ns: int) -> v.Answer:
        """Carry a command out, and keep what it changed."""
        answer, events = self.engine.apply(command, now_ns)
        for event in events:
            kind = type(event)
            if kind is v.LevelChanged:
                self.tapes[event.market_id].change(event)  # type: ignore[union-attr, arg-type]
                self.changed[event.market_id] = None  # type: ignore[union-attr]
            elif kind is v.TradePrinted:
                self.prints.append(event)  # type: ignore[arg-type]
            elif kind is v.OrderChanged:
                if event.order.user_id is MAKER:  # type: ignore[union-attr]
                    self._views.account.apply(event)
                    self._keep_own(event.order)  # type: ignore[union-attr]
            elif kind is v.FillBooked:
                if event.user_id is MAKER:  # type: ignore[union-attr]
                    self._views.account.apply(event)
                    self._filled(event)  # type: ignore[arg-type]
            elif kind in _OF_ACCOUNTS and event.user_id is MAKER:  # type: ignore[union-attr]
                self._views.account.apply(event)
        return answer

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
        return self.apply(v.PlaceOrder(user or TAKERS[who], order), now_ns)

    def amend(self, user: UserId, order_id: OrderId, amend: Amend, now_ns: int) -> v.Answer:
        """A background maker moves an order."""
        self.acting = Class.MAKER
        return self.apply(v.AmendOrder(user, order_id, amend), now_ns)

    def cancel(self, user: UserId, order_id: OrderId, now_ns: int) -> v.Answer:
        """A background maker takes an order away."""
        self.acting = Class.MAKER
        return self.apply(v.CancelOrder(user, order_id), now_ns)

    def resolve(self, pays: Sequence[bool], now_ns: int) -> None:
        """Every rung pays what it is worth in the end."""
        for market, yes in zip(self.markets, pays, strict=True):
            winner = Outcome.YES if yes else Outcome.NO
            self.apply(v.ResolveMarket(market, winner), now_ns)

    # --- books ------------------------------------------------------------------------------------

    def best(self, market: MarketId) -> tuple[Price | None, Price | None]:
        """Best bid and ask, whosever they are."""
        tape = self.tapes[market]
        return max(tape.bids, default=None), min(tape.asks, default=None)

    def best_of_others(self, market: MarketId) -> tuple[Price | None, Price | None]:
        """Best bid and ask of the crowd."""
        tape, own = self.tapes[market], self.own
        bid, ask = BookSide.BID, BookSide.ASK
        bids = [p for p, size in tape.bids.items() if size > own.get((market, bid, p), 0)]
        asks = [p for p, size in tape.asks.items() if size > own.get((market, ask, p), 0)]
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

    def book_frame(self, market: MarketId) -> m.BookSeen:
        """The channel's whole book of a rung."""
        tape = self.tapes[market]
        bids, asks = tape.levels()
        return m.BookSeen(market, tape.at_ns, bids, asks)

    # --- the front door ---------------------------------------------------------------------------

    def answer(self, request: m.Request, now_ns: int) -> m.Answer:
        """Carry out a request of the trader's, or refuse it for pace."""
        if not self.bucket.take(now_ns):
            return self.refuse(Code.RATE_LIMITED)
        self.acting = Class.SELF
        match request:
            case m.Create():
                order = codec.parse_new_order(request.body, MarketId)
                return self._shown(self.apply(v.PlaceOrder(MAKER, order), now_ns))
            case m.AmendResting():
                amended = v.AmendOrder(MAKER, request.order_id, request.amend)
                return self._shown(self.apply(amended, now_ns))
            case m.CancelResting():
                return self._shown(self.apply(v.CancelOrder(MAKER, request.order_id), now_ns))
            case _:
                return self._read(request)

    def refuse(self, code: Code) -> m.Refused:
        """A refusal, counted."""
        self.refused[code] = self.refused.get(code, 0) + 1
        return refusal(code)

    def _shown(self, answer: v.Answer) -> m.Answer:
        if isinstance(answer, v.Refused):
            return self.refuse(answer.code)
        return shown(answer)

    def _read(self, request: m.Read) -> m.Answer:
        account = self._views.account
        match request:
            case m.ReadOrder():
                order = account.order(MAKER, request.order_id)
                if order is None:
                    return self.refuse(Code.ORDER_NOT_FOUND)
                return m.Done(m.OrderShown(order))
            case m.ReadResting():
                place = int(request.cursor) if request.cursor else None
                rows, last = account.orders(MAKER, Scope(), model.RESTING, place, 10 * _PAGE)
                return m.Done(m.OrdersShown(rows, "" if last is None else str(last)))
            case m.ReadFills():
                place = int(request.cursor) if request.cursor else None
                fills, last = account.fills(MAKER, Scope(), None, place, _PAGE)
                return m.Done(m.FillsShown(fills, "" if last is None else str(last)))
            case m.ReadPositions():
                held, _ = account.positions(MAKER, Scope(), "", 10 * _PAGE)
                return m.Done(m.PositionsShown(held, ""))
            case m.ReadBalance():
                return m.Done(m.BalanceShown(account.balance(MAKER)))
            case m.ReadSeries():
                return m.Done(m.SeriesShown(self._series, ""))
            case m.ReadBook():
                return m.Done(m.BookShown(self._shown_book(request.market_id)))

    def _shown_book(self, market: MarketId) -> model.Orderbook:
        tape = self.tapes[market]
        bids, asks = tape.levels()
        ticker = Ticker(f"{EVENT}-R{self.rung_of[market]}")
        return model.Orderbook(
            ticker, market, instant.from_ns(tape.at_ns), _rows(bids), _rows(asks)
        )

    @property
    def cash_cents(self) -> int:
        """The trader's cash as the engine has it, available and reserved."""
        balance = self.engine.balance(MAKER)
        assert balance is not None
        return balance[0] + balance[1]

    @property
    def locked_cents(self) -> int:
        """What of the trader's cash cannot be used now: paid for shares, or reserved."""
        balance = self.engine.balance(MAKER)
        assert balance is not None
        return CASH_CENTS - balance[0]


def _rows(levels: Levels) -> tuple[model.Level, ...]:
    return tuple(model.Level(price, size) for price, size in levels)
