"""What is kept is what would be computed anew: a life lived again, with nothing kept, is the same.

What a plan, a limit or a price hangs on is kept until somebody tells that it is another.
Whoever forgets to tell changes what the bot does without breaking any limit; so each life is lived
again by a trader that works everything out at each turn, and has to have the same effects.
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
    """A method before which what it has kept is forgotten."""
    kept = home.__dict__[name]

    def anew(self: Any, *args: Any, **named: Any) -> Any:
        forget(self, *args)
        return kept(self, *args, **named)

    return Patch(home, name, anew)


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


def forgotten(name: str, value: Any) -> Forget:
    """One attribute is what it was when nothing had been found yet."""

    def forget(self: Any, *_: Any) -> None:
        setattr(self, name, value)

    return forget


ANEW = (
    before(QuotingEngine, "decide", no_plan),
    before(PortfolioRisk, "exposure", no_exposure),
    before(PortfolioRisk, "trim", no_trim),
    before(EventQuoter, "view", no_proof),
    before(LadderJoint, "quote", no_prices),
    before(MarketState, "settle_external", no_others),
)
"""Each has one thing that is kept worked out anew, wherever it is asked for."""


def lived_again(world: SimulatedWorld) -> int:
    """Live every life of a world again with nothing kept; how many there were. Raises `Broken` at
    the first other effect."""
    lives = [life for life in world.processes if life.log]
    with planted(ANEW):
        for life in lives:
            life.replay()
    return len(lives)


@pytest.mark.parametrize("seed", range(5_400_000, 5_400_008))
def test_cached_state_gives_the_same_effects_as_recomputation(seed):
    assert lived_again(run(draw(seed), replays=True))


def test_a_missed_invalidation_of_a_plan_is_detected():
    """The alarm works: what is kept where it should be forgotten makes another life."""

    def orders_changed(rung: MarketQuoter) -> None:
        rung.again_ns, rung.weighed = 0, False
        rung.state.on_own_change()
        rung.ladder.on_own_change()

    with planted((Patch(MarketQuoter, "orders_changed", orders_changed),)):
        world = run(draw(2, "calm"), replays=True)
        with pytest.raises(Broken, match="other effects"):
            lived_again(world)
