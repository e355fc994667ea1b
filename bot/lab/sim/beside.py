"""Somebody else who trades on the bot's account: whenever it is, and just as a life begins."""

import random
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.lab.sim.odds import SECOND
from venue.wire.money import BookSide, Outcome, canonical
from venue.wire.requests import TimeInForce

if TYPE_CHECKING:
    from bot.lab.sim.world import World

_TRADES: Final = (1, 1, 2, 3, 5)
_DOWN_NS: Final = (SECOND // 20, SECOND)


def trade_beside(world: "World", rng: random.Random) -> bool:
    """Buy a share for the bot's account, of others. False where nobody offers one."""
    fills = world.auditor.truth.fills
    known = len(fills)
    touches = [
        (market, side, levels[0][0])
        for market in world.crowd.value
        if market not in world.auditor.truth.resolved
        for side in BookSide
        if (levels := world.exchange.engine.depth(market, side))
        and levels[0][0] not in world.auditor.own_levels(market)
    ]
    if not touches:
        return False
    market, side, level = rng.choice(touches)
    outcome = Outcome.YES if side is BookSide.ASK else Outcome.NO
    price = canonical(outcome, level)
    world.crowd.twin(market, price, 1, TimeInForce.IOC, world.now_ns, outcome)
    return len(fills) > known


def begin_amid(world: "World", rng: random.Random) -> int:
    """Kill the bot; while the next life reads the account somebody else trades on it. Returns the
    instant after which all is over and listed."""
    down_ns, lag_ns = rng.choice(_DOWN_NS), world.odds.trust_lag_ns
    span_ns = down_ns + rng.choice((SECOND, 2 * SECOND, 2 * lag_ns, 4 * lag_ns))
    world.replace(world.process, down_ns, rng)
    for _ in range(rng.choice(_TRADES)):
        world.after(rng.randint(0, span_ns), partial(_trade, world, rng))
    return world.now_ns + span_ns + 2 * lag_ns + SECOND


def _trade(world: "World", rng: random.Random) -> None:
    if trade_beside(world, rng):
        world.seen.fault("begun_amid_trade")
