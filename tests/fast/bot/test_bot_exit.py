"""Exit of an event: its stages and prices, its cost and cap, its preview, and its end."""

import itertools
from dataclasses import dataclass, field
from random import Random

import msgspec
import pytest

from bot.core import messages as m
from bot.core.quoting.exit import (
    EventExit,
    ExitRung,
    LiveShares,
    Stage,
    preview,
    rungs_of,
)
from bot.core.report import EventReport
from bot.core.settings import CurfewSettings
from bot.core.trading_state import Source, TradingState
from bot.strategy.api import EventView, Quote, Quotes, Strategy, Take
from tests.builders.bot.planned import ASK, BID
from tests.builders.bot.thin import EVENT, Thin
from tests.builders.scale import cases
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import (
    BookSide,
    Cents,
    FeeRate,
    Outcome,
    Price,
    Qty,
    Side,
    book_side,
    canonical,
    fee_cents,
)
from venue.wire.names import MarketId, OrderId

SECOND = NS_PER_SECOND
FREE, DEAR = FeeRate.parse("0"), FeeRate.parse("0.0700")
FAR = 25
LOSS_CENTS = Cents(3_000)


def levels(*rows: tuple[int, int]) -> tuple[tuple[Price, Qty], ...]:
    return tuple((Price(price), Qty(qty)) for price, qty in rows)


def rung(net: int = 10, fair: float | None = 50.0, place: int = 0, **other: object) -> ExitRung:
    """A rung with 20 shares bid at 46 and 20 offered at 54."""
    fields: dict[str, object] = {
        "market_id": MarketId(f"m{place}"),
        "ticker": f"E-{place}",
        "net_qty": net,
        "fair_cents": fair,
        "arrival_millicents": None if fair is None else round(1_000 * fair),
        "bids": levels((46, 20), (40, 100)),
        "asks": levels((54, 20), (60, 100)),
        "rate": FREE,
    }
    return ExitRung(**{**fields, **other})  # type: ignore[arg-type]


def an_exit(most_cents: int = 500, seconds: int = 40) -> EventExit:
    return EventExit(Source.OPERATOR, "home", seconds * SECOND, Cents(most_cents), 0)


def wishes(
    *rungs: ExitRung,
    at_s: float,
    most_cents: int = 500,
    loss_cents: Cents = LOSS_CENTS,
    ticks: int = FAR,
) -> dict[MarketId, list[tuple[type, BookSide, int, int]]]:
    """What an exit of 40 s wants so long after its begin."""
    wanted = an_exit(most_cents).wishes(rungs, loss_cents, ticks, int(at_s * SECOND))
    return {
        key: [(type(each), each.side, each.price, each.qty) for each in rows]
        for key, rows in wanted.items()
    }


# --- stages and prices ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at_s", "stage"),
    [(0, Stage.PASSIVE), (9.9, Stage.PASSIVE), (10, Stage.MIDWAY), (20, Stage.CROSSING),
     (30, Stage.LAST), (40, Stage.LAST)],
)  # fmt: skip
def test_each_stage_takes_a_quarter_of_the_time(at_s, stage):
    running, now_ns = an_exit(), int(at_s * SECOND)
    assert running.stage(now_ns) is stage
    assert now_ns < running.turn_ns(now_ns) <= now_ns + 10 * SECOND or now_ns == running.ends_ns


@pytest.mark.parametrize(
    ("net", "fair", "bids", "asks", "price"),
    [
        (10, 50.0, [(46, 9)], [(54, 9)], 53),  # a tick before the touch
        (10, 53.4, [(46, 9)], [(54, 9)], 54),  # with the touch: a tick before would be below fair
        (10, 57.2, [(46, 9)], [(54, 9)], 58),  # behind the touch, at the fair value
        (10, 50.0, [(46, 9)], [(47, 9)], 50),
        (10, 40.0, [(46, 9)], [(47, 9)], 47),  # never at the price of a bid
        (10, 50.0, [(46, 9)], [], 50),
        (10, 99.5, [(98, 9)], [], None),
        (-10, 50.0, [(46, 9)], [(54, 9)], 47),
        (-10, 46.6, [(46, 9)], [(54, 9)], 46),
        (-10, 42.8, [(46, 9)], [(54, 9)], 42),
        (-10, 0.5, [], [(2, 9)], None),
    ],
)
def test_a_passive_quote_leads_the_touch_and_is_never_worse_than_fair(net, fair, bids, asks, price):
    each = rung(net, fair, bids=levels(*bids), asks=levels(*asks))
    assert each.passive_price() == price


@pytest.mark.parametrize(
    ("net", "fair", "price"), [(10, 50.0, 48), (-10, 50.0, 52), (10, 47.0, 47), (10, 90.0, 68)]
)
def test_a_midway_quote_is_halfway_to_the_price_that_would_be_crossed(net, fair, price):
    assert rung(net, fair).midway_price() == price


def test_a_midway_quote_is_at_the_fair_value_where_nothing_can_be_crossed():
    assert rung(10, 50.3, bids=(), asks=levels((60, 9))).midway_price() == 51
    assert rung(-10, 50.3, asks=(), bids=levels((40, 9))).midway_price() == 50
    assert rung(10, 99.5, bids=()).midway_price() is None


def test_a_stage_rests_until_it_crosses():
    def quote(side: BookSide, price: int) -> dict:
        return {MarketId("m0"): [(Quote, side, price, 10)]}

    assert wishes(rung(), at_s=0) == quote(ASK, 53)
    assert wishes(rung(-10), at_s=0) == quote(BID, 47)
    assert wishes(rung(), at_s=10) == quote(ASK, 48)
    assert wishes(rung(), at_s=30) == {MarketId("m0"): [(Take, ASK, 46, 10)]}


def test_a_bid_at_the_fair_value_is_taken_in_every_stage():
    each = rung(bids=levels((50, 4), (46, 20)))
    (take, quote) = wishes(each, at_s=0)[MarketId("m0")]
    assert take == (Take, ASK, 50, 4)
    assert quote[0] is Quote
    assert quote[3] == 6


@pytest.mark.parametrize(("loss_cents", "qty"), [(400, 9), (2_000, 7), (100_000, 0)])
def test_the_crossing_stage_sells_what_is_worth_less_held_to_resolution(loss_cents, qty):
    # At a risk tolerance of 20 dollars the tenth share is worth 38 cents, the third 47.
    (found,) = wishes(rung(), at_s=20, loss_cents=Cents(loss_cents)).values()
    assert sum(each[3] for each in found if each[0] is Take) == qty


def test_the_cheapest_share_of_all_rungs_is_crossed_first():
    dear, cheap = rung(bids=levels((40, 20))), rung(place=1, bids=levels((47, 20)))
    found = wishes(dear, cheap, at_s=30, most_cents=50)
    assert found[MarketId("m1")] == [(Take, ASK, 47, 10)]
    assert found[MarketId("m0")][0] == (Take, ASK, 40, 2)


def test_no_price_reaches_further_through_the_touch_than_an_order_may():
    each = rung(100, bids=levels((46, 20), (44, 20), (43, 20)))
    (found,) = wishes(each, at_s=30, most_cents=10_000, ticks=2).values()
    assert found[0] == (Take, ASK, 44, 40)


# --- the cap --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most_cents", "qty"), [(0, 0), (3, 0), (4, 1), (39, 9), (40, 10)])
def test_the_cap_bounds_the_shares_crossed(most_cents, qty):
    found = wishes(rung(), at_s=30, most_cents=most_cents).get(MarketId("m0"), [])
    assert sum(each[3] for each in found if each[0] is Take) == qty


def test_live_orders_count_at_their_worst_price_until_they_are_gone():
    resting = (LiveShares(ASK, Price(48), 10),)
    other = rung(place=1)
    assert wishes(rung(orders=resting, may_quote=False), other, at_s=30, most_cents=40)[
        MarketId("m1")
    ] == [(Take, ASK, 46, 5)]
    # Those that reduce can be cancelled: nothing else may have their room meanwhile.
    found = wishes(rung(orders=resting), at_s=30, most_cents=40)
    assert found == {MarketId("m0"): []}


def test_a_take_waits_until_what_rests_leaves_it_room():
    resting = (LiveShares(ASK, Price(53), 4),)
    assert wishes(rung(orders=resting), at_s=30) == {MarketId("m0"): []}
    assert wishes(rung(may_take=False), at_s=30) == {}


def test_the_fee_counts_in_cost_and_cap():
    each = rung(rate=DEAR)
    # 4 cents and a fee of 1.739 a share, one rounding for each order.
    (found,) = wishes(each, at_s=30, most_cents=30).values()
    assert found[0] == (Take, ASK, 46, 5)


def test_fills_of_older_orders_make_no_room():
    running = an_exit()
    market_id = MarketId("m0")
    assert running.arrival_millicents(market_id, 50.25) == 50_250
    running.on_fill(market_id, ASK, Price(48), 2, 1, is_own=True)
    assert running.cost_cents == 6  # 2 x 2.25 + 1, rounded up
    running.on_fill(market_id, ASK, Price(60), 2, 0, is_own=False)
    assert running.cost_cents == 6
    running.on_fill(market_id, BID, Price(48), 2, 0, is_own=True)
    assert running.cost_cents == 1
    running.on_fill(MarketId("unknown"), BID, Price(99), 9, 9, is_own=True)
    assert running.cost_cents == 1


@dataclass
class Market:
    """One event in which every live order may fill at any time, at its worst price."""

    rng: Random
    net: list[int]
    rate: FeeRate
    running: EventExit
    live: list[list[LiveShares]] = field(default_factory=list)
    spent_millicents: int = 0

    def rungs(self) -> list[ExitRung]:
        rng = self.rng
        found = []
        for place, net in enumerate(self.net):
            bid = rng.randint(20, 70)
            ask = bid + rng.randint(1, 9)
            fair = min(99.5, max(0.5, rng.uniform(bid - 6, ask + 6)))
            found.append(
                rung(
                    net,
                    fair,
                    place,
                    arrival_millicents=self.running.arrival_millicents(MarketId(f"m{place}"), fair),
                    bids=levels((bid, rng.randint(1, 9)), (bid - 3, 30)),
                    asks=levels((ask, rng.randint(1, 9)), (ask + 3, 30)),
                    rate=self.rate,
                    orders=tuple(self.live[place]),
                )
            )
        return found

    def obey(self, wanted: dict[MarketId, tuple[Quote | Take, ...]]) -> None:
        """Orders move, at once or not yet; those that are not wanted may stay for a while."""
        rng = self.rng
        for place in range(len(self.net)):
            rows = wanted.get(MarketId(f"m{place}"), ())
            for each in rows:
                resting = sum(order.qty for order in self.live[place])
                if isinstance(each, Take):
                    self.live[place].append(LiveShares(each.side, each.price, each.qty))
                elif rng.random() < 0.7:
                    side = each.side
                    worse = max if side is BID else min
                    self.live[place] = [
                        LiveShares(side, worse(order.price, each.price), order.qty)
                        for order in self.live[place]
                    ]
                    more = each.qty - resting
                    if more > 0:
                        self.live[place].append(LiveShares(side, each.price, more))
            if not rows and rng.random() < 0.5:
                self.live[place] = []

    def fill(self) -> None:
        rng = self.rng
        for place, orders in enumerate(self.live):
            for order in list(orders):
                qty = rng.choice((0, 0, 1, order.qty))
                qty = min(qty, abs(self.net[place]), order.qty)
                if qty <= 0:
                    continue
                orders.remove(order)
                if order.qty > qty and rng.random() < 0.5:
                    orders.append(order._replace(qty=order.qty - qty))
                self.net[place] += qty if order.side is BID else -qty
                fee = fee_cents(self.rate, Qty(qty), order.price)
                market_id = MarketId(f"m{place}")
                arrival = self.running.arrivals[market_id]
                away = arrival - 1_000 * order.price
                away = away if order.side is ASK else -away
                self.spent_millicents += qty * away + 1_000 * fee
                self.running.on_fill(market_id, order.side, order.price, qty, fee, is_own=True)


@pytest.mark.parametrize("seed", range(cases(2_000, quick=150)))
def test_whatever_fills_the_cost_never_passes_the_cap(seed):
    rng = Random(seed)
    net = [rng.randint(-30, 30) for _ in range(rng.randint(1, 4))]
    most_cents = rng.choice((0, 20, 100, 1_000))
    running = an_exit(most_cents)
    market = Market(rng, net, rng.choice((FREE, DEAR)), running, [[] for _ in net])
    for step in range(40):
        rungs = market.rungs()
        wanted = running.wishes(rungs, LOSS_CENTS, FAR, step * SECOND)
        for each in rungs:
            rows = wanted.get(each.market_id, ())
            assert all(wish.side is each.side for wish in rows)
            assert sum(wish.qty for wish in rows) <= abs(each.net_qty)
        market.obey(wanted)
        market.fill()
        assert market.spent_millicents <= 1_000 * most_cents


# --- the preview ----------------------------------------------------------------------------------


def test_a_preview_rests_by_the_rate_of_takers_and_crosses_what_is_left():
    busy = rung(100, bought_per_s=1_000.0)
    found = preview([busy], Cents(500), 40 * SECOND, FAR)
    assert (found.left_qty, found.rungs[0].crossing_qty) == (0, 0)
    assert found.cost_cents < 0
    quiet = preview([rung(100)], Cents(100_000), 40 * SECOND, FAR)
    assert quiet.rungs[0].resting_qty == 0
    assert (quiet.cost_cents, quiet.left_qty) == (20 * 4 + 80 * 10, 0)
    assert (quiet.now_qty, quiet.now_cost_cents) == (100, 880)
    capped = preview([rung(100)], Cents(100), 40 * SECOND, FAR)
    assert (capped.cost_cents, capped.left_qty) == (80, 80)


def test_a_preview_leaves_what_has_no_fair_value_or_no_book():
    found = preview([rung(5, None), rung(-7, place=1, asks=())], Cents(500), SECOND, FAR)
    assert (found.start_qty, found.left_qty, found.cost_cents) == (12, 12, 0)


# --- the trader -----------------------------------------------------------------------------------


class Buys(Strategy):
    """Takes ten shares of the first rung once, and bids ever after."""

    def __init__(self, params: object = None) -> None:
        super().__init__(params)
        self.asked = 0

    def quote(self, view: EventView) -> Quotes:
        self.asked += 1
        first = view.rungs[0]
        if first.best_ask is None or not first.quotable:
            return {}
        far = Quote(BID, Price(20), Qty(5))
        wanted: tuple[Quote | Take, ...] = (far,)
        if not first.yes_qty:
            wanted = (far, Take(BID, first.best_ask, Qty(10)))
        return {first.market_id: wanted}


class Filling(Thin):
    """A thin venue that fills what does not rest at the price of its order."""

    def __init__(self, strategy: Strategy, **settings: object) -> None:
        super().__init__([50], lambda: strategy, **settings)
        self.booked: list[model.Fill] = []
        self.noted: list[m.Noted] = []
        self.net = 0
        self.cash_cents = 10**9
        self.depths = itertools.count(200)

    def on_effect(self, effect: m.Effect) -> None:
        if isinstance(effect, m.Noted):
            self.noted.append(effect)

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.Create) and request.order.time_in_force.value != "gtc":
            return m.Ok(m.OrderBody(self._trade(request)))
        if isinstance(request, m.ReadFills):
            return m.Ok(m.FillsBody(tuple(reversed(self.booked)), ""))
        if isinstance(request, m.ReadBalance):
            cash = Cents(self.cash_cents)
            return m.Ok(m.BalanceBody(model.Balance(cash, Cents(0), cash)))
        if isinstance(request, m.ReadPositions) and self.net:
            held = model.Position(
                ticker=self.markets[0].ticker, outcome=model.ShownOutcome.YES, qty=Qty(self.net)
            )
            return m.Ok(m.PositionsBody((held,), ""))
        return super().answer(request)

    def _trade(self, request: m.Create) -> model.Order:
        order, at = request.order, instant.from_ns(self.now_ns)
        number = OrderId(str(900 + len(self.booked)))
        fee = fee_cents(FeeRate.parse("0.0175"), order.qty, order.price)
        sign = 1 if order.side is Side.BUY else -1
        self.net += sign * order.qty
        self.cash_cents -= sign * order.qty * order.price + fee
        shown = model.Order(
            order_id=number,
            ticker=self.markets[0].ticker,
            market_id=order.market_id,
            event_ticker=EVENT,
            outcome=model.ShownOutcome(order.outcome.value),
            side=model.ShownSide(order.side.value),
            price=order.price,
            qty=order.qty,
            remaining_qty=Qty(0),
            filled_qty=order.qty,
            status=model.OrderStatus.FILLED,
            time_in_force=model.ShownTimeInForce(order.time_in_force.value),
            created_at=at,
            updated_at=at,
        )
        fill = model.Fill(
            fill_id=f"f{len(self.booked)}",
            trade_id=f"t{len(self.booked)}",
            order_id=number,
            ticker=shown.ticker,
            market_id=order.market_id,
            event_ticker=EVENT,
            outcome=shown.outcome,
            side=shown.side,
            outcome_price=order.price,
            trade_price=canonical(order.outcome, order.price),
            qty=order.qty,
            fee_cents=fee,
            liquidity=model.Liquidity.TAKER,
            created_at=at,
        )
        self.booked.append(fill)
        return shown

    def step(self) -> None:
        self.give(self.book(0, depth=next(self.depths)))

    def live(self, seconds: float) -> EventReport:
        """Run with a new book each half second; the event then."""
        self.run(seconds, self.step, SECOND // 2)
        return self.trader.report(self.now_ns).events[0]


EMPTY: dict[str, object] = {"bids": ()}


@pytest.mark.parametrize(
    ("rungs", "most_cents", "over"),
    [
        ((rung(0),), 0, "flat"),
        ((rung(0), rung(1)), 3, "its cost cap is reached"),  # a share costs four cents
        ((rung(1),), 4, "its time is over"),
        ((rung(1, **EMPTY), rung(0)), 500, "nothing to cross"),
        ((rung(1, **EMPTY), rung(1)), 3, "its cost cap is reached"),
        ((rung(1, **EMPTY), rung(1)), 500, "its time is over"),
        ((rung(1, **EMPTY, may_quote=False),), 500, "its time is over"),
        ((rung(1, None),), 500, "its time is over"),
        ((rung(1, None), rung(1)), 3, "its cost cap is reached"),
    ],
)
def test_an_exit_out_of_time_says_why_shares_are_left(rungs, most_cents, over):
    running = an_exit(most_cents)
    running.see(rungs, FAR)
    running.on_time(running.ends_ns)
    assert running.over == over


@pytest.fixture
def holding() -> Filling:
    """A trader that holds ten shares, bought at 52 where the fair value is 50."""
    of = Filling(Buys())
    of.start()
    assert of.live(3).rungs[0].yes_qty == 10
    return of


def ask(of: Filling, seconds: float = 8, most_cents: int = 500) -> None:
    of.give(m.ExitRequested(EVENT, int(seconds * SECOND), Cents(most_cents), "home"))


def test_an_exit_rests_then_crosses_and_halts_the_event(holding):
    of = holding
    asked = of.trader.quoting.ladders[0].strategy.asked
    ask(of)
    event = of.live(1)
    assert (event.state, event.exit.stage) == (TradingState.REDUCE_ONLY, Stage.PASSIVE)
    (own,) = event.rungs[0].orders
    assert (own.side, own.price, own.remaining_qty) == (ASK, 51, 10)
    event = of.live(8)
    assert event.state is TradingState.HALTED
    assert (event.exit.over, event.exit.exited_qty, event.exit.left_qty) == ("flat", 10, 0)
    # Ten shares from 50.0 to 48, and a fee of 5 cents.
    assert event.exit.cost_cents == 25
    assert event.rungs[0].orders == ()
    assert of.trader.quoting.ladders[0].strategy.asked == asked
    sold = {row.name: row.fills for row in of.trader.report(of.now_ns).profit.by["strategy"]}
    assert sold["exit"] == 1
    assert of.trader.out.findings == {}
    (over,) = [each for each in of.noted if each.name == "exit_over"]
    assert (over.fields["left"], over.fields["cost_cents"]) == (0, 25)
    assert "exit is over (flat): 0 left, cost 25 cents" in event.restrictions[0].why


def test_an_exit_that_its_cap_does_not_pay_ends_in_its_time_with_what_is_left(holding):
    of = holding
    ask(of, most_cents=12)
    event = of.live(8.2)
    assert (event.exit.over, event.exit.left_qty) == ("its cost cap is reached", 6)
    assert event.exit.cost_cents <= 12
    assert event.state is TradingState.HALTED
    assert of.orders == {}


@pytest.mark.parametrize(
    ("word", "state"),
    [
        (m.ResumeRequested(event=EVENT), TradingState.ACTIVE),
        (m.ResumeRequested(), TradingState.ACTIVE),
        (m.PauseRequested("stop", EVENT), TradingState.HALTED),
        (m.FlattenRequested("slow", EVENT), TradingState.REDUCE_ONLY),
    ],
)
def test_another_command_for_the_event_ends_its_exit(holding, word, state):
    of = holding
    ask(of)
    of.live(1)
    of.give(word)
    event = of.live(1)
    assert (event.state, event.exit) == (state, None)
    assert [each.fields["why"] for each in of.noted if each.name == "exit_over"] == [
        "another command"
    ]


def test_a_paused_series_halts_an_exit_whose_time_runs_on(holding):
    of = holding
    ask(of)
    of.give(m.PauseRequested("lunch"))
    event = of.live(9)
    assert (event.exit.over, event.exit.left_qty) == ("its time is over", 10)
    assert [each for each in of.booked if each.side is model.ShownSide.SELL] == []


def test_an_exit_of_an_unknown_event_is_noted(holding):
    holding.give(m.ExitRequested(msgspec.convert("NONE", str), SECOND, Cents(5), ""))
    assert "event_unknown" in [each.name for each in holding.noted]
    assert not holding.trader.quoting.has_exits


def test_a_strategy_that_raises_does_not_hinder_an_exit(holding):
    of = holding

    def raises(view: EventView) -> Quotes:
        raise RuntimeError("broken")

    of.trader.quoting.ladders[0].strategy.quote = raises  # type: ignore[method-assign]
    assert of.live(1).state is TradingState.HALTED
    ask(of)
    assert of.live(8).exit.over == "flat"


def test_the_last_stage_of_the_wind_down_is_an_exit():
    of = Filling(
        Buys(),
        curfew=CurfewSettings(
            halve_ns=0, reduce_ns=0, exit_ns=12 * SECOND, exit_max_cost_cents=Cents(500)
        ),
    )
    of.ends_ns = of.now_ns + 20 * SECOND
    of.start()
    event = of.live(2.5)
    assert (event.rungs[0].yes_qty, event.exit) == (10, None)
    event = of.live(11)
    assert (event.exit.over, event.exit.cost_cents, event.state) == ("flat", 25, "halted")
    assert event.restrictions[0].source is Source.WIND_DOWN
    of.give(m.ResumeRequested())
    assert of.live(1).state is TradingState.HALTED


def test_a_preview_of_the_report_is_the_one_of_the_trader(holding):
    of = holding
    report = of.trader.report(of.now_ns)
    asked = preview(rungs_of(report.events[0]), Cents(500), 8 * SECOND, report.ticks_through)
    ask(of)
    kept = of.live(0.2).exit.preview
    assert (kept.left_qty, kept.start_qty) == (asked.left_qty, asked.start_qty) == (0, 10)
    assert kept.cost_cents == pytest.approx(asked.cost_cents, abs=2)


def test_the_side_that_reduces_follows_the_route_of_the_shares():
    assert book_side(Outcome.YES, Side.SELL) is ASK is rung(3).side
    assert rung(-3).side is BID
