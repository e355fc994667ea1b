"""Claims about a killed bot, by the venue's own log: one order for each intent, and none left."""

from tests.builders.e2e import bot_kill

KILLS = 3
"""The first and the last are of the venue as well."""


def test_a_bot_killed_while_responses_are_lost_duplicates_no_order_and_leaves_none(tmp_path):
    verdict = bot_kill.run(tmp_path, KILLS, seed=20_262, venue_too=True)
    assert verdict.kills == KILLS
    assert len(verdict.names) > 10 * KILLS
