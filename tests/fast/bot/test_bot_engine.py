"""Reads of the series, and plans that stay until something changes."""

import msgspec
import pytest

from bot.core import messages as m
from bot.core.account.reconciler import FORGET_AFTER_NS
from bot.core.orders.order import State
from bot.core.planning.diff import WorkingOrders
from bot.core.quoting.event_quoter import MarketQuoter
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from strategies.fixed_spread import FixedSpread
from tests.builders.bot import made
from tests.builders.bot.engines import Engine, engine, event
from tests.builders.bot.made import T0
from tests.builders.bot.thin import Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Cents, FeeRate, Outcome, Price, Qty
from venue.wire.names import MarketId, Ticker


@pytest.mark.parametrize("fault", [{"rate": "a lot"}, {"resolution": "soon"}])
def test_an_unreadable_event_is_left_out_with_an_alert_until_it_can_be_read(fault):
    series, out = engine(event(1, **fault), event(2))
    assert [ladder.event.event_ticker for ladder in series.ladders] == ["ACME-VAL-27Q2"]
    assert "ACME-VAL-27Q1" in out.findings["event_unreadable"]
    series.read(T0 + 1, event(1), event(2))
    assert "event_unreadable" not in out.findings
    assert len(series.ladders) == 2


def test_an_event_is_quoted_once_its_strategy_can_be_created():
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


def read_rungs(series: Engine, at_ns: int, *markets: model.Market) -> None:
    """A read of the series that shows event 1 with these rungs."""
    series.take_series([msgspec.structs.replace(event(1), markets=markets)], at_ns, at_ns)


@pytest.mark.parametrize(
    ("change", "worst_bid_loss", "order"),
    [({"taker_fee_rate": "0.5000"}, 63, [0, 1]), ({"strike_value": "300"}, 51, [1, 0])],
    ids=["a fee", "a strike"],
)
def test_a_change_in_a_read_that_breaks_off_counts_once_a_read_is_whole(
    change, worst_bid_loss, order
):
    series, _ = engine()
    rungs = ladder_of(100, 200)
    read_rungs(series, T0, *rungs)
    (ladder,) = series.ladders
    series.weighing.exposure(ladder)
    changed = msgspec.structs.replace(rungs[0], **change)
    unreadable = msgspec.structs.replace(rungs[1], maker_fee_rate="a lot")
    read_rungs(series, T0 + 1, changed, unreadable)
    read_rungs(series, T0 + 2, changed, rungs[1])
    exposure = series.weighing.exposure(ladder)
    place = exposure.index[rungs[0].market_id]
    assert exposure.rungs[place].bid_loss_cents[50] == worst_bid_loss
    assert [rung.market_id for rung in ladder.rungs] == [rungs[at].market_id for at in order]


def test_a_corrected_strike_reorders_the_ladder():
    series, _ = engine()
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


def test_a_ladder_with_equal_strikes_is_not_understood():
    series, _ = engine()
    rungs = ladder_of(100, 200)
    alike = msgspec.structs.replace(rungs[0], strike_value="200")
    read_rungs(series, T0, *rungs)
    (ladder,) = series.ladders
    read_rungs(series, T0 + 1, alike, rungs[1])
    assert not ladder.is_understood
    read_rungs(series, T0 + 2, *rungs)
    assert ladder.is_understood


def test_an_event_listed_twice_is_taken_as_listed_last():
    series, _ = engine(event(1), event(2), event(1, rate="0.9000"))
    assert [ladder.event.event_ticker[-2:] for ladder in series.ladders] == ["Q1", "Q2"]
    [rung] = series.ladders[0].rungs
    assert series.rung(rung.market_id) is rung
    assert rung.maker_rate == FeeRate.parse("0.9")


def test_shares_of_a_rung_whose_resolution_was_taken_back_are_not_settled():
    series, _ = engine()
    ledgers, shown = series.ledgers, event(1)
    (market,) = shown.markets
    resolved = msgspec.structs.replace(market, state=model.MarketState.RESOLVED)
    over = msgspec.structs.replace(shown, markets=(resolved,))

    def read(at_s: int, cents: int, *fills: model.Fill) -> None:
        at_ns = T0 + at_s * NS_PER_SECOND
        ledgers.on_balance(model.Balance(Cents(cents), Cents(0), Cents(cents)), at_ns, at_ns)
        ledgers.on_positions((), at_ns, at_ns)
        ledgers.on_fills(fills, at_ns + 3 * NS_PER_SECOND, at_ns + 3 * NS_PER_SECOND, ())

    series.read(T0, shown)
    read(0, 10_000)
    ledgers.open_books(T0)
    series.read(T0 + NS_PER_SECOND, over)
    read(5, 10_000)
    again_ns = T0 + 10 * NS_PER_SECOND
    series.take_series([shown], again_ns, again_ns)
    own = made.own(State.OPEN, price=40)
    fill = msgspec.structs.replace(made.fill(own, 1, 5), market_id=market.market_id)
    read(10, 10_000, fill)
    read(20, 9_800)
    assert ledgers.holdings(market.market_id) == (5, 0)


def test_an_older_read_does_not_take_a_resolution_back():
    series, _ = engine()
    ledgers, shown = series.ledgers, event(1)
    (market,) = shown.markets
    resolved = msgspec.structs.replace(market, state=model.MarketState.RESOLVED)
    series.read(T0, msgspec.structs.replace(shown, markets=(resolved,)))
    series.read(T0 + NS_PER_SECOND, shown)
    assert market.market_id in ledgers.settlement.resolved_ns


def test_rungs_missing_from_a_settled_event_are_kept_until_they_paid():
    series, _ = engine()
    ledgers, shown = series.ledgers, event(1)
    (market,) = shown.markets
    series.read(T0, shown)
    ledgers.book.take_over(market.market_id, market.event_ticker, Outcome.YES, 5)
    over = msgspec.structs.replace(shown, markets=(), status=model.EventStatus.SETTLED)
    series.read(T0 + 1, over)
    assert ledgers.holdings(market.market_id) == (5, 0)
    assert market.market_id in ledgers.settlement.resolved_ns
    ledgers.book.settle(market.market_id, Outcome.YES)
    series.take_series([over], T0 + 2, T0 + 1 + FORGET_AFTER_NS)
    assert series.ladders == []
    assert not ledgers.settlement.is_listed(market.market_id)


def test_changed_fee_rates_apply_at_the_next_read():
    series, _ = engine(event(1))
    rung = series.ladders[0].rungs[0]
    terms_before = rung.terms
    series.take_series([event(1, rate="0.9000")], T0, T0 + 1)
    assert rung.maker_rate == FeeRate.parse("0.9")
    assert rung.terms != terms_before


def test_an_unchanged_market_causes_no_decision():
    series, _ = engine(event(1))
    ladder = series.ladders[0]
    ladder.needs_decision = False
    same = msgspec.json.decode(msgspec.json.encode(event(1)), type=model.Event)
    series.take_series([same], T0, T0 + 1)
    assert not ladder.needs_decision


@pytest.mark.parametrize(("pulled", "left"), [(False, 390), (True, 1_000)])
def test_an_event_is_decided_within_the_series_limit_that_wanted_quotes_of_others_leave(
    pulled, left
):
    series, _ = engine(event(1), event(2))
    one, other = series.ladders
    [rung] = one.rungs
    rung.blocked = ""
    quote = Quote(BookSide.BID, Price(60), Qty(10))  # 61 cents a share, the fee included
    bounds = series.weighing.bounds(one, wanted=True)
    admitted = series.weighing.trim(one, {rung.market_id: (quote,)}, bounds)
    one.want(admitted, pulled=pulled)
    assert series.weighing.bounds(other, wanted=True).loss_cents == left
    assert series.weighing.bounds(other).loss_cents == 1_000


def test_a_fill_of_an_unlisted_rung_counts_for_its_event():
    series, _ = engine(event(1), event(2))
    one, other = series.ladders
    assert (series.weighing.worst_cents(one), series.weighing.worst_cents(other)) == (0, 0)
    order = made.own(price=79)
    order.market_id = MarketId("aaaaaaaa-0000-4000-8000-000000000009")
    bought = msgspec.structs.replace(
        made.fill(order, number=1, qty=1), event_ticker=one.event.event_ticker
    )
    series.ledgers.book.book_fill(bought)
    series.on_holdings_change(order.market_id)
    assert series.weighing.worst_cents(one) == -79 - bought.fee_cents
    assert series.weighing.worst_cents(other) == 0


def denied(monkeypatch) -> tuple[Thin, list[int]]:
    """A rung whose wish a limit has just denied; the list counts the plans made since."""
    thin = Thin([70, 40])
    thin.start()
    rung = thin.rung(0)
    rung.want((Quote(BookSide.BID, Price(60), Qty(10)),), pulled=True)
    thin.trader.quoting.decide(thin.now_ns)
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
    thin.trader.quoting.decide(thin.now_ns + later_ns)


def test_a_denied_action_is_planned_again_only_after_a_second(monkeypatch):
    thin, plans = denied(monkeypatch)
    assert thin.rung(0).wishes == ()
    decide(thin, 10_000_000)
    decide(thin, 999_999_999)
    assert plans == []
    decide(thin, 1_000_000_000)
    assert plans == [thin.now_ns + 1_000_000_000]


CHANGES = {
    "its orders": lambda thin: thin.rung(0).orders_changed(),
    "orders of its event": lambda thin: thin.rung(1).orders_changed(),
    "booked fills": lambda thin: thin.trader.quoting.on_holdings_change(thin.markets[1].market_id),
    "other quotes": lambda thin: thin.rung(0).want(
        (Quote(BookSide.BID, Price(61), Qty(10)),), pulled=False
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_denied_action_is_planned_again_when_something_changes(monkeypatch, change):
    thin, plans = denied(monkeypatch)
    CHANGES[change](thin)
    decide(thin)
    assert plans == [thin.now_ns]


def test_an_action_that_was_not_denied_stays_planned():
    thin = Thin([70])
    thin.start()
    rung = thin.rung(0)
    rung.want((), pulled=True)
    first, _ = thin.trader.quoting.decide(thin.now_ns)
    decide(thin, 1)
    again, _ = thin.trader.quoting.decide(thin.now_ns + 2)
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


def test_an_amend_that_came_too_late_suspends_no_side_for_funds():
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

        def on_effect(self, effect: m.Effect) -> None:
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
