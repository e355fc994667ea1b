"""Profit attribution: it adds up in integers, whatever happens in whatever order."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from bot.core import messages as m
from bot.core.account.markouts import HORIZONS_S, MILLI, OPEN_STRETCHES, Markouts, Moments
from bot.core.account.portfolio import Portfolio
from bot.core.account.profit import DIMENSIONS, FILLS_SHOWN_MAX, PnlTracker
from bot.core.orders.order import Tag, tag_of
from bot.core.orders.outbox import Outbox
from bot.core.report import Against, ProfitReport, ProfitRow
from bot.core.settings import BudgetSettings
from bot.strategy.api import EventView, Quote
from tests.builders.bot import made
from tests.builders.bot.thin import Thin, market
from tests.builders.scale import cases
from tests.builders.strategies.views import rung
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty, Side, canonical
from venue.wire.names import MarketId, OrderId, Ticker

EVENT = Ticker("E")
RUNGS = [MarketId(f"m{index}") for index in range(3)]
T0 = 1_800_000_000 * NS_PER_SECOND
S = NS_PER_SECOND


class Both:
    """The ledger and the account of profit, given the same events."""

    def __init__(self, held_qty: int = 0) -> None:
        """held_qty: YES shares of the first rung that are held at the opening."""
        self.now_ns = T0
        self.out = Outbox(BudgetSettings())
        self.book = Portfolio()
        self.fairs: list[float | None] = [None] * len(RUNGS)
        self.count = 0
        listed = {}
        for index, market_id in enumerate(RUNGS):
            self.book.list_market(market_id, EVENT, FeeRate.parse("0.01"), FeeRate.parse("0.02"))
            market = SimpleNamespace(ticker=f"E-{index}")
            listed[market_id] = SimpleNamespace(market=market, decided=None, is_over=False)
        self.pnl = PnlTracker(self.book, listed, self.out)
        self.book.take_over(RUNGS[0], EVENT, Outcome.YES, held_qty)
        self.pnl.take_in(is_open=True)

    def believe(self, index: int, fair: float | None, bid: int = 40, ask: int = 44) -> None:
        self.fairs[index] = fair
        rungs = tuple(rung(place, each, bid=bid, ask=ask) for place, each in enumerate(self.fairs))
        self.pnl.on_view(EventView(EVENT, True, 1e6, None, rungs), self.now_ns)

    def fill(
        self,
        index: int,
        outcome: Outcome,
        side: Side,
        price: int,
        qty: int,
        late_ns: int = 0,
        tag: Tag | None = None,
        is_known: bool = True,
    ) -> None:
        """is_known: the account of profit learns of it, too."""
        self.count += 1
        booked = self.book.book_fill(
            model.Fill(
                fill_id=f"f{self.count}",
                trade_id="t",
                order_id=OrderId(str(self.count % 3)),
                ticker=Ticker(f"E-{index}"),
                market_id=RUNGS[index],
                event_ticker=EVENT,
                outcome=model.ShownOutcome(outcome.value),
                side=model.ShownSide(side.value),
                outcome_price=Price(price),
                trade_price=canonical(outcome, Price(price)),
                qty=Qty(qty),
                liquidity=model.Liquidity.MAKER,
                created_at=instant.from_ns(self.now_ns - late_ns),
            )
        )
        tag = tag or Tag(self.count % 3, "mine", "quote bid")
        if is_known:
            self.pnl.on_fill(booked, tag, 0, self.now_ns)
        self.pnl.on_ledger_change(RUNGS[index])

    def settle(self, index: int, winner: Outcome) -> None:
        self.book.settle(RUNGS[index], winner)
        self.pnl.on_ledger_change(RUNGS[index])
        self.tick()

    def tick(self) -> None:
        self.pnl.on_tick(self.now_ns, is_open=True)

    def report(self) -> ProfitReport:
        return self.pnl.report()

    def difference(self) -> int:
        return self.report().difference_millicents

    def total(self) -> ProfitRow:
        return self.report().total

    def net_qty(self, index: int) -> int:
        yes_qty, no_qty = self.book.holdings(RUNGS[index])
        return yes_qty - no_qty


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("fill"),
            st.integers(0, 2),
            st.sampled_from(Outcome),
            st.sampled_from(Side),
            st.integers(1, 99),
            st.integers(1, 30),
            st.sampled_from([0, S, 20 * S, 100 * S]),
        ),
        st.tuples(
            st.just("believe"), st.integers(0, 2), st.one_of(st.none(), st.floats(0.5, 99.5))
        ),
        st.tuples(st.just("settle"), st.integers(0, 2), st.sampled_from(Outcome)),
        st.tuples(st.just("wait"), st.integers(1, 40 * S)),
    ),
    max_size=40,
)


def carry_out(steps: list[tuple]) -> Both:
    both = Both()
    for step in steps:
        if step[0] == "wait":
            both.now_ns += step[1]
            both.tick()
        else:
            getattr(both, step[0])(*step[1:])
        assert both.difference() == 0
    return both


@settings(max_examples=cases(5_000, quick=60), deadline=None)
@given(STEPS)
def test_profit_and_ledger_agree_after_every_step(steps):
    carry_out(steps)


@settings(max_examples=cases(5_000, quick=60), deadline=None)
@given(STEPS)
def test_every_split_of_the_profit_adds_up_to_the_total(steps):
    report = carry_out(steps).report()
    total = report.total
    parts = total.spread_millicents + total.adverse_millicents + total.drift_millicents
    assert parts - MILLI * total.fees_cents == total.profit_millicents
    whole = report.realised_millicents + report.settled_millicents + report.open_millicents
    assert whole - MILLI * total.fees_cents == total.profit_millicents
    for name in DIMENSIONS:
        rows = report.by[name]
        for field in ("fills", "qty", "fees_cents", "profit_millicents", "adverse_millicents"):
            assert sum(getattr(row, field) for row in rows) == getattr(total, field)


@settings(max_examples=cases(5_000, quick=60), deadline=None)
@given(STEPS)
def test_inventory_profit_is_the_sum_of_holdings_times_each_move(steps):
    """The same by the definition: q * dF at every move of the value."""
    both, inventory, over = Both(), 0, set()
    for index in range(len(RUNGS)):
        both.believe(index, 50.0)
    for step in steps:
        # A value is what was believed before: let it be a moment old when a fill comes.
        both.now_ns += 1
        before = [both.pnl.value(market_id) or 0 for market_id in RUNGS]
        held = [both.net_qty(index) for index in range(len(RUNGS))]
        if step[0] == "wait":
            both.now_ns += step[1]
        elif step[0] != "fill" or step[1] not in over:
            getattr(both, step[0])(*step[1:6])
        if step[0] == "settle":
            over.add(step[1])
        after = [both.pnl.value(market_id) or 0 for market_id in RUNGS]
        inventory += sum(q * (y - x) for q, x, y in zip(held, before, after, strict=True))
    total = both.total()
    assert total.adverse_millicents + total.drift_millicents == inventory


def bought(price: int = 48, qty: int = 1, outcome: Outcome = Outcome.YES, side: Side = Side.BUY):
    """Both, after one fill of the first rung at a fair value of 50."""
    both = Both()
    both.believe(0, 50.0)
    both.now_ns += 1
    both.fill(0, outcome, side, price, qty)
    return both


def test_a_bid_below_fair_earns_its_distance_and_then_the_move_of_the_value():
    both = bought(qty=10)
    both.believe(0, 49.0)
    total = both.total()
    assert (total.spread_millicents, total.adverse_millicents) == (20_000, -10_000)
    assert total.drift_millicents == 0
    assert total.fees_cents == 3  # 0.01 * 10 * 0.48 * 0.52 dollars, rounded up


@pytest.mark.parametrize(
    ("outcome", "side", "price"), [(Outcome.YES, Side.SELL, 53), (Outcome.NO, Side.BUY, 47)]
)
def test_a_sale_of_yes_and_a_purchase_of_no_earn_the_same_spread(outcome, side, price):
    assert bought(price, 10, outcome, side).total().spread_millicents == 30_000


def test_a_move_ten_seconds_after_a_fill_is_drift():
    both = bought()
    both.now_ns += 5 * S
    both.believe(0, 47.0)
    both.now_ns += 5 * S
    both.tick()
    both.believe(0, 60.0)
    total = both.total()
    assert total.adverse_millicents == -3_000
    assert total.drift_millicents == 13_000


def test_a_late_fill_is_compared_with_the_value_before_it():
    both = Both()
    both.believe(0, 50.0)
    both.now_ns += 2 * S
    both.believe(0, 40.0)
    both.now_ns += S
    both.fill(0, Outcome.YES, Side.BUY, 48, 1, late_ns=2 * S)
    assert both.total().spread_millicents == 2_000
    both.tick()
    one_second = both.total().markouts[0]
    assert (one_second.horizon_s, one_second.mean_cents) == (1, -8.0)


@pytest.mark.parametrize("settles", [False, True])
def test_a_value_more_than_a_minute_after_a_horizon_is_no_markout(settles):
    both = Both()
    both.believe(0, 50.0)
    for _ in range(6):  # what was believed meanwhile is no longer remembered
        both.now_ns += 60 * S
        both.believe(0, 20.0)
    if settles:
        both.settle(0, Outcome.NO)
    both.fill(0, Outcome.YES, Side.BUY, 48, 1, late_ns=6 * 60 * S)
    both.tick()
    sampled = {(row.against, row.horizon_s) for row in both.total().markouts}
    assert sampled == {(against, 300) for against in Against}
    assert both.report().unsampled == 6


def test_a_fill_is_not_compared_with_a_value_of_its_own_instant():
    both = Both()
    both.believe(0, 50.0)
    both.now_ns += S
    both.believe(0, 45.0)
    both.fill(0, Outcome.YES, Side.BUY, 48, 1)
    assert both.total().spread_millicents == 2_000


def lean(both: Both, bid_qty: int, ask_qty: int, flow_qty: float = 0.0) -> None:
    """The book of the first rung shows these shares at 40 and 44, its takers this flow; half a
    second passes."""
    shown = replace(
        rung(0, 50.0),
        bids=((Price(40), Qty(bid_qty)),),
        asks=((Price(44), Qty(ask_qty)),),
        traded_flow_qty=flow_qty,
    )
    both.pnl.on_view(EventView(EVENT, True, 1e6, None, (shown,)), both.now_ns)
    both.now_ns += S // 2


@pytest.mark.parametrize(("side", "lean_of_fill"), [(Side.BUY, "with"), (Side.SELL, "against")])
def test_a_fill_is_grouped_by_the_book_and_the_takers_before_it(side, lean_of_fill):
    both = Both()
    lean(both, 90, 30, flow_qty=60.0)
    both.fill(0, Outcome.YES, side, 42, 5)
    lean(both, 30, 90, flow_qty=-60.0)
    by = both.report().by
    for name in ("lean", "flow"):
        assert [(row.name, row.qty) for row in by[name]] == [(lean_of_fill, 5)]


def test_the_group_of_a_late_fill_is_that_of_its_own_time():
    both = Both()
    lean(both, 90, 30)
    lean(both, 30, 90)
    both.fill(0, Outcome.YES, Side.BUY, 42, 5, late_ns=3 * S // 4)
    assert [row.name for row in both.report().by["lean"]] == ["with"]


def test_the_group_of_a_fill_before_every_view_is_unknown():
    both = Both()
    both.fill(0, Outcome.YES, Side.BUY, 42, 5)
    both.now_ns += S
    lean(both, 90, 30)
    both.fill(0, Outcome.YES, Side.BUY, 42, 5, late_ns=10 * S)
    by = both.report().by
    assert [(row.name, row.fills) for row in by["lean"]] == [("unknown", 2)]
    assert [(row.name, row.fills) for row in by["flow"]] == [("unknown", 2)]


def test_opening_shares_count_from_the_first_known_value():
    both = Both(held_qty=10)
    both.believe(0, 50.0)
    both.tick()
    both.now_ns += S
    both.believe(0, 51.0)
    # Drawn once or often: what it counts from was taken in before.
    report = both.report()
    assert report.total.profit_millicents == 10_000
    assert [row.name for row in report.by["reason"]] == ["opening"]


def test_a_correction_of_the_opening_shares_changes_no_profit():
    both = Both(held_qty=10)
    both.believe(0, 50.0)
    both.tick()
    both.fill(0, Outcome.YES, Side.BUY, 48, 4)
    both.believe(0, 51.0)
    before = both.total().profit_millicents
    both.book.take_over(RUNGS[0], EVENT, Outcome.YES, -4)
    both.pnl.on_ledger_change(RUNGS[0])
    both.tick()
    assert both.total().profit_millicents == before
    assert both.difference() == 0


def test_shares_held_to_the_end_are_settled_and_sold_ones_realised():
    both = Both()
    both.believe(0, 50.0)
    both.fill(0, Outcome.YES, Side.BUY, 40, 10)
    both.fill(0, Outcome.YES, Side.SELL, 43, 4)
    both.settle(0, Outcome.YES)
    report = both.report()
    assert report.realised_millicents == 12_000
    assert report.settled_millicents == 360_000
    assert report.open_millicents == 0


def test_a_fill_booked_after_its_rung_settled_is_paid_out_at_once():
    both = Both()
    both.believe(0, 50.0)
    both.now_ns += 1
    both.settle(0, Outcome.NO)
    both.fill(0, Outcome.NO, Side.BUY, 45, 2, late_ns=1)
    report = both.report()
    assert report.settled_millicents == 2 * (55 * MILLI)
    assert report.total.spread_millicents == 2 * 5_000
    assert both.difference() == 0


def test_the_profit_keeps_a_fill_of_a_forgotten_rung():
    both = Both()
    both.believe(0, 50.0)
    both.settle(0, Outcome.YES)
    both.fill(0, Outcome.YES, Side.BUY, 48, 1)
    both.pnl.forget_event(EVENT, RUNGS)
    assert both.total().profit_millicents == 52_000 - MILLI * both.total().fees_cents


def test_a_shortfall_of_the_ledger_raises_an_alert():
    both = Both()
    both.believe(0, 50.0)
    both.fill(0, Outcome.YES, Side.BUY, 48, 10)
    both.book.take_over(RUNGS[0], EVENT, Outcome.YES, -1)
    assert both.difference() == -MILLI * 100
    both.tick()  # shares that were not held at the opening after all
    assert both.difference() == 0
    both.fill(0, Outcome.YES, Side.BUY, 48, 1, is_known=False)
    both.tick()
    assert "profit_unexplained" in both.out.findings


def test_shares_taken_by_a_payment_without_a_winner_are_worth_what_was_paid():
    both = Both()
    both.believe(0, 50.0)
    both.fill(0, Outcome.YES, Side.BUY, 48, 10)
    both.book.pay(RUNGS[0], Cents(30))
    both.pnl.on_ledger_change(RUNGS[0])
    both.tick()
    assert both.difference() == 0
    assert both.report().settled_millicents == 10 * (3 - 48) * MILLI


@pytest.mark.parametrize(("outcome", "qty"), [(Outcome.YES, 7), (Outcome.NO, 7), (Outcome.YES, 3)])
def test_a_payment_that_no_whole_value_of_a_share_explains_leaves_no_difference(outcome, qty):
    both = Both()
    both.believe(0, 50.0)
    both.fill(0, outcome, Side.BUY, 48, qty)
    both.book.pay(RUNGS[0], Cents(100))
    both.pnl.on_ledger_change(RUNGS[0])
    both.tick()
    assert both.difference() == 0


def test_values_of_a_dimension_beyond_the_bound_are_summed_as_other():
    both = Both()
    both.believe(0, 50.0)
    for number in range(100):
        both.fill(0, Outcome.YES, Side.BUY, 48, 1, tag=Tag(0, "mine", f"reason {number}"))
    rows = both.report().by["reason"]
    assert len(rows) == 65
    assert next(row.fills for row in rows if row.name == "other") == 36


@given(
    st.lists(
        st.tuples(st.integers(-9_999, 9_999), st.integers(1, 50), st.integers(0, 6)),
        min_size=1,
        max_size=30,
    )
)
def test_the_error_of_a_mean_is_the_clustered_error(rows):
    rows = sorted(rows, key=lambda row: row[2])
    moments = Moments()
    for row in rows:
        moments.add_markout(*row)
    shares = sum(qty for _, qty, _ in rows)
    mean = sum(markout * qty for markout, qty, _ in rows) / shares
    assert moments.mean == pytest.approx(mean)
    clusters = sorted({bucket for _, _, bucket in rows})
    sums = [sum(q * (x - mean) for x, q, b in rows if b == bucket) for bucket in clusters]
    count = len(clusters)
    if count < 2:
        assert moments.error is None
    else:
        squares = sum(each * each for each in sums) * count / (count - 1)
        assert moments.error == pytest.approx(math.sqrt(squares) / shares, abs=1e-6)


def test_fills_of_one_period_are_one_cluster():
    together = Markouts()
    for second in range(5):
        together.add_markout(Against.FAIR, 1, 1_000, 1, T0 + second * S)
    (row,) = together.rows()
    assert (row.fills, row.mean_cents, row.error_cents) == (5, 1.0, None)


def test_a_late_markout_counts_with_the_period_of_its_fill():
    in_order, late = Moments(), Moments()
    rows = [(5_000, 9, 1), (6_000, 9, 1), (-4_000, 9, 2), (-5_000, 9, 2), (100, 1, 3)]
    for row in rows:
        in_order.add_markout(*row)
    for row in (rows[0], rows[2], rows[4], rows[1], rows[3]):
        late.add_markout(*row)
    assert late.error == in_order.error


def test_only_a_bounded_number_of_periods_may_still_grow():
    moments = Moments()
    for bucket in (*range(OPEN_STRETCHES + 1), 0):
        moments.add_markout(1_000 * bucket, 1, bucket)
    assert (moments.fills, moments.mean) == (OPEN_STRETCHES + 2, 3_600)


def test_a_markout_against_the_mid_waits_for_a_two_sided_book():
    both = Both()
    both.believe(0, 50.0, bid=40, ask=44)
    both.now_ns += 1
    both.fill(0, Outcome.YES, Side.BUY, 41, 1)
    both.pnl.on_view(EventView(EVENT, True, 1e6, None, (rung(0, 50.0, bid=40),)), both.now_ns)
    both.now_ns += S
    both.tick()
    assert [row.against for row in both.total().markouts] == [Against.FAIR]
    both.now_ns += S
    both.believe(0, 50.0, bid=44, ask=48)
    both.tick()
    mids = [row for row in both.total().markouts if row.against is Against.MID]
    assert [(row.horizon_s, row.mean_cents) for row in mids] == [(1, 5.0)]


def test_all_four_horizons_are_sampled():
    both = bought()
    for _ in range(310):
        both.now_ns += S
        both.tick()
    sampled = [(row.against, row.horizon_s) for row in both.total().markouts]
    assert sampled == [(against, horizon) for against in Against for horizon in HORIZONS_S]
    assert both.report().unsampled == 0


@pytest.mark.parametrize(("side", "markouts"), [(Side.BUY, (1.0, 3.0)), (Side.SELL, (-1.0, -3.0))])
def test_a_fill_is_shown_with_its_fair_value_and_markouts(side, markouts):
    both = Both()
    for seconds, fair in ((1, 42.0), (2, 44.0), (9, 42.0)):
        both.now_ns += seconds * S
        both.believe(0, fair)
        both.tick()
        if seconds == 1:
            both.fill(0, Outcome.YES, side, 41, 5)
    [shown] = both.pnl.last_fills()
    assert (shown.price, shown.qty, shown.fair_cents) == (41, 5, 42.0)
    assert shown.markouts_cents == (*markouts, None, None)


def test_the_newest_fills_are_shown_first_up_to_a_limit():
    both = Both()
    both.believe(0, 42.0)
    for price in range(1, FILLS_SHOWN_MAX + 20):
        both.fill(0, Outcome.YES, Side.BUY, price, 1)
    prices = [fill.price for fill in both.pnl.last_fills()]
    assert prices == list(range(FILLS_SHOWN_MAX + 19, 19, -1))


def test_levels_are_counted_from_the_touch_outward():
    planned = [
        Quote(side, Price(price), Qty(1))
        for side, price in [(BookSide.BID, 48), (BookSide.BID, 45), (BookSide.ASK, 52)]
    ]
    tags = [tag_of(planned, BookSide.BID, Price(price), "s", "quote bid") for price in (48, 45)]
    assert [tag.level for tag in tags] == [0, 1]
    assert tag_of(planned, BookSide.ASK, Price(52), "s", "quote ask").level == 0
    assert tag_of(planned, BookSide.ASK, Price(48), "s", "quote ask").level == -1


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("moved from 48 to 47", "moved"),
        ("quote bid", "quote bid"),
        ("take ask 50 from shares held", "take ask from shares held"),
    ],
)
def test_the_reason_of_a_fill_has_no_numbers(why, reason):
    assert tag_of((), BookSide.BID, Price(48), "s", why).reason == reason


LATE = 2


class ByHand(Thin):
    """A venue of two rungs where a person trades on our account; a third rung comes later."""

    def __init__(self) -> None:
        super().__init__([70, 50])
        self.booked: list[model.Fill] = []

    def answer(self, request: m.Request) -> m.Answer:
        match request:
            case m.ReadFills():
                return m.Ok(m.FillsBody(tuple(reversed(self.booked)), ""))
            case m.ReadBalance():
                paid = sum(each.qty * each.outcome_price + 1 for each in self.booked)
                cash = Cents(10**9 - paid)
                return m.Ok(m.BalanceBody(model.Balance(cash, Cents(0), cash)))
            case m.ReadPositions():
                return m.Ok(m.PositionsBody(tuple(map(_held, self.booked)), ""))
            case _:
                return super().answer(request)

    def bought_by_hand(self, index: int) -> None:
        """Ten shares of a rung at 30 cents, and a cent of fee."""
        number = len(self.booked) + 1
        fill = made.fill(made.own(price=30, number=900 + number), number, 10, fee_cents=1)
        self.booked.append(
            replace(
                fill,
                ticker=market(index).ticker,
                market_id=market(index).market_id,
                created_at=instant.from_ns(self.now_ns),
            )
        )

    def list_the_third(self) -> None:
        """The ladder has one rung more from now on."""
        self.markets.append(market(LATE))
        self.mids.append(30)

    def live(self, seconds: float) -> None:
        """Time passes, and every book is shown each second."""
        self.run(seconds, self.show_all, NS_PER_SECOND)

    def difference(self) -> int:
        """What the account of fills and the ledger differ by."""
        profit = self.trader.report(self.now_ns).profit
        assert profit is not None
        return profit.difference_millicents


def _held(fill: model.Fill) -> model.Position:
    return model.Position(ticker=fill.ticker, outcome=model.ShownOutcome.YES, qty=fill.qty)


def quoting_by_hand() -> ByHand:
    venue = ByHand()
    venue.start()
    venue.live(10)
    return venue


def test_a_fill_by_hand_on_a_rung_listed_later_is_explained():
    venue = quoting_by_hand()
    venue.bought_by_hand(LATE)
    venue.live(60)
    venue.list_the_third()
    venue.live(90)
    assert venue.rung(LATE).market_id == market(LATE).market_id
    assert venue.difference() == 0
    venue.bought_by_hand(0)
    venue.live(60)
    assert venue.difference() == 0
    assert not venue.trader.out.findings


def test_a_fill_by_hand_booked_right_after_its_rung_was_listed_counts_once():
    venue = quoting_by_hand()
    venue.list_the_third()
    [event] = venue.answer(m.ReadSeries("", "")).body.events
    quoting, ledgers = venue.trader.quoting, venue.trader.ledgers
    quoting.take_series([event], venue.now_ns, venue.now_ns)
    venue.bought_by_hand(LATE)
    change = ledgers.on_fills(venue.booked, venue.now_ns, venue.now_ns, ())
    quoting.on_account_change(change, venue.now_ns)
    quoting.learn(change, venue.now_ns)
    venue.live(60)
    assert quoting.pnl.report().total.qty == 10
    assert venue.difference() == 0
    assert not venue.trader.out.findings
