"""Claims about a bot whose file changes all the time while it trades: old or new, never mixed."""

import pytest

from bot.config.strategies import Makers
from bot.io.run.result import Exit
from bot.lab.replay import replayer_of
from bot.lab.session import newest_run
from tests.builders.config.storm import Storm, share
from tests.builders.e2e.runs import running_venue
from tests.builders.scale import cases

pytestmark = pytest.mark.anyio

CHANGES = cases(1_000, quick=16)
VALID = cases(200, quick=8)


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module")
def venue(tmp_path_factory):
    with running_venue(tmp_path_factory.mktemp("venue"), 11) as venue:
        yield venue


async def test_whatever_the_file_becomes_the_old_or_the_new_is_in_force_and_never_a_mixture(
    venue, tmp_path
):
    storm = Storm(tmp_path, venue, 1)
    ended = await storm.run(CHANGES)
    assert ended.exit_code is Exit.OK
    assert not storm.mixed
    assert not storm.wrong
    assert storm.kinds["applied"] + storm.kinds["refused"] == CHANGES
    shown = ended.report.config
    assert (shown.applied, shown.rolled_back) == (storm.kinds["applied"], 0)
    assert shown.refused >= storm.kinds["refused"]
    took = sorted(storm.took_ns)
    figures: dict[str, object] = {}
    figures["kinds"] = dict(storm.kinds)
    figures["events"] = storm.events
    figures["two_sided_share"] = round(share(storm.samples), 4)
    figures["taken_ms"] = [took[len(took) // 2] / 1e6, took[-1] / 1e6]
    print(figures)
    again = replayer_of(newest_run(tmp_path / "state"), Makers(tmp_path))
    list(again.steps())
    assert again.trader.reconfiguration.configured == storm.trader.reconfiguration.configured
    assert again.events == storm.events


async def test_quotes_stand_on_both_sides_throughout_while_live_keys_change(venue, tmp_path):
    storm = Storm(tmp_path, venue, 2)
    ended = await storm.run(VALID, only_valid=True)
    assert ended.exit_code is Exit.OK
    assert ended.report.config.applied == VALID
    assert not storm.mixed
    figures: dict[str, object] = {}
    worst = min(both / of for both, of in storm.samples if of)
    figures["two_sided_share"] = round(share(storm.samples), 4)
    figures["calm_share"] = round(storm.calm, 4)
    figures["worst_share"] = round(worst, 4)
    figures["samples"] = len(storm.samples)
    print(figures)
    assert share(storm.samples) > 0.9 * storm.calm
    assert worst > 0.5
