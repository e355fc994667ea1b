"""Somebody else who trades on the bot's account: whenever it is, and just as a life begins.

Source: reliability, rows 54, 59, 63.
"""

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
_HIDDEN: Final = 0.4
_HIDDEN_NS: Final = 8 * SECOND


def trade_beside(world: "World", rng: random.Random) -> list[str]:
    """Buy a share for the bot's account, of others. Returns the fills, by their ids; none where
    nobody offers."""
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
        return []
    market, side, level = rng.choice(touches)
    outcome = Outcome.YES if side is BookSide.ASK else Outcome.NO
    price = canonical(outcome, level)
    world.crowd.twin(market, price, 1, TimeInForce.IOC, world.now_ns, outcome)
    return [fill.fill_id for _, fill in fills[known:]]


def may_lack_a_fill(world: "World") -> bool:
    """Whether the list of fills may lack one: what a share paid that was never listed no cash
    tells."""
    return not (world.odds.has("market_resolve") or world.odds.has("event_ends"))


def listed(world: "World", fills: list[str]) -> None:
    """The list of fills shows what it lacked."""
    exchange = world.exchange
    for name in fills:
        if name in exchange.unlisted:
            del exchange.unlisted[name]
            exchange.relisted[name] = None


def begin_amid(world: "World", rng: random.Random) -> int:
    """Kill the bot; while the next life reads the account somebody else trades on it, and some of
    that the list of fills shows late. Returns the instant after which all is over and listed."""
    down_ns, lag_ns = rng.choice(_DOWN_NS), world.odds.trust_lag_ns
    span_ns = down_ns + rng.choice((SECOND, 2 * SECOND, 2 * lag_ns, 4 * lag_ns))
    world.replace(world.process, down_ns, rng)
    for _ in range(rng.choice(_TRADES)):
        world.after(rng.randint(0, span_ns), partial(_trade, world, rng))
    return world.now_ns + span_ns + _HIDDEN_NS + 2 * lag_ns + SECOND


def _trade(world: "World", rng: random.Random) -> None:
    traded = trade_beside(world, rng)
    hidden_ns = rng.randint(0, _HIDDEN_NS + 2 * world.odds.trust_lag_ns)
    if traded:
        world.seen.fault("begun_amid_trade")
        if rng.random() < _HIDDEN and may_lack_a_fill(world):
            world.exchange.unlisted.update(dict.fromkeys(traded))
            world.after(hidden_ns, partial(listed, world, traded))
