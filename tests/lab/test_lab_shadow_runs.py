"""Claims about candidates beside the live strategy: what they see, want and earn, and that they
disturb nothing."""

import itertools
from collections.abc import Callable

import msgspec
import pytest

from bot.core import messages as m
from bot.core.event.room import Rung
from bot.core.report import ProfitRow, ShadowReport
from bot.core.settings import Candidate
from bot.core.strategy import EventView, Quote, Quotes, Strategy, Take
from bot.lab.shadow.shadow import shadow_of
from strategies.ladder_joint import STRATEGY as LADDER_JOINT
from tests.bot.thin import EVENT, Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Price, Qty
from venue.wire.names import OrderId, Ticker

LATENCY_NS = 50 * NS_PER_MS
HOUR_NS = 3_600 * NS_PER_SECOND


def live() -> Strategy:
    return LADDER_JOINT(LADDER_JOINT.Params())


class Fixed(Strategy):
    """Wants `wanted` on the first rung, and keeps the views it was shown."""

    wanted: tuple[Quote, ...] = ()

    def __init__(self) -> None:
        super().__init__(self.Params())
        self.views: list[EventView] = []

    def quote(self, view: EventView) -> Quotes:
        self.views.append(view)
        return {view.rungs[0].market_id: self.wanted}


def bids(*levels: tuple[int, int]) -> type[Fixed]:
    """A strategy that wants these bids, (price, shares)."""
    quotes = tuple(Quote(BookSide.BID, Price(price), Qty(qty)) for price, qty in levels)
    return type("Bids", (Fixed,), {"wanted": quotes})


def asks(*levels: tuple[int, int]) -> type[Fixed]:
    """A strategy that wants these asks, (price, shares)."""
    quotes = tuple(Quote(BookSide.ASK, Price(price), Qty(qty)) for price, qty in levels)
    return type("Asks", (Fixed,), {"wanted": quotes})


class Raises(Strategy):
    """Raises, from the second time it is asked."""

    def __init__(self) -> None:
        super().__init__(self.Params())
        self.asked = 0

    def quote(self, view: EventView) -> Quotes:
        self.asked += 1
        if self.asked > 1:
            raise ZeroDivisionError("of mine")
        return {}


class Nonsense(Strategy):
    """Wants what cannot be quoted."""

    def __init__(self) -> None:
        super().__init__(self.Params())

    def quote(self, view: EventView) -> Quotes:
        return {view.rungs[0].market_id: (Quote(BookSide.BID, Price(0), Qty(1)),)}


def broken() -> Strategy:
    """Cannot even be made."""
    raise RuntimeError("no model")


def thin(*makers: Callable[[], Strategy]) -> Thin:
    """The thin venue, its trader quoting, these candidates beside it."""
    venue = Thin([70, 50, 30], live)
    candidates = [
        Candidate(f"c{number}", "test", make, LATENCY_NS) for number, make in enumerate(makers)
    ]
    venue.trader.quoting.scoring.attach(
        shadow_of(candidates), venue.trader.reconfiguration.settings
    )
    venue.start()
    return venue


def move(venue: Thin, seconds: float = 5.0) -> None:
    """The market moves about for a while."""
    moves = iter([1, 1, -1, 2, -1, -2, 1, 0, 1, -1] * 50)

    def step() -> None:
        by = next(moves)
        venue.mids = [mid + by for mid in venue.mids]
        for index in range(len(venue.mids)):
            venue.show(index)

    venue.run(seconds, step, NS_PER_SECOND // 4)


def printed(venue: Thin, index: int, price: int, size: int, number: int = 0) -> None:
    """Somebody sold YES into the bids."""
    venue.give(
        m.TradeSeen(
            venue.markets[index].market_id,
            venue.now_ns,
            f"t{venue.now_ns}-{number}",
            Price(price),
            Qty(size),
            False,
        )
    )


def shadows(venue: Thin) -> tuple[ShadowReport, ...]:
    return venue.trader.report(venue.now_ns).shadows


def sent(venue: Thin) -> list[tuple[int, m.Request]]:
    return venue.sent


def test_a_candidate_with_the_live_parameters_wants_the_very_quotes_of_the_live_one():
    venue = thin(live)
    move(venue)
    for shadow in shadows(venue):
        assert shadow.decisions > 10
        assert shadow.same == shadow.decisions
        assert shadow.changes > 3


@pytest.mark.parametrize("make", [live, bids((45, 10)), Raises, Nonsense, broken])
def test_a_candidate_changes_nothing_of_what_the_live_one_sends(make):
    alone, beside = thin(), thin(make)
    for venue in (alone, beside):
        move(venue)
    assert sent(beside) == sent(alone)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (Raises, "ZeroDivisionError: of mine"),
        (Nonsense, "NonsenseQuotes: price 0"),
        (broken, "RuntimeError: no model"),
    ],
)
def test_a_candidate_that_fails_is_stopped_and_explained_and_the_others_go_on(make, why):
    venue = thin(make, live)
    move(venue)
    by_name: dict[str, list[ShadowReport]] = {}
    for shadow in shadows(venue):
        by_name.setdefault(shadow.name, []).append(shadow)
    assert all(why in shadow.stopped for shadow in by_name["c0"])
    assert all(shadow.resting == 0 for shadow in by_name["c0"])
    assert all(shadow.stopped == "" and shadow.decisions > 10 for shadow in by_name["c1"])


def test_a_stopped_candidate_is_told_once_for_each_reading():
    venue = Thin([70, 50, 30], live)
    notes: list[m.Noted] = []
    receive = venue.trader.receive

    def listened(event: m.Event, now_ns: int) -> list[m.Effect]:
        effects = receive(event, now_ns)
        notes.extend(each for each in effects if isinstance(each, m.Noted))
        return effects

    venue.trader.receive = listened
    failing = Candidate("bad", "test", Raises, LATENCY_NS)
    venue.trader.quoting.scoring.attach(shadow_of([failing]), venue.trader.reconfiguration.settings)
    venue.start()
    move(venue)
    stopped = [note.fields for note in notes if note.name == "shadow_stopped"]
    assert [fields["bound"] for fields in stopped] == ["averse", "likely"]


def test_a_candidate_is_filled_by_prints_from_its_latency_on_and_sees_its_own_fills():
    venue = thin(bids((60, 10)))
    printed(venue, 0, 60, 4, 1)
    venue.run(1)
    averse, likely = shadows(venue)
    assert averse.profit.total.qty == likely.profit.total.qty == 4
    assert averse.profit.total.spread_millicents > 0
    stage = venue.trader.quoting.scoring._shadows._rehearsals[0]._stages
    (views,) = [each.strategy.views for each in stage.values()]
    assert [view.rungs[0].yes_qty for view in views][-1] == 4
    told = [fill for view in views for fill in view.rungs[0].fills]
    assert [(fill.side, fill.price, fill.qty) for fill in told] == [(BookSide.BID, 60, 4)]
    assert [(own.price, own.qty) for own in views[-1].rungs[0].own] == [(60, 6)]
    assert views[-1].cash_cents < views[0].cash_cents


def test_a_print_before_the_latency_is_over_meets_nothing():
    venue = thin(Fixed)
    stages = venue.trader.quoting.scoring._shadows._rehearsals[0]._stages
    (stage,) = stages.values()
    stage.strategy.wanted = bids((60, 10)).wanted
    venue.show(0)
    venue.mids[0] += 1
    venue.show(0)
    venue.now_ns += NS_PER_SECOND
    venue.give(m.Beat())
    printed(venue, 0, 60, 4, 1)
    assert shadows(venue)[0].profit.total.qty == 0
    venue.now_ns += LATENCY_NS
    printed(venue, 0, 60, 4, 2)
    assert shadows(venue)[0].profit.total.qty == 4


def test_a_print_that_is_repeated_fills_once():
    venue = thin(bids((60, 10)))
    for _ in range(2):
        printed(venue, 0, 60, 4, 1)
    assert shadows(venue)[0].profit.total.qty == 4


def test_a_candidate_is_held_to_the_limits_of_the_live_one():
    venue = thin(bids((60, 1_000_000)))
    averse = shadows(venue)[0]
    assert averse.left_out > 0
    assert 0 < averse.resting <= 1_000
    limits = venue.trader.reconfiguration.settings.risk
    assert 0 < averse.worst_case_max_cents <= limits.event_loss_cents


class TwoEvents(Thin):
    """The thin venue, its two rungs of an event each; the first one has the status `first_is`."""

    first_is = model.EventStatus.OPEN

    def rung(self, index: int) -> Rung:
        """See `Thin`."""
        return self.trader.quoting.ladders[index].rungs[0]

    def _read(self, request: m.Request) -> m.Answer:
        answer = super()._read(request)
        if not isinstance(request, m.ReadSeries):
            return answer
        assert isinstance(answer, m.Done)
        assert isinstance(answer.body, m.SeriesShown)
        [event] = answer.body.events
        names = [EVENT, Ticker("ACME-VAL-27Q2")]
        events = tuple(
            msgspec.structs.replace(
                event,
                event_ticker=name,
                status=self.first_is if name == EVENT else event.status,
                markets=(msgspec.structs.replace(rung, event_ticker=name),),
            )
            for name, rung in zip(names, self.markets, strict=True)
        )
        return m.Done(m.SeriesShown(events, ""))


def test_the_events_of_a_candidate_share_what_may_rest_of_the_series_while_they_are_quoted():
    venue = TwoEvents([70, 50], live)
    settings = venue.trader.reconfiguration.settings
    risk = msgspec.structs.replace(settings.risk, resting_cents=Cents(615))
    candidate = Candidate("c0", "test", bids((40, 10)), LATENCY_NS)
    venue.trader.quoting.scoring.attach(
        shadow_of([candidate]), msgspec.structs.replace(settings, risk=risk)
    )
    venue.start()
    move(venue)
    # Ten at 41 cents, a fee included, and what of ten fits beside them.
    assert [each.resting for each in shadows(venue)] == [15, 15]
    venue.first_is = model.EventStatus.UNOPENED
    move(venue, 10)
    assert [each.resting for each in shadows(venue)] == [10, 10]


class Takes(Strategy):
    """Wants to buy five thousand on the first rung, once so many are offered."""

    def __init__(self, *, whole: bool) -> None:
        super().__init__(self.Params())
        self.whole = whole
        self.has_asked = False

    def quote(self, view: EventView) -> Quotes:
        rung = view.rungs[0]
        if self.has_asked or not rung.asks or rung.asks[0][1] < 5_000:
            return {}
        self.has_asked = True
        return {rung.market_id: (Take(BookSide.BID, Price(75), Qty(5_000), whole=self.whole),)}


@pytest.mark.parametrize(("whole", "qty"), [(False, 1_000), (True, 0)])
def test_what_a_candidate_takes_is_held_to_the_same_limits(whole: bool, qty: int):
    venue = thin(lambda: Takes(whole=whole))
    assert venue.trader.reconfiguration.settings.risk.order_qty == 1_000
    venue.give(venue.book(0, depth=6_000))
    venue.run(1)
    assert [each.profit.total.qty for each in shadows(venue)] == [qty, qty]


def test_near_the_end_a_candidate_wants_half_and_then_what_reduces_what_it_holds():
    venue = thin(bids((60, 10), (58, 10)), asks((80, 10)))
    printed(venue, 0, 60, 4)
    move(venue, 2)
    assert [each.resting for each in shadows(venue)] == [20, 20, 10, 10]
    venue.ends_ns = venue.now_ns + 12 * HOUR_NS
    venue.run(8)
    assert [each.resting for each in shadows(venue)] == [10, 10, 5, 5]
    venue.ends_ns = venue.now_ns + HOUR_NS // 2
    venue.run(8)
    assert [each.resting for each in shadows(venue)] == [0, 0, 0, 0]


def test_a_candidate_flattens_with_the_live_one_by_what_it_holds_itself():
    both = (*bids((60, 10)).wanted, *asks((80, 10)).wanted)
    venue = thin(type("Both", (Fixed,), {"wanted": both}))
    printed(venue, 0, 60, 4)
    venue.give(m.FlattenRequested("x"))
    assert not venue.trader.ledgers.holdings(venue.markets[0].market_id)[0]
    venue.give(m.Beat())
    venue.now_ns += LATENCY_NS
    venue.give(m.Beat())
    assert [each.resting for each in shadows(venue)] == [4, 4]


def test_a_candidate_counts_fees_that_have_changed_in_what_it_may_lose():
    venue = thin(bids((60, 10)))
    [one, _] = venue.trader.quoting.scoring._shadows._rehearsals
    [stage] = one._stages.values()
    rung = venue.rung(0)
    dearer = msgspec.structs.replace(rung.market, taker_fee_rate="0.9000")
    rung.refresh(dearer, venue.now_ns)
    move(venue, 2)
    assert stage.held.share_losses(0, is_bid=True)[50] == 50 + 23


def test_nothing_of_a_candidate_rests_while_the_bot_is_paused():
    venue = thin(bids((45, 10)))
    assert shadows(venue)[0].resting == 10
    venue.give(m.PauseRequested("x"))
    venue.run(1)
    assert shadows(venue)[0].resting == 0


def test_quotes_are_written_down_when_they_change_and_at_most_once_a_second():
    venue = Thin([70, 50, 30], live)
    told: list[tuple[int, m.Noted]] = []
    receive = venue.trader.receive

    def listened(event: m.Event, now_ns: int) -> list[m.Effect]:
        effects = receive(event, now_ns)
        told.extend(
            (now_ns, each)
            for each in effects
            if isinstance(each, m.Noted) and each.name == "shadow_quotes"
        )
        return effects

    venue.trader.receive = listened
    candidate = Candidate("same", "test", live, LATENCY_NS)
    venue.trader.quoting.scoring.attach(
        shadow_of([candidate]), venue.trader.reconfiguration.settings
    )
    venue.start()
    move(venue, 5)
    times = [at_ns for at_ns, _ in told]
    assert 3 <= len(times) <= 11
    assert all(later - at >= NS_PER_SECOND for at, later in itertools.pairwise(times))
    assert told[-1][1].level == "debug"
    assert "@" in str(told[-1][1].fields["quotes"])


def traded(venue: Thin) -> list[ProfitRow]:
    """Ten shares bought and sold again by the live one; then the event leaves, winner unknown."""
    scoring, at = venue.trader.quoting.scoring, instant.from_ns(venue.now_ns)
    for side, price in ((model.ShownSide.BUY, 60), (model.ShownSide.SELL, 75)):
        fill = model.Fill(
            fill_id=side,
            trade_id=side,
            order_id=OrderId("1"),
            ticker=venue.markets[0].ticker,
            market_id=venue.markets[0].market_id,
            event_ticker=EVENT,
            outcome=model.ShownOutcome.YES,
            side=side,
            outcome_price=Price(price),
            trade_price=Price(price),
            qty=Qty(10),
            liquidity=model.Liquidity.MAKER,
            created_at=at,
            fee_cents=1,
        )
        scoring.filled(venue.rung(0), fill, venue.now_ns)
    venue.run(15)
    scoring.forget(venue.trader.quoting.ladders[0])
    return list(scoring._attribution.report().by["side"])


def test_what_a_candidate_held_of_an_event_that_leaves_changes_nothing_of_the_live_account():
    alone, beside = thin(Fixed), thin(bids((60, 10)))
    for venue in (alone, beside):
        printed(venue, 0, 60, 4, 1)
    assert [each.profit.total.qty for each in shadows(beside)] == [4, 4]
    assert traded(beside) == traded(alone)


def test_the_account_of_a_candidate_agrees_with_its_holdings_and_cash():
    venue = thin(bids((60, 10), (58, 10)))
    for number in range(6):
        printed(venue, 0, 58, 3, number)
        move(venue, 1)
    for shadow in shadows(venue):
        assert shadow.profit.total.fills > 2
        assert shadow.profit.difference_millicents == 0
