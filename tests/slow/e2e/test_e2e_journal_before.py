"""A start on the state directory of an earlier program: what that left open is settled."""

import gzip
from pathlib import Path

from bot.io.journal.journal import left_in
from tests.builders.e2e.runs import config_for, running_venue, start_bot, summary_once_two_sided

WRITTEN = Path(__file__).parents[1] / "io" / "corpus" / "v5-one-create-open"


def test_a_create_left_open_by_an_earlier_program_is_settled_by_the_next_start(tmp_path):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (packed,) = WRITTEN.iterdir()
    (state / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    assert len(left_in(state).open_intents) == 1
    with running_venue(tmp_path, seed=7) as venue:
        bot = start_bot("run", str(config_for(venue, tmp_path)), "--json", folder=tmp_path)
        summary = summary_once_two_sided(bot, tmp_path)
        assert (bot.returncode, summary["left"], summary["resting_after"]) == (0, [], 0)
        assert venue.orders("resting") == []
    assert left_in(state).open_intents == ()
