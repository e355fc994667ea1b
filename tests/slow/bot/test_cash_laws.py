"""Laws of the free cash."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.bot.cash_world import run_of


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_free_cash_never_exceeds_the_venues_once_all_requests_in_flight_have_arrived(seed):
    def after_each(world):
        assert world.cash.cents <= max(0, world.truth())

    world = run_of(seed, after_each)
    for at in range(len(world.orders)):
        world.land(at)
