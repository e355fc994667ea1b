"""Claims that cached state does not change what the bot does.

Plans, limits and prices are cached until something invalidates them. A missed invalidation changes
effects without breaking a limit. So each run is replayed by a trader that recomputes everything at
each turn, and has to have the same effects.
"""

from collections.abc import Callable
from typing import Any

import pytest

from bot.core.market_data.market_state import MarketState
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.quoting.portfolio_risk import PortfolioRisk
from bot.lab.sim.run import run
from bot.lab.sim.scenario import draw
from bot.lab.sim.truth import Broken
from bot.lab.sim.world import SimulatedWorld
from strategies.ladder_joint import LadderJoint
from tests.mutants.bug import Patch, planted

Forget = Callable[..., None]


def before(home: type, name: str, forget: Forget) -> Patch:
    """A method that resets its cache before each call."""
    kept = home.__dict__[name]

    def recomputing(self: Any, *args: Any, **named: Any) -> Any:
        forget(self, *args)
        return kept(self, *args, **named)

    return Patch(home, name, recomputing)


def no_plan(quoting: QuotingEngine, *_: Any) -> None:
    for ladder in quoting.ladders:
        for rung in ladder.rungs:
            rung.ours = None


def no_exposure(weighing: PortfolioRisk, ladder: EventQuoter) -> None:
    weighing.reset_exposure(ladder)
    for rung in ladder.rungs:
        rung.weighed = False


def no_trim(weighing: PortfolioRisk, ladder: EventQuoter, *_: Any) -> None:
    if (trimmer := weighing._trimmers.get(ladder.event.event_ticker)) is not None:
        trimmer._held = None


def no_proof(ladder: EventQuoter, *_: Any) -> None:
    ladder._valid.clear()


def no_prices(strategy: LadderJoint, _view: Any) -> None:
    strategy._priced.clear()
    for rung in strategy._rungs:
        rung.key, rung.slow = None, ()


def no_others(state: MarketState, *_: Any) -> None:
    state._own = state._without_own = None


RECOMPUTED = (
    before(QuotingEngine, "decide", no_plan),
    before(PortfolioRisk, "exposure", no_exposure),
    before(PortfolioRisk, "trim", no_trim),
    before(EventQuoter, "view", no_proof),
    before(LadderJoint, "quote", no_prices),
    before(MarketState, "settle_external", no_others),
)
"""Each patch recomputes one cached value at every use."""


def replay_recomputing(world: SimulatedWorld) -> int:
    """Replay every process of a world without caches; how many there were. Raises `Broken` at the
    first other effect."""
    lives = [life for life in world.processes if life.log]
    with planted(RECOMPUTED):
        for life in lives:
            life.replay()
    return len(lives)


@pytest.mark.parametrize("seed", range(5_400_000, 5_400_008))
def test_cached_state_gives_the_same_effects_as_recomputation(seed):
    assert replay_recomputing(run(draw(seed), replays=True))


def test_a_missed_invalidation_of_a_plan_is_detected():

    def orders_changed(rung: MarketQuoter) -> None:
        rung.again_ns, rung.weighed = 0, False
        rung.state.on_own_change()
        rung.ladder.on_own_change()

    with planted((Patch(MarketQuoter, "orders_changed", orders_changed),)):
        world = run(draw(2, "calm"), replays=True)
        with pytest.raises(Broken, match="other effects"):
            replay_recomputing(world)
