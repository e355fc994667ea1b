"""Queue estimate: the shares ahead of our orders as estimated, against the true ones.

The real engine under the seeded crowd, the whole trader with the ladder strategy, virtual time.
Every second the estimate of each resting order that a book has shown is set against the place that
the engine's own events give it. The error is in shares of the level it rests in, ours left out;
orders that stand alone at their price are left out too. Anchor: the same error of taking all
cancels to be behind us, and of taking all that is shown at the price to be ahead.
"""

from bench.crowded import START_NS, clock
from bench.maker import Among, traded
from bot.core.orders.transitions import State
from bot.core.trader import Trader
from strategies.ladder_joint import LadderJoint
from venue.crowd.settings import CrowdSettings
from venue.wire.instant import NS_PER_SECOND

_SEEDS = (7, 11, 23)


def _errors(seed: int, seconds: float) -> list[tuple[float, float, float, int]]:
    """Errors of the estimate, of the careful bound and of the level's size, as parts of the level;
    and whether the truth lay below both bounds (-1), within (0) or above (1)."""
    among = Among(clock(seed, seconds), CrowdSettings(seed=seed))
    out: list[tuple[float, float, float, int]] = []
    next_ns = START_NS + 30 * NS_PER_SECOND

    def sample(trader: Trader) -> None:
        nonlocal next_ns
        if among.now_ns < next_ns:
            return
        next_ns += NS_PER_SECOND
        for ladder in trader.quoting.ladders:
            for rung in ladder.rungs:
                for own in trader.desk.live(rung.market_id):
                    queue = rung.state.queues.queue_of(own)
                    if own.state is not State.OPEN or own.order_id is None or queue is None:
                        continue
                    true = among.queues.ahead(own.order_id)
                    if true is None or true[1] == 0 or not queue.is_placed:
                        continue
                    ahead, level = true
                    side = (ahead > queue.at_most) - (ahead < queue.at_least)
                    out.append(
                        (
                            abs(queue.likely - ahead) / level,
                            abs(queue.at_most - ahead) / level,
                            abs(level - ahead) / level,
                            side,
                        )
                    )

    traded(among, lambda: LadderJoint(LadderJoint.Params(levels=2)), sample)
    return out


def _at(errors: list[float], share: float) -> str:
    errors.sort()
    return f"{100 * errors[min(len(errors) - 1, int(share * len(errors)))]:.1f} %"


def run(quick: bool) -> list[tuple[str, str]]:
    """Rows of (figure, text). quick: one seed of the crowd for five minutes, not three for
    twenty."""
    samples = [
        each
        for seed in (_SEEDS[:1] if quick else _SEEDS)
        for each in _errors(seed, 300 if quick else 1_200)
    ]
    likely = [each[0] for each in samples]
    waiting = [each[0] for each in samples if each[2] < 1]
    above = sum(each[3] > 0 for each in samples)
    below = sum(each[3] < 0 for each in samples)
    return [
        ("samples", f"{len(samples)} orders in the book, one a second each"),
        ("median error", f"{_at(likely, 0.5)} of the level's size (aim 15 %)"),
        ("75th, 90th, 99th percentile", ", ".join(_at(likely, at) for at in (0.75, 0.9, 0.99))),
        (
            "the same where others stand ahead",
            ", ".join(_at(list(waiting), at) for at in (0.5, 0.75, 0.9, 0.99)),
        ),
        ("mean error", f"{100 * sum(likely) / max(1, len(likely)):.1f} %"),
        ("truth above the careful bound", f"{100 * above / max(1, len(samples)):.2f} %"),
        (
            "truth below the other bound",
            f"{100 * below / max(1, len(samples)):.1f} % (left and came between two books)",
        ),
        (
            "anchor: all cancels behind us, mean",
            f"{100 * sum(each[1] for each in samples) / max(1, len(samples)):.1f} %",
        ),
        (
            "anchor: whole level ahead, mean",
            f"{100 * sum(each[2] for each in samples) / max(1, len(samples)):.1f} %",
        ),
    ]
