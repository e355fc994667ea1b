"""Explains why an order was created, amended or cancelled, by replaying the run up to that request:
there the replayed trader has the same book, curve, quotes, limits and plan as the first one.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from itertools import zip_longest
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.build_report import limits_used
from bot.core.market_data.market_state import frame_of_read
from bot.core.orders.order import OwnOrder
from bot.core.orders.request_budget import Priority
from bot.core.planning.actions import Action, AmendAction, CancelAction, CreateAction
from bot.core.preview import SHOWN_LEVELS, Room, affordable, rooms, why_pulled
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.reconfigure import Remake
from bot.core.report import BreakerReport, Phase
from bot.core.risk.exposure import OpenExposure, loss_cents
from bot.core.risk.trim import Trim
from bot.core.settings import TraderSettings
from bot.core.trading_state import strictest_first
from bot.io.journal.records import JournalFault
from bot.lab.order_histories import CHANNEL, Frame, OrderHistory, OrderRequest, frame_of
from bot.lab.replay import replayer_of
from bot.lab.session import Place, Placed, Run, Step, placed_entries
from bot.strategy.api import (
    EventView,
    Levels,
    Quote,
    Quotes,
    Strategy,
    StrategyAnswer,
    Take,
    checked,
    name_of,
    quotes_of,
)
from venue.wire.money import BookSide, Cents, Price, Qty, canonical
from venue.wire.names import ClientOrderId, MarketId, Ticker


class InventoryShift(msgspec.Struct, frozen=True):
    """One quote as it was, and as it would have been without inventory on any rung."""

    side: BookSide
    level: int  # its place on its side, 0 at the touch
    price: Price | None
    qty: Qty
    free_price: Price | None  # free_price, free_qty: without inventory
    free_qty: Qty
    cents: int | None  # how far the inventory moved it up; None if one of the two is missing


class RecordedStrategy(Strategy):
    def __init__(self, inner: Strategy) -> None:
        self._inner = inner
        self._answer: Quotes | None = None
        self.calls = 0  # how often it was asked
        self.view: EventView | None = None
        self.name = name_of(inner)  # type: ignore[misc]
        super().__init__(inner.params)

    def quote(self, view: EventView) -> Quotes | StrategyAnswer:
        self.calls += 1
        self.view, self._answer = view, None
        answer = self._inner.quote(view)
        self._answer = quotes_of(answer)
        return answer

    def leans(self, market_id: MarketId) -> tuple[tuple[InventoryShift, ...], str]:
        """How far inventory moved the quotes of a rung in the last answer, and why this is unknown,
        else empty."""
        if self.view is None or self._answer is None:
            return (), "the strategy gave no answer"
        try:
            # The same rung objects: a strategy may see by that which of them have changed.
            copied = deepcopy(self._inner, {id(rung): rung for rung in self.view.rungs})
            nothing = without_shares(self.view)
            then = checked(self._answer, self.view)
            free = checked(quotes_of(copied.quote(nothing)), nothing)
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: some are not copied
            return (), f"asked again holding nothing: {type(fault).__name__}: {fault}"
        return _leans(then.get(market_id, ()), free.get(market_id, ())), ""


def without_shares(view: EventView) -> EventView:
    rungs = tuple(
        msgspec.structs.replace(rung, yes_qty=Qty(0), no_qty=Qty(0))
        if rung.yes_qty or rung.no_qty
        else rung
        for rung in view.rungs
    )
    return msgspec.structs.replace(view, rungs=rungs)


def _leans(then: tuple[Quote, ...], free: tuple[Quote, ...]) -> tuple[InventoryShift, ...]:
    rows = []
    for side in BookSide:
        pairs = zip_longest(_levels(then, side), _levels(free, side))
        for level, (one, other) in enumerate(pairs):
            both = None if one is None or other is None else one.price - other.price
            rows.append(
                InventoryShift(side, level, *_price_and_qty(one), *_price_and_qty(other), both)
            )
    return tuple(rows)


def _price_and_qty(quote: Quote | None) -> tuple[Price | None, Qty]:
    return (None, Qty(0)) if quote is None else (quote.price, quote.qty)


def _levels(quotes: tuple[Quote, ...], side: BookSide) -> list[Quote]:
    mine = [quote for quote in quotes if quote.side is side]
    return sorted(mine, key=lambda quote: quote.price, reverse=side is BookSide.BID)


class StrategyRecorder:
    def __init__(self) -> None:
        self._made: list[RecordedStrategy] = []

    def around(self, strategy: Strategy) -> Strategy:
        asked = RecordedStrategy(strategy)
        self._made.append(asked)
        return asked

    def strategy_of(self, event_ticker: Ticker) -> RecordedStrategy | None:
        for asked in reversed(self._made):
            if asked.view is not None and asked.view.event_ticker == event_ticker:
                return asked
        return None


# --- one decision: prices are canonical YES cents, times the bot's clock ----------


class Curve(msgspec.Struct, frozen=True):
    value_cents: float
    sd_cents: float
    variance: float  # of the value, cents squared
    line_cents: float | None  # of the smooth line alone
    drawn_cents: float | None  # drawn to the rung's own data, not yet falling with the strike
    volatility_cents: float  # cents per sqrt(second)


class StrategyInput(msgspec.Struct, frozen=True):
    bids: Levels
    asks: Levels
    book_age_s: float
    yes_qty: Qty
    no_qty: Qty
    event_net_qty: int


class Limits(msgspec.Struct, frozen=True):
    wished_qty: int | None  # shares of the change that was planned
    sent_qty: int | None  # of the request
    rooms: tuple[Room, ...]  # the largest such order that each limit left, the tightest first
    used: tuple[BreakerReport, ...]  # the use of each limit before it
    worst_cents: Cents  # the loss of the event at worst


class NeighbourOrder(msgspec.Struct, frozen=True):
    client_order_id: ClientOrderId
    price: Price
    qty: Qty
    state: str
    wish: str  # the planned action


class Choice(msgspec.Struct, frozen=True):
    """The change that was planned."""

    kind: str  # create, amend, cancel, take, or none where the request came of no plan
    why: str
    value_cents: float
    keeps_priority: bool | None
    place_cents: float | None  # the value of its queue position then
    beside: tuple[NeighbourOrder, ...]


class Token(msgspec.Struct, frozen=True):
    key: str
    lane: str
    before: int | None  # in the bucket
    reserve: int  # kept for cancels and recovery
    nth: int = 0  # nth, of: among the requests of that decision, in the order in which they left
    of: int = 0
    in_flight: int = 0
    resting: int = 0
    flat_ns: int = 0


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The trader's beliefs, targets and limits when a request left, or at an instant."""

    at_ns: int
    number: int
    place: Place
    phase: Phase
    event_ticker: Ticker
    ticker: Ticker
    strategy: str
    decided_ns: int  # when its event was decided last
    asked: bool  # True if the strategy ran then; if not, `pulled` says why
    pulled: str
    restricted: tuple[str, ...]  # what restricted trading in its event, for a person
    frame: Frame | None
    curve: Curve | None
    seen: StrategyInput | None
    leans: tuple[InventoryShift, ...]
    leans_fault: str  # why the leans are not known, else empty
    answered: tuple[Quote, ...]  # the strategy's quotes on the rung
    takes: tuple[Take, ...]  # its takes there
    wanted: tuple[Quote, ...]  # the quotes within the limits
    steady: tuple[Quote, ...]  # without flicker
    cuts: tuple[Trim, ...]  # the shares that limits cut off
    limits: Limits | None = None
    choice: Choice | None = None
    token: Token | None = None


# --- a run, replayed and looked into --------------------------------------------------------------


class _Decided(msgspec.Struct):
    """The last decision of an event. asked: as in `Decision`."""

    at_ns: int
    asked: bool
    books: dict[MarketId, Frame]  # the newest frames of its rungs by then


class Explainer:
    def __init__(self, run: Run, remake: Remake) -> None:
        """Raises JournalFault."""
        self._askers = StrategyRecorder()
        self._again = replayer_of(run, remake, around=self._askers.around)
        self.trader = self._again.trader
        self._rungs: dict[MarketId, MarketQuoter] = {}
        self._books: dict[MarketId, Frame] = {}
        self._decided: dict[Ticker, _Decided] = {}
        self._calls: dict[Ticker, int] = {}
        self._watched: tuple[OrderRequest, OrderHistory] | None = None
        self._spent: list[tuple[Token, Limits | None]] = []
        # Every token passes here; other series may share the budget.
        purse = self.trader.out.purse
        self._tokens, self._spend = purse.tokens, purse.spend
        purse.spend = self._spend_watched  # type: ignore[method-assign]

    @property
    def _settings(self) -> TraderSettings:
        return self.trader.reconfiguration.settings

    def of_deeds(
        self, life: OrderHistory, deeds: Sequence[OrderRequest]
    ) -> Iterator[tuple[OrderRequest, Decision]]:
        """The decision behind each request, in the order of the run. Raises JournalFault."""
        wanted = {deed.number: deed for deed in deeds}
        for step in self._steps(max(wanted)):
            number = step.placed.number
            if number in wanted:
                deed = wanted[number]
                yield deed, self._of_request(step, self._rungs[life.market_id], deed, life)
            self._spent = []
            following = wanted.get(number + 1)
            self._watched = None if following is None else (following, life)

    def of_rung(self, ticker: str, at_ns: int) -> Decision | None:
        """The beliefs and targets of a rung at an instant; None if it was not known yet. ticker: of
        the rung, or its part after a dash. Raises JournalFault."""
        # What has arrived is taken in right before a Tick.
        until = 0
        with suppress(JournalFault):  # the run comes to the damage by itself
            for placed in placed_entries(self._again.run.paths):
                if isinstance(placed.entry.message, m.Tick) and placed.entry.at_ns <= at_ns:
                    until = placed.number
        last: Step | None = None
        for step in self._steps(until):
            last = step
        named = ticker.upper()
        known = {rung.market.ticker.upper(): rung.market_id for rung in self._rungs.values()}
        ending = [each for each in known if each.endswith(f"-{named}")]
        if named not in known and len(ending) == 1:
            named = ending[0]
        if last is None or named not in known:
            return None
        return self._decision(last, self._rungs[known[named]])

    @property
    def tickers(self) -> list[Ticker]:
        return [rung.market.ticker for rung in self._rungs.values()]

    def _steps(self, last: int) -> Iterator[Step]:
        for step in self._again.steps():
            if step.placed.number > last:
                return
            self._follow(step)
            yield step

    def _follow(self, step: Step) -> None:
        match step.placed.entry.message:
            case m.Tick():
                self._look_for_decisions()
            case m.BookUpdate() as seen:
                self._saw(seen, step.placed, CHANNEL)
            case m.Response(answer=m.Ok(body=m.SeriesBody())):
                ladders = self.trader.quoting.ladders
                self._rungs = {rung.market_id: rung for each in ladders for rung in each.rungs}
            case m.Response(answer=m.Ok(body=m.BookBody(book=book))):
                read = frame_of_read(book)
                if read is not None:
                    self._saw(read, step.placed, "read of the book")

    def _saw(self, seen: m.BookUpdate, placed: Placed, kind: str) -> None:
        rung = self._rungs.get(seen.market_id)
        # A book older than the present one changes nothing.
        if rung is not None and rung.state.ts_ns == seen.ts_ns:
            self._books[seen.market_id] = frame_of(kind, placed, seen)

    def _look_for_decisions(self) -> None:
        for ladder in self.trader.quoting.ladders:
            ticker = ladder.event.event_ticker
            before = self._decided.get(ticker)
            if ladder.decided_ns and (before is None or before.at_ns != ladder.decided_ns):
                asked = self._askers.strategy_of(ticker)
                calls = 0 if asked is None else asked.calls
                was_asked = calls != self._calls.get(ticker, 0)
                self._decided[ticker] = _Decided(ladder.decided_ns, was_asked, self._books.copy())
                self._calls[ticker] = calls

    # --- tokens and limits at the instant ---------------------------------------------------------

    def _spend_watched(self, lane: Priority, now_ns: int, user: int = 0) -> bool:
        before = self._tokens(now_ns)
        if not self._spend(lane, now_ns, user):
            return False
        if self._watched is not None and user == self.trader.out.user:
            self._record_token(lane, before, now_ns, *self._watched)
        return True

    def _record_token(
        self, lane: Priority, before: int, now_ns: int, deed: OrderRequest, life: OrderHistory
    ) -> None:
        trader = self.trader
        resting = len(trader.desk.live_orders)
        token = Token(
            key=deed.key,
            lane=lane.name.lower(),
            before=before,
            reserve=self._settings.budget.reserve,
            in_flight=len(trader.out.pending),
            resting=resting,
            flat_ns=trader.out.flat_ns(resting + 1, now_ns),
        )
        self._spent.append((token, None if deed.kind == "cancel" else self._limits(deed, life)))

    def _limits(self, deed: OrderRequest, life: OrderHistory) -> Limits | None:
        rung, own = self._rungs.get(life.market_id), None
        if deed.kind != "create":
            own = next((o for o in self.trader.desk.live(life.market_id) if _is(o, life)), None)
        if rung is None or (own is None and deed.kind != "create"):
            return None
        weighing = self.trader.quoting.weighing
        exposure, bounds = weighing.exposure(rung.ladder), weighing.bounds(rung.ladder)
        used, worst_cents = limits_used(exposure, bounds), loss_cents(exposure.worst_cents)
        price, qty = life.price, Qty(self._settings.risk.order_qty)
        if own is not None:
            price = own.yes_price if deed.price is None else deed.price
            qty = max(qty, own.remaining)
        own_price = canonical(life.outcome, price)
        candidate = OpenExposure(life.market_id, life.outcome, life.own_side, own_price, qty)
        cash_qty = affordable(weighing.account.cash, rung, candidate, own)
        left = rooms(exposure, candidate, bounds, cash_qty, own)
        return Limits(None, deed.qty, left, used, worst_cents)

    def _decision(self, step: Step, rung: MarketQuoter) -> Decision:
        market_id, quoting = rung.market_id, self.trader.quoting
        ladder = rung.ladder
        ticker = ladder.event.event_ticker
        decided = self._decided.get(ticker)
        asked = self._askers.strategy_of(ticker)
        was_asked = decided is not None and decided.asked and asked is not None
        view = asked.view if asked is not None and was_asked else None
        leans, fault = asked.leans(market_id) if asked is not None and was_asked else ((), "")
        return Decision(
            at_ns=step.at_ns,
            number=step.placed.number,
            place=step.placed.place,
            phase=self.trader.phase,
            event_ticker=ticker,
            ticker=rung.market.ticker,
            strategy=ladder.quoted_by(market_id),
            decided_ns=ladder.decided_ns,
            asked=was_asked,
            pulled=""
            if was_asked
            else self.trader.withheld
            or why_pulled(ladder, ladder.decided_ns)
            or rung.blocked
            or ("" if ladder.exit is None else "its event is exited"),
            restricted=tuple(
                each.text()
                for each in strictest_first(
                    [*self.trader.restrictions, *ladder.restrictions(step.at_ns)]
                )
            ),
            frame=None if decided is None else decided.books.get(market_id),
            curve=_curve(ladder, rung),
            seen=None if view is None else _seen(view, market_id),
            leans=leans,
            leans_fault=fault,
            answered=ladder.answered.get(market_id, ()) if was_asked else (),
            takes=ladder.takes.get(market_id, ()) if was_asked and not ladder.health.fault else (),
            wanted=rung.wanted,
            steady=tuple(rung.planned),
            cuts=tuple(cut for cut in quoting.weighing.trims(ladder) if cut.market_id == market_id),
        )

    def _of_request(
        self, step: Step, rung: MarketQuoter, deed: OrderRequest, life: OrderHistory
    ) -> Decision:
        wish = _wish_of(rung, deed, life)
        token, limits = self._spent_on(step, deed)
        if limits is not None and wish is not None and not isinstance(wish, CancelAction):
            wished = wish.qty if isinstance(wish, CreateAction) else wish.amend.qty
            limits = msgspec.structs.replace(limits, wished_qty=wished)
        return msgspec.structs.replace(
            self._decision(step, rung),
            limits=limits,
            choice=self._choice(step, rung, deed, life, wish),
            token=token,
        )

    def _spent_on(self, step: Step, deed: OrderRequest) -> tuple[Token, Limits | None]:
        """Requests of one key leave in the order of its tokens."""
        sends = [each for each in step.effects if isinstance(each, m.Send)]
        on_key = [each.request_id for each in sends if each.key is m.Key.TRADE]
        unwatched = Token(deed.key, deed.kind, None, self._settings.budget.reserve), None
        number = m.RequestId(deed.request_id)
        token, limits = dict(zip(on_key, self._spent, strict=False)).get(number, unwatched)
        nth = 1 + [each.request_id for each in sends].index(number)
        return msgspec.structs.replace(token, nth=nth, of=len(sends)), limits

    def _choice(
        self,
        step: Step,
        rung: MarketQuoter,
        deed: OrderRequest,
        life: OrderHistory,
        wish: Action | None,
    ) -> Choice:
        about = {id(w.order): w for w in rung.wishes if not isinstance(w, CreateAction)}
        neighbours = tuple(
            NeighbourOrder(
                own.client_order_id,
                own.yes_price,
                own.remaining,
                own.state,
                "" if id(own) not in about else about[id(own)].why,
            )
            for own in self.trader.desk.live(rung.market_id)
            if own.book_side is life.side and not _is(own, life)
        )
        if wish is None:
            kind = "take" if "take " in deed.why else "none"
            return Choice(kind, deed.why, 0.0, None, None, neighbours)
        place = None
        if not isinstance(wish, CreateAction):
            worth = rung.worth(step.at_ns)
            place = worth.queue_value_cents(
                wish.order, worth.edge(wish.order.book_side, wish.order.yes_price)
            )
        keeps = wish.keeps_priority if isinstance(wish, AmendAction) else None
        return Choice(_KINDS[type(wish)], wish.why, wish.value, keeps, place, neighbours)


_KINDS: Final = {CreateAction: "create", AmendAction: "amend", CancelAction: "cancel"}


def _is(own: OwnOrder, life: OrderHistory) -> bool:
    if own.order_id is not None and own.order_id in life.order_ids:
        return True
    return bool(own.client_order_id) and own.client_order_id == life.client_order_id


def _wish_of(rung: MarketQuoter, deed: OrderRequest, life: OrderHistory) -> Action | None:
    """The planned action that a request carried out; None where it came of none."""
    created = life.side, life.price, life.outcome, life.own_side
    for wish in rung.wishes:
        if isinstance(wish, CreateAction):
            same = created == (wish.book_side, wish.price, wish.outcome, wish.side)
            if deed.kind == "create" and same:
                return wish
        elif _is(wish.order, life) and deed.kind != "create":
            return wish
    return None


def _curve(ladder: EventQuoter, rung: MarketQuoter) -> Curve | None:
    fair, curve = rung.fair, ladder.curve
    if fair is None or curve is None:
        return None
    at = ladder.rungs.index(rung)
    return Curve(
        fair.value_cents,
        fair.sd_cents,
        fair.sd_cents**2,
        _nth(curve.line_cents, at),
        _nth(curve.drawn_cents, at),
        curve.volatilities[at],
    )


def _nth(values: Sequence[float], at: int) -> float | None:
    return values[at] if at < len(values) else None


def _seen(view: EventView, market_id: MarketId) -> StrategyInput:
    mine = next(rung for rung in view.rungs if rung.market_id == market_id)
    return StrategyInput(
        mine.bids[:SHOWN_LEVELS],
        mine.asks[:SHOWN_LEVELS],
        mine.book_age_s,
        mine.yes_qty,
        mine.no_qty,
        sum(rung.net_qty for rung in view.rungs),
    )
