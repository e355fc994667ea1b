"""Cancelling everything at a venue that is halted for minutes."""

from bot.core.execution.cancel_all import Clean, SweepSettings
from tests.builders.bot.naive_account import T0, S, with_orders

VERIFY = SweepSettings()


def test_a_venue_halted_for_ten_minutes_gets_at_most_160_requests():
    naive = with_orders(200, halts=((0, T0 + 600 * S),), page=1_000)
    sweeper = naive.run(VERIFY)
    during = [each for at, each in naive.requests if at < T0 + 600 * S]
    assert len(during) <= 160
    assert sweeper.verdict == Clean(200)
    assert max(naive.died.values()) <= T0 + 610 * S
