"""A short stretch of the day: what is counted over hours by hand holds here for seconds.

`python -m tests.day` lives through all of it and measures memory; here nothing is timed.
"""

import pytest

from bot.core.account import profit
from bot.core.market_data import queue_position as queue
from bot.core.orders import manager
from bot.core.orders.outbox import Outbox
from bot.core.quoting import event_quoter
from strategies import ladder_joint
from tests.builders.scale import cases
from tests.day.day import Asked, distant_market, live
from tests.day.growth import grown, held_by, slope
from tests.day.market import FRAMES_PER_SECOND, RUNGS, Market, Step
from venue.wire.instant import NS_PER_SECOND

pytestmark = pytest.mark.xdist_group("day")

SECONDS = cases(800, quick=15)
FRAMES_A_SECOND = RUNGS * FRAMES_PER_SECOND
SERIES_A_RUNG = 45
SERIES_OF_THE_REST = 450

# In full it is counted first when the longest markout, five minutes, is over.
COUNTED_SECONDS = 0.45 * SECONDS

BOUNDED = (
    (queue, "_PRINTS_KEPT"),
    (event_quoter, "_VALID_MAX"),
    (profit, "FILLS_SHOWN_MAX"),
    (ladder_joint, "_PRICED_MAX"),
)


@pytest.fixture(scope="module")
def day(tmp_path_factory):
    asked = Asked(
        hours=SECONDS / 3600, warm_s=SECONDS / 2, sample_s=SECONDS / 5, count_s=COUNTED_SECONDS
    )
    state = tmp_path_factory.mktemp("day")
    with pytest.MonkeyPatch.context() as patched, distant_market(1) as market:
        # The windows that are longer than the stretch: they must be full when the count begins.
        patched.setattr(profit, "MARKS_KEPT_NS", 2 * NS_PER_SECOND)
        patched.setattr(manager, "ENDED_KEPT_NS", 5 * NS_PER_SECOND)
        # What is bounded by a number holds anything up to it at a given moment, the more so where
        # it is emptied once it is full: bounds far below what the stretch fills tell it from what
        # only grows.
        for module, bound in BOUNDED:
            patched.setattr(module, bound, 8)
        return live(state, market, asked)


def test_the_bot_reads_every_frame_and_trades_all_the_time(day):
    assert day.frames >= (SECONDS - 2) * FRAMES_A_SECOND
    assert day.fills and day.requests > RUNGS
    assert (day.ended, day.findings) == (0, [])


def test_nothing_the_bot_holds_grows_with_the_frames(day):
    # What is kept for every frame would be twice as much at the end as in the middle.
    grew = [row for row in day.entries if row.after > 1.5 * row.before]
    assert [row for row in grew if row.after > 1000] == []


def test_the_log_has_at_most_one_line_per_hundred_frames(day):
    assert day.log_lines <= 10 + day.frames / 100


def test_the_number_of_metrics_depends_only_on_the_rungs(day):
    assert 0 < day.series[1] <= SERIES_OF_THE_REST + SERIES_A_RUNG * RUNGS


def test_only_markouts_add_metrics_during_a_run(day):
    assert day.new_series == [name for name in day.new_series if "markout_cents{" in name]


# --- what it is measured with ---------------------------------------------------------------------


def test_a_growing_collection_is_named_by_class_and_attribute():
    out = Outbox.__new__(Outbox)
    out.effects = []
    before = held_by({"trader": out})
    out.effects.extend(range(1000, 1100))
    after = held_by({"trader": out})
    assert grown(before.entries, after.entries, 5) == [("Outbox.effects", 0, 100)]
    assert after.bytes["Outbox.effects"] - before.bytes["Outbox.effects"] > 100 * 28


def test_the_slope_of_a_line_is_its_rise_per_step():
    assert slope([(0, 1), (1, 3), (2, 5)]) == pytest.approx(2)
    assert slope([(1, 4)]) == 0


def test_the_same_seed_gives_the_same_market():
    def shown(seed: int) -> list[tuple[int, bytes]]:
        market = Market(seed)
        for _ in range(40):
            market.ask(Step(()))
        return [frame for _ in range(40) for frame in market.news().frames]

    assert shown(3) == shown(3) != shown(4)
