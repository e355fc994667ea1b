"""Claims about a killed venue: it comes back with everything that it acknowledged."""

from tests.builders.e2e import kill

KILLS = 8


def test_a_venue_killed_while_eight_clients_write_keeps_every_acknowledged_write():
    tally = kill.run(KILLS, seed=20_260)
    assert tally.kills == KILLS
    assert tally.told > 10 * KILLS
