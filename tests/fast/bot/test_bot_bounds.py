"""Claims about what a venue takes: quotes on its grid, never bolder; sizes under its ceiling."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bot.core.risk.limits import lowered, taken
from bot.strategy.api import Quote
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire.model import Market, MarketState
from venue.wire.money import BookSide, canonical

ANY = st.tuples(
    st.sampled_from(list(BookSide)), st.integers(1, 99), st.integers(1, 50), st.booleans()
).map(lambda drawn: Quote(drawn[0], drawn[1], drawn[2], drawn[1] if drawn[3] else None))
GRIDS = st.tuples(st.integers(-20, 40), st.integers(41, 120), st.integers(1, 10))


def with_grid(low: int, high: int, tick: int):
    """A market with these bounds and this tick."""
    return Market(
        ticker="X-27Q1-1B",
        market_id="0b2c6a54-7d6e-5c0e-9d37-2f7f0f4c1a11",
        event_ticker="X-27Q1",
        project_market_id="",
        name="above 1",
        outcome_label="above",
        state=MarketState.ACTIVE,
        min_price=low,
        max_price=high,
        tick_size=tick,
        maker_fee_rate="0",
        taker_fee_rate="0",
        open_interest=0,
        created_at="",
        updated_at="",
    )


@given(st.lists(ANY, max_size=4), GRIDS, st.none() | st.integers(1, 60))
def test_every_quote_is_on_the_grid_within_the_ceiling_and_never_bolder(quotes, grid, ceiling):
    low, high, tick = grid
    for quote in taken(tuple(quotes), with_grid(*grid), ceiling):
        same_side = [each.price for each in quotes if each.side is quote.side]
        assert max(low, 1) <= quote.price <= min(high, 99)
        assert (quote.price - low) % tick == 0
        assert ceiling is None or quote.qty <= ceiling
        if quote.side is BookSide.BID:
            assert quote.price <= max(same_side)
        else:
            assert quote.price >= min(same_side)


@given(st.lists(ANY, max_size=4))
def test_on_the_usual_grid_the_very_tuple_comes_back(quotes):
    assert taken(tuple(quotes), with_grid(1, 99, 1), None) == tuple(quotes)


def test_quotes_that_meet_on_one_price_become_one_with_both_sizes():
    quotes = (Quote(BookSide.BID, 43, 4), Quote(BookSide.BID, 41, 5))
    assert taken(quotes, with_grid(5, 95, 5), None) == (Quote(BookSide.BID, 40, 9),)


def test_a_quote_without_a_price_within_the_bounds_is_left_out():
    quotes = (Quote(BookSide.BID, 3, 4), Quote(BookSide.ASK, 97, 5))
    assert taken(quotes, with_grid(5, 95, 5), None) == ()


def resting(thin: Thin, grid: tuple[int, int, int]) -> list[int]:
    """Prices of what rests once the markets have had this grid for some seconds, as YES."""
    names = ("min_price", "max_price", "tick_size")
    thin.markets = [
        msgspec.structs.replace(each, **dict(zip(names, grid, strict=True)))
        for each in thin.markets
    ]
    thin.run(10)
    return sorted(canonical(own.outcome, own.price) for own in thin.trader.desk.live_orders)


def test_bounds_beyond_what_an_order_can_have_leave_the_prices_that_it_can():
    thin = Thin([97, 3], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    assert resting(thin, (0, 100, 5)) == [5, 95]


def test_orders_move_to_another_grid_though_no_book_moves():
    thin = Thin([48], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    assert resting(thin, (1, 99, 1)) == [46, 50]
    assert resting(thin, (5, 95, 5)) == [45, 50]


def test_a_ceiling_falls_by_half_and_never_rises():
    assert lowered(None, 10) == 5
    assert lowered(5, 5) == 2
    assert lowered(2, 10) == 2
    assert lowered(None, 1) == 1
