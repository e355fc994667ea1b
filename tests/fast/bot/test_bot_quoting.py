"""Claims about the series as it is read, and about plans that stand until something changes."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.account.reconciler import FORGET_AFTER_NS, AccountReconciler
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import State
from bot.core.orders.outbox import Outbox
from bot.core.planning.diff import WorkingOrders
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import MarketQuoter
from bot.core.settings import BudgetSettings, RiskSettings, TraderSettings
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from strategies.fixed_spread import FixedSpread
from tests.builders.bot import made
from tests.builders.bot.made import INSTANT, T0
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty
from venue.wire.names import MarketId, ProjectId, Ticker

SERIES = Ticker("ACME-VAL")
RISK = RiskSettings(
    event_loss_cents=Cents(1_000),
    series_loss_cents=Cents(1_000),
    rung_position_qty=Qty(10),
    order_qty=Qty(10),
)


def quoting() -> tuple[QuotingEngine, Outbox]:
    settings = TraderSettings(series_ticker=SERIES, risk=RISK)
    out = Outbox(BudgetSettings())
    desk = OrderManager(settings.staleness, out)
    ledgers = AccountReconciler(settings.staleness, desk, out)
    return QuotingEngine(settings, lambda: Strategy(None), desk, ledgers, out), out


def event(quarter: int, rate: str = "0.0100", resolution: str = INSTANT) -> model.Event:
    ticker = Ticker(f"{SERIES}-27Q{quarter}")
    market = model.Market(
        ticker=Ticker(f"{ticker}-YES"),
        market_id=MarketId(f"aaaaaaaa-0000-4000-8000-00000000000{quarter}"),
        event_ticker=ticker,
        project_market_id="p",
        name="n",
        outcome_label="yes",
        state=model.MarketState.ACTIVE,
        min_price=Price(1),
        max_price=Price(99),
        tick_size=1,
        maker_fee_rate=rate,
        taker_fee_rate="0.0175",
        open_interest=Qty(0),
        created_at=INSTANT,
        updated_at=INSTANT,
    )
    return model.Event(
        event_ticker=ticker,
        series_ticker=SERIES,
        project_market_id="p",
        project_id=ProjectId("q"),
        title="t",
        category="c",
        status=model.EventStatus.OPEN,
        mutually_exclusive=False,
        resolution_date=resolution,
        markets=(market,),
    )


def test_an_event_whose_fee_cannot_be_read_is_left_out_and_told_and_the_others_are_kept():
    series, out = quoting()
    series.take_series([event(1, rate="a lot"), event(2)], T0, T0)
    assert [ladder.event.event_ticker for ladder in series.ladders] == ["ACME-VAL-27Q2"]
    assert "ACME-VAL-27Q1" in out.findings["event_unreadable"]


def test_an_event_whose_strategy_cannot_be_made_is_pulled_and_quoted_once_it_can_be():
    tries = iter([False, False, True])

    def make() -> Strategy:
        if not next(tries):
            raise RuntimeError("its file is being written")
        return FixedSpread(FixedSpread.Params())

    thin = Thin([60], make)
    thin.start()
    assert "its file is being written" in thin.trader.out.findings["strategy_at_fault"]
    assert not thin.orders
    thin.run(15)
    assert len(thin.orders) == 2
    assert not thin.trader.out.findings


def test_a_strategy_that_is_made_late_goes_by_its_own_name_and_has_its_own_calls_counted():
    """Of the calls that took too long those are its own that its stop watch has counted."""
    tries = iter([False, False, False, True])
    asked: list[EventView] = []

    class Late(FixedSpread):
        def quote(self, view: EventView) -> Quotes:
            asked.append(view)
            return super().quote(view)

    def make() -> Strategy:
        if not next(tries):
            raise RuntimeError("its file is being written")
        return Late(FixedSpread.Params())

    thin = Thin([60], make)
    thin.start()
    thin.run(30)
    (ladder,) = thin.trader.quoting.ladders
    assert ladder.health.calls == len(asked) > 0
    tags = [own.tag for own in thin.trader.desk.live(ladder.rungs[0].market_id)]
    assert {tag.strategy for tag in tags if tag is not None} == {FixedSpread.name}


def ladder_of(*strikes: int) -> list[model.Market]:
    """Rungs of event 1 at these strikes, in this order."""
    (market,) = event(1).markets
    return [
        msgspec.structs.replace(
            market,
            ticker=Ticker(f"{market.event_ticker}-{strike}B"),
            market_id=MarketId(f"aaaaaaaa-0000-4000-8000-000000000{strike}"),
            strike_value=str(strike),
        )
        for strike in strikes
    ]


def read_rungs(series: QuotingEngine, at_ns: int, *markets: model.Market) -> None:
    """A read of the series that shows event 1 with these rungs."""
    series.take_series([msgspec.structs.replace(event(1), markets=markets)], at_ns, at_ns)


def test_fees_that_changed_in_a_read_that_breaks_off_count_in_the_limits_once_it_is_whole():
    series, _ = quoting()
    rungs = ladder_of(100, 200)
    read_rungs(series, T0, *rungs)
    (ladder,) = series.ladders
    series.weighing.exposure(ladder)
    dearer = msgspec.structs.replace(rungs[0], taker_fee_rate="0.5000")
    unreadable = msgspec.structs.replace(rungs[1], maker_fee_rate="a lot")
    read_rungs(series, T0 + 1, dearer, unreadable)
    read_rungs(series, T0 + 2, dearer, rungs[1])
    # 50 cents, and half of a quarter of a dollar
    assert series.weighing.exposure(ladder).rungs[0].bid_loss_cents[50] == 63


def test_a_strike_that_the_venue_corrects_puts_the_ladder_in_order_anew():
    series, _ = quoting()
    rungs = ladder_of(100, 200, 300)
    read_rungs(series, T0, *rungs)
    (ladder,) = series.ladders
    exposure, curve, strategy = series.weighing.exposure(ladder), ladder.curve, ladder.strategy
    corrected = msgspec.structs.replace(rungs[0], strike_value="250")
    read_rungs(series, T0 + 1, corrected, *rungs[1:])
    ids = [rungs[1].market_id, rungs[0].market_id, rungs[2].market_id]
    assert [rung.market_id for rung in ladder.rungs] == ids
    assert [series.weighing.exposure(ladder).index[each] for each in ids] == [0, 1, 2]
    assert series.weighing.exposure(ladder) is not exposure
    assert ladder.curve is not curve
    assert ladder.strategy is not strategy


def test_a_corrected_strike_amid_a_read_that_breaks_off_counts_once_it_is_whole():
    series, _ = quoting()
    rungs = ladder_of(100, 200)
    read_rungs(series, T0, *rungs)
    corrected = msgspec.structs.replace(rungs[0], strike_value="300")
    unreadable = msgspec.structs.replace(rungs[1], maker_fee_rate="a lot")
    read_rungs(series, T0 + 1, corrected, unreadable)
    read_rungs(series, T0 + 2, corrected, rungs[1])
    (ladder,) = series.ladders
    assert [rung.strike for rung in ladder.rungs] == [200.0, 300.0]
    assert series.weighing.exposure(ladder).index[rungs[0].market_id] == 1


def test_a_ladder_whose_strikes_become_alike_is_not_understood_until_they_are_apart():
    series, _ = quoting()
    rungs = ladder_of(100, 200)
    alike = msgspec.structs.replace(rungs[0], strike_value="200")
    read_rungs(series, T0, *rungs)
    (ladder,) = series.ladders
    read_rungs(series, T0 + 1, alike, rungs[1])
    assert not ladder.is_understood
    read_rungs(series, T0 + 2, *rungs)
    assert ladder.is_understood


def test_an_event_that_can_be_read_again_is_a_finding_no_more():
    series, out = quoting()
    series.take_series([event(1, rate="a lot"), event(2)], T0, T0)
    series.take_series([event(1), event(2)], T0 + 1, T0 + 1)
    assert "event_unreadable" not in out.findings
    assert len(series.ladders) == 2


def test_an_event_that_a_shifting_page_shows_twice_is_one_event_as_it_was_shown_last():
    series, _ = quoting()
    series.take_series([event(1), event(2), event(1, rate="0.9000")], T0, T0)
    assert [ladder.event.event_ticker[-2:] for ladder in series.ladders] == ["Q1", "Q2"]
    [rung] = series.ladders[0].rungs
    assert series._rungs[rung.market_id] is rung
    assert rung.maker_rate == FeeRate.parse("0.9")


def test_shares_of_a_rung_whose_resolution_was_taken_back_are_not_settled_for_no_cash():
    series, _ = quoting()
    ledgers, shown = series._ledgers, event(1)
    (market,) = shown.markets
    resolved = msgspec.structs.replace(market, state=model.MarketState.RESOLVED)
    over = msgspec.structs.replace(shown, markets=(resolved,))

    def read(at_s: int, cents: int, *fills: model.Fill) -> None:
        at_ns = T0 + at_s * NS_PER_SECOND
        ledgers.on_balance(model.Balance(Cents(cents), Cents(0), Cents(cents)), at_ns, at_ns)
        ledgers.on_positions((), at_ns, at_ns)
        ledgers.on_fills(fills, at_ns + 3 * NS_PER_SECOND, at_ns + 3 * NS_PER_SECOND, ())

    series.take_series([shown], T0, T0)
    read(0, 10_000)
    ledgers.open_books(T0)
    series.take_series([over], T0 + NS_PER_SECOND, T0 + NS_PER_SECOND)
    read(5, 10_000)
    again_ns = T0 + 10 * NS_PER_SECOND
    series.take_series([shown], again_ns, again_ns)
    own = made.own(State.OPEN, price=40)
    fill = msgspec.structs.replace(made.fill(own, 1, 5), market_id=market.market_id)
    read(10, 10_000, fill)
    read(20, 9_800)
    assert ledgers.holdings(market.market_id) == (5, 0)


def test_an_older_read_that_shows_a_rung_active_does_not_take_its_resolution_back():
    series, _ = quoting()
    ledgers, shown = series._ledgers, event(1)
    (market,) = shown.markets
    resolved = msgspec.structs.replace(market, state=model.MarketState.RESOLVED)
    series.take_series([msgspec.structs.replace(shown, markets=(resolved,))], T0, T0)
    series.take_series([shown], T0 + NS_PER_SECOND, T0 + NS_PER_SECOND)
    assert market.market_id in ledgers.settlement.resolved_ns


def test_rungs_that_a_settled_event_no_longer_shows_have_resolved_and_are_kept_until_they_paid():
    series, _ = quoting()
    ledgers, shown = series._ledgers, event(1)
    (market,) = shown.markets
    series.take_series([shown], T0, T0)
    ledgers.book.take_over(market.market_id, market.event_ticker, Outcome.YES, 5)
    over = msgspec.structs.replace(shown, markets=(), status=model.EventStatus.SETTLED)
    series.take_series([over], T0 + 1, T0 + 1)
    assert ledgers.holdings(market.market_id) == (5, 0)
    assert market.market_id in ledgers.settlement.resolved_ns
    ledgers.book.settle(market.market_id, Outcome.YES)
    series.take_series([over], T0 + 2, T0 + 1 + FORGET_AFTER_NS)
    assert series.ladders == []
    assert not ledgers.settlement.is_listed(market.market_id)
    assert not ledgers._rates


def test_an_event_whose_end_cannot_be_read_is_left_out():
    series, _ = quoting()
    series.take_series([event(1, resolution="soon")], T0, T0)
    assert series.ladders == []


def test_other_fee_rates_are_taken_in_at_the_next_read():
    series, _ = quoting()
    series.take_series([event(1)], T0, T0)
    rung = series.ladders[0].rungs[0]
    terms_before = rung.terms
    series.take_series([event(1, rate="0.9000")], T0, T0 + 1)
    assert rung.maker_rate == FeeRate.parse("0.9")
    assert rung.terms != terms_before


def test_a_market_that_is_the_same_again_changes_nothing():
    series, _ = quoting()
    series.take_series([event(1)], T0, T0)
    ladder = series.ladders[0]
    ladder.needs_decision = False
    same = msgspec.json.decode(msgspec.json.encode(event(1)), type=model.Event)
    series.take_series([same], T0, T0 + 1)
    assert not ladder.needs_decision


# --- what a limit denies --------------------------------------------------------------------------


@pytest.mark.parametrize(("pulled", "left"), [(False, 390), (True, 1_000)])
def test_an_event_is_decided_within_what_others_leave_of_the_series_as_they_are_wanted(
    pulled, left
):
    series, _ = quoting()
    series.take_series([event(1), event(2)], T0, T0)
    one, other = series.ladders
    [rung] = one.rungs
    rung.blocked = ""
    quote = Quote(BookSide.BID, Price(60), Qty(10))  # 61 cents a share, the fee included
    bounds = series.weighing.bounds(one, wanted=True)
    admitted = series.weighing.trim(one, {rung.market_id: (quote,)}, bounds)
    one.want(admitted, pulled=pulled)
    assert series.weighing.bounds(other, wanted=True).loss_cents == left
    assert series.weighing.bounds(other).loss_cents == 1_000


def test_a_fill_of_a_rung_that_is_not_listed_counts_against_its_event():
    series, _ = quoting()
    series.take_series([event(1), event(2)], T0, T0)
    one, other = series.ladders
    assert (series.weighing.worst_cents(one), series.weighing.worst_cents(other)) == (0, 0)
    order = made.own(price=79)
    order.market_id = MarketId("aaaaaaaa-0000-4000-8000-000000000009")
    bought = msgspec.structs.replace(
        made.fill(order, number=1, qty=1), event_ticker=one.event.event_ticker
    )
    series._ledgers.book.book_fill(bought)
    series.on_holdings_change(order.market_id)
    assert series.weighing.worst_cents(one) == -79 - bought.fee_cents
    assert series.weighing.worst_cents(other) == 0


def denied(monkeypatch) -> tuple[Thin, list[int]]:
    """A rung whose wish a limit has just denied; the list counts the plans made since."""
    thin = Thin([70, 40], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    rung = thin.rung(0)
    rung.want((Quote(BookSide.BID, Price(60), Qty(10)),), pulled=True)
    thin.trader.quoting.decide(True, thin.now_ns)
    for wish in rung.wishes:
        rung.denied(wish)
    made: list[int] = []
    plan = MarketQuoter.plan_orders

    def noted(planned: MarketQuoter, ours: WorkingOrders, now_ns: int) -> None:
        if planned is rung:
            made.append(now_ns)
        plan(planned, ours, now_ns)

    monkeypatch.setattr(MarketQuoter, "plan_orders", noted)
    return thin, made


def decide(thin: Thin, later_ns: int = 0) -> None:
    for ladder in thin.trader.quoting.ladders:
        ladder.needs_decision = False
    thin.trader.quoting.decide(True, thin.now_ns + later_ns)


def test_a_denied_wish_is_not_made_again_at_the_next_beats(monkeypatch):
    thin, made = denied(monkeypatch)
    assert thin.rung(0).wishes == ()
    decide(thin, 10_000_000)
    decide(thin, 999_999_999)
    assert made == []


def test_a_denied_wish_is_made_again_after_a_second(monkeypatch):
    thin, made = denied(monkeypatch)
    decide(thin, 1_000_000_000)
    assert made == [thin.now_ns + 1_000_000_000]


@pytest.mark.parametrize("index", [0, 1])
def test_a_denied_wish_is_made_again_when_orders_of_its_event_change(index, monkeypatch):
    thin, made = denied(monkeypatch)
    thin.rung(index).orders_changed()
    decide(thin)
    assert made == [thin.now_ns]


def test_a_denied_wish_is_made_again_when_fills_are_booked(monkeypatch):
    thin, made = denied(monkeypatch)
    thin.trader.quoting.on_holdings_change(thin.markets[1].market_id)
    decide(thin)
    assert made == [thin.now_ns]


def test_a_denied_wish_is_made_again_when_something_else_is_wanted(monkeypatch):
    thin, made = denied(monkeypatch)
    thin.rung(0).want((Quote(BookSide.BID, Price(61), Qty(10)),), pulled=False)
    decide(thin)
    assert made == [thin.now_ns]


def test_a_wish_that_was_not_denied_is_there_at_the_next_beat_as_it_is():
    thin = Thin([70], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    rung = thin.rung(0)
    rung.want((), pulled=True)
    first, _ = thin.trader.quoting.decide(True, thin.now_ns)
    decide(thin, 1)
    again, _ = thin.trader.quoting.decide(True, thin.now_ns + 2)
    assert [wish for _, wish in again] == [wish for _, wish in first] != []


class TwoBids(Strategy):
    """A bid three cents below the best of others' offers, and one ten cents below that."""

    def quote(self, view: EventView) -> Quotes:
        (rung,) = view.rungs
        near = (rung.best_ask or 50) - 3
        return {
            rung.market_id: tuple(
                Quote(BookSide.BID, Price(price), Qty(5)) for price in (near, near - 10)
            )
        }


def test_a_write_that_lost_a_race_parks_no_side_whose_funds_were_short_before():
    class Short(Thin):
        """A venue on which cash is short for a second bid, and whose amends come too late."""

        parked: tuple[str | int, ...] = ()

        def answer(self, request: m.Request) -> m.Answer:
            if isinstance(request, m.Create) and self.orders:
                return m.Rejected(422, "insufficient_balance", "")
            if isinstance(request, m.AmendResting):
                self.orders.pop(request.order_id, None)
                return m.Rejected(422, "order_not_cancelable", "")
            return super().answer(request)

        def told(self, effect: m.Effect) -> None:
            if isinstance(effect, m.Noted) and effect.name == "side_parked":
                self.parked = (*self.parked, effect.fields["code"])

    venue = Short([50], lambda: TwoBids(None))
    venue.start()
    venue.run(2)
    assert venue.parked == ("insufficient_balance",)
    venue.mids[0] = 52
    venue.show(0)
    venue.run(5)
    assert any(isinstance(each, m.AmendResting) for each in venue.writes())
    assert set(venue.parked) == {"insufficient_balance"}
