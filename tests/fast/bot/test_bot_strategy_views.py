"""Views of a strategy and the validation of its quotes."""

import msgspec
import numpy as np
import pytest

from bot.core import messages as m
from bot.core.settings import PaceSettings
from bot.strategy.api import EventView, NonsenseQuotes, Quote, Quotes, RungView, Strategy, Take
from strategies.fixed_spread import FixedSpread
from strategies.ladder_joint import LadderJoint
from tests.builders.bot.thin import Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId


class Watching(FixedSpread):
    """Records its views."""

    seen: list[EventView]

    def quote(self, view: EventView) -> Quotes:
        self.seen.append(view)
        return super().quote(view)


def recording(mids: list[int]) -> tuple[Thin, list[EventView]]:
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


def test_a_strategy_sees_each_trade_once():
    thin, seen = recording([80, 60, 40])
    ts_ns = thin.now_ns
    thin.give(m.Trade(thin.markets[1].market_id, ts_ns, "t1", Price(60), Qty(5), True))
    thin.give(m.Tick())
    thin.show(0)
    thin.mids[0] += 1
    thin.show(0)
    thin.give(m.Tick())
    assert sum(len(view.rungs[1].prints) for view in seen) == 1


def test_the_queue_ahead_in_a_view_matches_the_book_in_it():
    thin, _ = recording([60, 40])
    trader, rung = thin.trader, thin.rung(0)
    thin.mids[0] += 2
    thin.show(0)
    rung.state.queues.forget_book()
    thin.give(m.Tick())  # the ask steps back; no book shows its queue there
    for depth in (100, 7):
        thin.now_ns += 100 * NS_PER_MS
        rung.state.adopt_read(
            thin.book(0, depth=depth), trader.quoting.settings.staleness, thin.now_ns
        )
        view = rung.ladder.view(None, trader.desk, trader.ledgers, thin.now_ns).rungs[0]
        (ask,) = [own for own in view.own if own.side is BookSide.ASK]
        assert ask.ahead_qty == dict(view.asks)[ask.price] == depth + 2


def without_ages(rung: RungView) -> tuple[object, ...]:
    """All but ages, and floats that may stay for a while."""
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
def test_a_kept_view_equals_a_new_one(seed):
    rng = np.random.default_rng(seed)
    thin, seen = recording([85, 70, 50, 30, 15])
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


SANE = (Quote(BookSide.BID, Price(50), Qty(10)),)
NONSENSE = (Quote(BookSide.BID, 50.0, Qty(10)),)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answers",
    [
        [{0: SANE}, {}, {0: SANE}, {0: NONSENSE}],
        [{0: SANE, 1: SANE}, {0: SANE, 2: SANE}, {0: SANE}, {}, {0: NONSENSE}],
        [{0: SANE}, {"elsewhere": SANE}],
        [{}, {1: None}],
        [{}, {"elsewhere": None}],
    ],
    ids=[
        "equal but nonsense",
        "after markets were left out",
        "for an unknown market",
        "None",
        "None for an unknown market",
    ],
)
def test_validated_quotes_are_not_reused_for_an_invalid_answer(answers):
    thin, _ = recording([80, 60, 40])
    ladder = thin.trader.quoting.ladders[0]
    left = [
        {
            thin.markets[at].market_id if isinstance(at, int) else MarketId(at): quotes
            for at, quotes in answer.items()
        }
        for answer in answers
    ]
    valid = left[:-1]
    ladder.strategy.quote = lambda view: left.pop(0)  # type: ignore[method-assign]
    view = ladder.view(None, thin.trader.desk, thin.trader.ledgers, thin.now_ns)
    for answer in valid:
        assert ladder.ask_strategy(view) == answer
    with pytest.raises(NonsenseQuotes):
        ladder.ask_strategy(view)
    assert NONSENSE == SANE


class Tagged(Quote):
    """A quote with a field of the strategy's own, which has no hash."""

    tags: list[str] = msgspec.field(default_factory=list)


class Loose(Quote, frozen=False):
    """A quote that its strategy may change in place."""


class Own(Strategy):
    """The same quotes for every rung, each time."""

    def __init__(self, *quotes: Quote) -> None:
        super().__init__(None)
        self.quotes = quotes

    def quote(self, view: EventView) -> Quotes:
        return {rung.market_id: self.quotes for rung in view.rungs}


def test_a_subclass_of_quote_is_quoted_as_a_quote():
    strategy = Own(Tagged(BookSide.BID, Price(40), Qty(5), None, ["mine"]))
    thin = Thin([60], lambda: strategy)
    thin.start()
    thin.run(1.0)
    assert [(each.price, each.qty) for each in thin.orders.values()] == [(40, 5)]
    assert thin.rung(0).wanted == (Quote(BookSide.BID, Price(40), Qty(5)),)


def test_a_take_with_a_numpy_bool_is_shown_in_a_plan():
    strategy = Own(Take(BookSide.BID, Price(62), Qty(1), np.bool_(True)))
    thin = Thin([60], lambda: strategy)
    thin.start()
    (event,) = thin.trader.plan(thin.now_ns).events
    assert event.rungs[0].takes == (Take(BookSide.BID, Price(62), Qty(1), whole=True),)
    assert msgspec.json.encode(event)


def test_a_quote_changed_in_place_is_validated_again():
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


def test_quotes_are_put_on_the_current_grid_of_the_market():
    thin, _ = recording([80, 60, 40])
    ladder = thin.trader.quoting.ladders[0]
    rung = ladder.rungs[0]
    quotes = {rung.market_id: (Quote(BookSide.BID, Price(53), Qty(10)),)}
    market = msgspec.structs.replace(rung.market, min_price=Price(5), tick_size=5)
    markets = tuple(market if row == rung.market else row for row in ladder.event.markets)
    event = msgspec.structs.replace(ladder.event, markets=markets)
    ladder.refresh(event, thin.now_ns, lambda: ladder.strategy)
    on_grid = (Quote(BookSide.BID, Price(50), Qty(10)),)
    assert ladder.as_taken(quotes) == {rung.market_id: on_grid}


def test_quotes_are_no_larger_than_the_order_limit_learned_meanwhile():
    thin, _ = recording([80, 60, 40])
    ladder = thin.trader.quoting.ladders[0]
    market_id = ladder.rungs[0].market_id
    ladder.max_order_qty[market_id] = Qty(4)
    wanted = {market_id: (Quote(BookSide.BID, Price(53), Qty(10)),)}
    assert ladder.as_taken(wanted) == {market_id: (Quote(BookSide.BID, Price(53), Qty(4)),)}


class Same(Thin):
    """A venue with one book that stays the same: others remove what we add, and the reverse."""

    kept: m.BookUpdate | None = None
    reads = False

    def book(self, index: int, ts_ns: int | None = None, depth: int = 100) -> m.BookUpdate:
        if self.kept is None or index != 0:
            return super().book(index, ts_ns, depth)
        at_ns = self.now_ns if ts_ns is None else ts_ns
        return msgspec.structs.replace(self.kept, ts_ns=at_ns)

    def _read(self, request: m.Request) -> m.Answer:
        if not (self.reads and isinstance(request, m.ReadBook) and self.kept is not None):
            return super()._read(request)
        bids, asks = (
            tuple(model.Level(price, size) for price, size in side)
            for side in (self.kept.bids, self.kept.asks)
        )
        as_of = instant.from_ns(self.now_ns)
        shown = model.Orderbook(self.markets[0].ticker, request.market_id, as_of, bids, asks)
        return m.Ok(m.BookBody(shown))


@pytest.mark.parametrize("reads", [True, False])
def test_a_book_that_is_unchanged_by_chance_is_accepted_once_it_is_shown_or_read(reads):
    thin = Same([50], lambda: LadderJoint(LadderJoint.Params()))
    thin.start()
    thin.run(30)
    thin.show(0)
    thin.run(3)
    thin.mids[0] = 54
    thin.show(0, thin.now_ns - 2 * NS_PER_SECOND)
    thin.kept, thin.reads = thin.book(0), reads
    thin.run(2)
    if not reads:
        thin.show(0)
    thin.run(4, least_ns=100 * NS_PER_MS)
    rung = thin.rung(0)
    own = thin.trader.desk.live(rung.market_id)
    assert thin.writes(thin.now_ns - 8 * NS_PER_SECOND)
    assert rung.state.external == rung.state.without_own(own)
    assert not rung.state.is_behind


def test_the_alert_of_a_faulty_strategy_clears_once_another_replaces_it() -> None:
    fails: list[bool] = []

    class Failing(FixedSpread):
        def quote(self, view):
            if fails:
                raise ArithmeticError
            return super().quote(view)

    thin = Thin([70, 30], lambda: Failing(Failing.Params()))
    thin.start()
    fails.append(True)
    thin.mids[0] = 71
    thin.show(0)
    thin.run(0.2)
    assert "strategy_at_fault" in thin.trader.out.findings
    fails.clear()
    thin.markets[0] = msgspec.structs.replace(thin.markets[0], strike_value="130")
    thin.run(12)
    assert len(thin.orders) == 4
    assert "strategy_at_fault" not in thin.trader.out.findings
