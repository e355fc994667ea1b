"""Claims about a killed bot, by the venue's own log: one order for each intent, and none left."""

import pytest

from tests.e2e import bot_kill


@pytest.mark.parametrize(("kills", "venue_too"), [(3, False), (1, True)])
def test_a_bot_killed_while_answers_are_lost_makes_no_order_twice_and_leaves_none(
    tmp_path, kills, venue_too
):
    verdict = bot_kill.run(tmp_path, kills, seed=20_261 + kills, venue_too=venue_too)
    assert verdict.kills == kills
    assert len(verdict.names) > 10 * kills
