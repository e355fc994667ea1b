"""What a strategy is told of rungs that did not move: the same object, and still the truth."""

import random

import msgspec
import numpy as np
import pytest

from bot.core import messages as m
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.risk.limits import taken
from bot.core.settings import PaceSettings
from bot.strategy.api import EventView, NonsenseQuotes, Quote, Quotes, RungView, Strategy, Take
from strategies.fixed_spread import FixedSpread
from strategies.ladder_joint import LadderJoint
from tests.builders.bot.thin import SERIES, Thin
from venue.wire import model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId


class Watching(FixedSpread):
    """Keeps the views it was asked about."""

    seen: list[EventView]

    def quote(self, view: EventView) -> Quotes:
        """As the strategy it is made of."""
        self.seen.append(view)
        return super().quote(view)


def watched(mids: list[int]) -> tuple[Thin, list[EventView]]:
    seen: list[EventView] = []

    def make() -> Watching:
        strategy = Watching(Watching.Params())
        strategy.seen = seen
        return strategy

    thin = Thin(mids, make, PaceSettings(decide_ns=0))
    thin.start()
    thin.run(3.0)
    seen.clear()
    return thin, seen


def test_a_rung_on_which_nothing_happened_is_told_in_the_very_object_of_before():
    thin, seen = watched([80, 60, 40, 20])
    thin.mids[1] += 1
    thin.show(1)
    thin.give(m.Tick())
    thin.show(1)
    thin.mids[1] -= 1
    thin.now_ns += NS_PER_MS
    thin.show(1)
    thin.give(m.Tick())
    first, second = seen[0], seen[-1]
    assert first is not second
    assert second.rungs[1] is not first.rungs[1]
    assert second.rungs[3] is first.rungs[3]


def test_a_print_is_told_once():
    thin, seen = watched([80, 60, 40])
    ts_ns = thin.now_ns
    thin.give(m.Trade(thin.markets[1].market_id, ts_ns, "t1", Price(60), Qty(5), True))
    thin.give(m.Tick())
    thin.show(0)
    thin.mids[0] += 1
    thin.show(0)
    thin.give(m.Tick())
    told = [len(view.rungs[1].prints) for view in seen]
    assert sum(told) == 1


def test_what_stands_before_an_order_of_ours_is_that_of_the_book_told_with_it():
    thin, _ = watched([60, 40])
    trader, rung = thin.trader, thin.rung(0)
    thin.mids[0] += 2
    thin.show(0)
    rung.state.queues.forget_book()
    thin.give(m.Tick())  # the ask steps back; no frame tells what stands before it there
    for depth in (100, 7):
        thin.now_ns += 100 * NS_PER_MS
        rung.state.adopt_read(
            thin.book(0, depth=depth), trader.quoting.settings.staleness, thin.now_ns
        )
        told = rung.ladder.view(None, trader.desk, trader.ledgers, thin.now_ns).rungs[0]
        (ask,) = [own for own in told.own if own.side is BookSide.ASK]
        assert ask.ahead_qty == dict(told.asks)[ask.price] == depth + 2


def without_ages(rung: RungView) -> tuple[object, ...]:
    """All that does not merely grow older, and no float that may rest for a while."""
    fair = rung.fair_cents
    return (
        rung.market_id,
        rung.bids,
        rung.asks,
        rung.microprice_cents,
        rung.last_price,
        rung.yes_qty,
        rung.no_qty,
        rung.quotable,
        fair is None,
        [(own.side, own.price, own.qty, own.ahead_qty) for own in rung.own],
    )


@pytest.mark.parametrize("seed", range(4))
def test_what_is_kept_is_what_would_be_told_anew(seed):
    rng = np.random.default_rng(seed)
    thin, seen = watched([85, 70, 50, 30, 15])
    ladder = thin.trader.quoting.ladders[0]
    for number in range(120):
        index = int(rng.integers(0, 5))
        thin.now_ns += int(rng.integers(1, 2_000)) * NS_PER_MS
        thin.give(m.FeedAlive())
        if rng.random() < 0.6:
            thin.mids[index] = min(95, max(5, thin.mids[index] + int(rng.integers(-1, 2))))
            thin.show(index)
        elif rng.random() < 0.5:
            price = Price(thin.mids[index])
            market_id = thin.markets[index].market_id
            seen_now = m.Trade(market_id, thin.now_ns, f"t{number}", price, Qty(3), True)
            thin.give(seen_now)
            thin.show(index)
        thin.give(m.Tick())
        desk, ledgers = thin.trader.desk, thin.trader.ledgers
        kept = ladder.view(None, desk, ledgers, thin.now_ns)
        for rung in ladder.rungs:
            rung.state.invalidate_view()
        anew = ladder.view(None, desk, ledgers, thin.now_ns)
        for old, new in zip(kept.rungs, anew.rungs, strict=True):
            assert without_ages(old) == without_ages(new)
            assert new.book_age_s - old.book_age_s <= max(2.0, old.book_age_s)
            assert old.fair_cents == pytest.approx(new.fair_cents, abs=0.3)
    assert seen
    assert thin.now_ns > 60 * NS_PER_SECOND


def test_what_merely_equals_a_proven_answer_is_proven_by_itself():
    thin, _ = watched([80, 60, 40])
    ladder, at = thin.trader.quoting.ladders[0], thin.markets[0].market_id
    thin.give(m.Tick())
    sane = (Quote(BookSide.BID, Price(50), Qty(10)),)
    nonsense = (Quote(BookSide.BID, 50.0, Qty(10)),)  # type: ignore[arg-type]
    answers = [{at: sane}, {}, {at: sane}, {at: nonsense}]
    ladder.strategy.quote = lambda view: answers.pop(0)  # type: ignore[method-assign]
    view = ladder.view(None, thin.trader.desk, thin.trader.ledgers, thin.now_ns)
    assert ladder.ask_strategy(view) == {at: sane}
    assert ladder.ask_strategy(view) == {}
    assert ladder.ask_strategy(view)[at] is sane
    assert nonsense == sane
    with pytest.raises(NonsenseQuotes):
        ladder.ask_strategy(view)


def test_what_is_proven_of_one_rung_is_no_answer_for_another_that_is_not_there():
    thin, _ = watched([80, 60, 40])
    ladder, at = thin.trader.quoting.ladders[0], thin.markets[0].market_id
    quotes = (Quote(BookSide.BID, Price(50), Qty(10)),)
    answers = [{at: quotes}, {MarketId("elsewhere"): quotes}]
    ladder.strategy.quote = lambda view: answers.pop(0)  # type: ignore[method-assign]
    view = ladder.view(None, thin.trader.desk, thin.trader.ledgers, thin.now_ns)
    ladder.ask_strategy(view)
    with pytest.raises(NonsenseQuotes):
        ladder.ask_strategy(view)


class Tagged(Quote):
    """With what somebody's own strategy knows of a quote, which has no hash."""

    tags: list[str] = msgspec.field(default_factory=list)


class Loose(Quote, frozen=False):
    """One that its strategy may change in place."""


class Own(Strategy):
    """The very quotes of its own kind for every rung, each time."""

    def __init__(self, *quotes: Quote) -> None:
        super().__init__(None)
        self.quotes = quotes

    def quote(self, view: EventView) -> Quotes:
        """As it was made."""
        return {rung.market_id: self.quotes for rung in view.rungs}


def test_quotes_of_a_kind_of_the_strategys_own_are_quoted_as_what_they_ask_for():
    strategy = Own(Tagged(BookSide.BID, Price(40), Qty(5), None, ["mine"]))
    thin = Thin([60], lambda: strategy)
    thin.start()
    thin.run(1.0)
    assert [(each.price, each.qty) for each in thin.orders.values()] == [(40, 5)]
    assert thin.rung(0).wanted == (Quote(BookSide.BID, Price(40), Qty(5)),)


def test_a_take_that_is_whole_by_a_truth_of_numpy_is_shown_in_a_plan():
    strategy = Own(Take(BookSide.BID, Price(62), Qty(1), np.bool_(True)))
    thin = Thin([60], lambda: strategy)
    thin.start()
    (event,) = thin.trader.plan(thin.now_ns).events
    assert event.rungs[0].takes == (Take(BookSide.BID, Price(62), Qty(1), whole=True),)
    assert msgspec.json.encode(event)


def test_a_quote_that_is_changed_in_place_is_proven_anew():
    strategy = Own(Loose(BookSide.BID, Price(40), Qty(5)))
    thin = Thin([60], lambda: strategy, PaceSettings(decide_ns=0, dwell_ns=0))
    thin.start()
    thin.run(1.0)
    for price, wanted in ((42, [42]), (0, [])):
        strategy.quotes[0].price = Price(price)
        thin.mids[0] += 1
        thin.show(0)
        thin.run(1.0)
        assert [quote.price for quote in thin.rung(0).wanted] == wanted


@pytest.mark.parametrize("name", ["", "elsewhere"])
def test_none_is_no_answer_for_a_rung_of_which_nothing_was_wanted_before(name):
    thin, _ = watched([80, 60, 40])
    ladder = thin.trader.quoting.ladders[0]
    at = MarketId(name) if name else thin.markets[1].market_id
    ladder.strategy.quote = lambda view: {at: None}  # type: ignore[method-assign]
    ladder.answered.pop(at, None)
    view = ladder.view(None, thin.trader.desk, thin.trader.ledgers, thin.now_ns)
    with pytest.raises(NonsenseQuotes, match=r"None on|unknown rung"):
        ladder.ask_strategy(view)


def test_quotes_are_put_on_the_grid_that_the_market_has_now():
    thin, _ = watched([80, 60, 40])
    ladder = thin.trader.quoting.ladders[0]
    rung = ladder.rungs[0]
    quotes = {rung.market_id: (Quote(BookSide.BID, Price(53), Qty(10)),)}
    market = msgspec.structs.replace(rung.market, min_price=Price(5), tick_size=5)
    markets = tuple(market if row == rung.market else row for row in ladder.event.markets)
    event = msgspec.structs.replace(ladder.event, markets=markets)
    ladder.refresh(event, thin.now_ns, lambda: ladder.strategy)
    on_grid = (Quote(BookSide.BID, Price(50), Qty(10)),)
    assert ladder.as_taken(quotes) == {rung.market_id: on_grid}


def test_quotes_are_no_larger_than_a_ceiling_learned_since():
    thin, _ = watched([80, 60, 40])
    ladder = thin.trader.quoting.ladders[0]
    rung = ladder.rungs[0]
    quotes = {rung.market_id: (Quote(BookSide.BID, Price(53), Qty(10)),)}
    ladder.max_order_qty[rung.market_id] = Qty(4)
    assert ladder.as_taken(quotes) == {rung.market_id: (Quote(BookSide.BID, Price(53), Qty(4)),)}


class Patchy(Thin):
    """A venue that does not show the book of a rung while it is `lost`."""

    lost: int | None = None

    def show(self, index: int, ts_ns: int | None = None) -> None:
        if index != self.lost:
            super().show(index, ts_ns)


@pytest.mark.slow
def test_every_rung_wants_what_was_left_it_whatever_the_decisions_before(monkeypatch):
    rng, mids = random.Random(11), [80, 65, 50, 35, 20]
    pace = PaceSettings(decide_ns=0)
    thin = Patchy([*mids], lambda: LadderJoint(LadderJoint.Params()), pace)
    thin.start()
    ladder, markets = thin.trader.quoting.ladders[0], [*thin.markets]
    want_now, start_ns = EventQuoter.want, thin.now_ns
    seen = []

    def want(ladder, quotes, *, pulled):
        seen.append(pulled)
        want_now(ladder, quotes, pulled=pulled)
        for rung in ladder.rungs:
            left = () if pulled or rung.blocked else quotes.get(rung.market_id, ())
            assert rung.wanted == taken(left, rung.market, ladder.max_order_qty.get(rung.market_id))

    monkeypatch.setattr(EventQuoter, "want", want)

    def move() -> None:
        index, market = rng.randrange(5), markets[0]
        match rng.randrange(20):
            case 0:
                state = rng.choice((model.MarketState.HALTED, model.MarketState.ACTIVE))
                market = msgspec.structs.replace(market, state=state)
            case 1:
                market = msgspec.structs.replace(market, max_price=Price(60))
            case 2:
                thin.give(m.FeedClosed(""))
                thin.give(m.Tick())
                thin.give(m.FeedOpened())
            case 3 if thin.now_ns - start_ns > 500 * NS_PER_SECOND:
                ladder.max_order_qty[markets[index].market_id] = Qty(rng.randint(3, 9))
            case 4 if rng.random() < 0.2:
                thin.mids[index] = mids[index] + rng.choice((-8, 8))
            case 5 | 6:
                thin.lost = index if thin.lost is None else None
            case 7 | 8 | 9:
                thin.mids[index] = mids[index] + rng.randint(-1, 1)
        if market != thin.markets[0]:
            thin.markets[0] = market
            shown = thin.answer(m.ReadSeries(SERIES, ""))
            ladder.refresh(shown.body.events[0], thin.now_ns, lambda: ladder.strategy)
        thin.show(index)

    thin.run(600, move, NS_PER_SECOND)
    assert seen.count(False) > 100
    assert any(seen)
    assert ladder.max_order_qty
