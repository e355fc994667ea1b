"""What rests against what is wanted, once the faults have stopped.

Wanted is the trader's own word; what rests is the engine's. An order may stand as far from its
quote as the settings tolerate, and a side that a refusal has parked may miss its quotes, as may one
whose very order the venue was made to refuse: that is not asked for again (B12). So may one whose
price would reach too far through the best one of others.
"""

from collections import Counter
from collections.abc import Container
from typing import TYPE_CHECKING

from bot.core.event.curfew import Stage
from bot.core.sending.sending import REFUSED_BEFORE
from bot.core.strategy import Quote
from bot.lab.sim.judge.possible import DOLLAR
from bot.lab.sim.odds import SECOND
from venue.wire.money import BookSide, Outcome, Side
from venue.wire.names import MarketId

if TYPE_CHECKING:
    from bot.core.event.rung import Rung
    from bot.lab.sim.world import World

_PCT = 50
_TOKENS_MISSING = 4
"""One more order takes a token to create and one to cancel; reads may just have taken some."""

Key = tuple[MarketId, BookSide, int]


def differences(world: "World") -> list[str]:
    process = world.process
    trader = process.trader
    out: list[str] = []
    resting: dict[Key, int] = {}
    for order in world.auditor.truth.resting():
        is_yes = order.outcome is Outcome.YES
        is_bid = is_yes == (order.side is Side.BUY)
        level = order.price if is_yes else DOLLAR - order.price
        key = (order.market_id, BookSide.BID if is_bid else BookSide.ASK, level)
        resting[key] = resting.get(key, 0) + order.remaining_qty
    out += world.auditor.exposure.overhangs()
    known = {rung.market_id for ladder in trader.quoting.ladders for rung in ladder.rungs}
    listed = (each for each in world.crowd.value if each not in world.auditor.truth.resolved)
    out += [f"{market} is listed and not known" for market in listed if market not in known]
    rungs = [
        rung
        for ladder in trader.quoting.ladders
        for rung in ladder.rungs
        if rung.market_id not in world.auditor.truth.resolved
    ]
    out += [
        f"{rung.market.ticker}: {rung.blocked}"
        for rung in rungs
        if rung.blocked
        and not cannot_be_known(world, rung)
        and not process.decided.why(rung.market_id)
    ]
    out += _cut_for_nothing(world)
    now_ns = process.clock.read(world.now_ns)
    quotes = [(rung.market_id, quote) for rung in rungs for quote in rung.wanted]
    found = out + _but_for_parked(world, quotes, dict(resting), set())
    if not found:
        return []
    # A plan is dear to draw, and tells of the orders that the venue will not be asked for again.
    refused = {
        (rung.market_id, each.side)
        for rung, each in trader.plan(now_ns).requests
        if each.held_back == REFUSED_BEFORE
    }
    return out + _but_for_parked(world, quotes, resting, refused) if refused else found


def _cut_for_nothing(world: "World") -> list[str]:
    """Sides that are wanted smaller than the strategy has answered, though no limit is near: all
    that was answered might be live, and more. Where not all that is wanted may rest, what does says
    little of how near one is."""
    out: list[str] = []
    if _is_long_to_flat(world):
        return out
    exposure, truth = world.auditor.exposure, world.auditor.truth
    ladders, most = world.process.trader.quoting.ladders, exposure.ceilings.limit("order")
    most_held = exposure.ceilings.limit("position")
    asked: dict[tuple[MarketId, BookSide], int] = {}
    for ladder in ladders:
        for market, quotes in ladder.answers.resting.items():
            for each in quotes:
                place = market, each.side
                asked[place] = asked.get(place, 0) + min(each.qty, most)
    total = sum(asked.values())
    for ladder in ladders:
        if ladder.stage is not Stage.OPEN or ladder.conduct.fault:
            continue
        if any(abs(truth.net(rung.market_id)) > most_held for rung in ladder.rungs):
            continue  # it was lowered under what is held, and so were limits that follow from it
        for rung in ladder.rungs:
            market = rung.market_id
            if rung.blocked or market in truth.resolved or exposure.is_tight(market, total):
                continue
            for side in BookSide:
                wanted = sum(each.qty for each in rung.wanted if each.side is side)
                net = truth.net(market) * (1 if side is BookSide.BID else -1)
                all_of_it = asked.get((market, side), 0)
                near = net + all_of_it > most_held
                if wanted < all_of_it and not near:
                    out.append(f"{market} {side}: {wanted} wanted, {all_of_it} answered")
    return out


def cannot_be_known(world: "World", rung: "Rung") -> bool:
    """Whether nothing can tell that a quiet book still stands: none is pushed when asked for, and a
    read of a market that never traded shows the zero instant (S28)."""
    return rung.market.last_price is None and not world.odds.acks


def _but_for_parked(
    world: "World",
    wanted: list[tuple[MarketId, Quote]],
    resting: dict[Key, int],
    refused: Container[tuple[MarketId, BookSide]],
) -> list[str]:
    process = world.process
    now_ns = process.clock.read(world.now_ns)

    # What would reach too far through the best price of others is not sent.
    most = process.settings.breakers.ticks_through
    capped = {
        (market, quote.side)
        for market, quote in wanted
        if process.feed.reaches(market, quote.side is BookSide.BID, quote.price, ()) > most
    }

    def is_excused(market: MarketId, side: BookSide) -> bool:
        parked = process.traffic.parked((market, side is BookSide.BID), now_ns)
        return (market, side) in refused or (market, side) in capped or parked

    quotes = [(market, quote) for market, quote in wanted if not is_excused(market, quote.side)]
    wanted_sides = {(market, quote.side) for market, quote in quotes}
    for market, side, level in list(resting):
        if (market, side) not in wanted_sides and is_excused(market, side):
            del resting[market, side, level]
    return _differences(world, quotes, resting)


def _differences(
    world: "World", quotes: list[tuple[MarketId, Quote]], resting: dict[Key, int]
) -> list[str]:
    out: list[str] = []
    slack = world.process.settings.pace.tolerance_ticks
    # However eagerly sizes are mended, full levels wait until their orders can be merged cheaply.
    pct = max(_PCT, world.process.settings.pace.resize_pct)
    wanted: dict[tuple[MarketId, BookSide], int] = {}
    near: dict[Key, None] = {}
    for market, quote in quotes:
        back = -1 if quote.side is BookSide.BID else 1
        wanted[market, quote.side] = wanted.get((market, quote.side), 0) + quote.qty
        # From as bold as it is still worth having to as shy as is tolerated.
        bold = 0 if quote.limit is None else abs(quote.limit - quote.price)
        for away in range(-bold, slack + 1):
            near[market, quote.side, quote.price + back * away] = None
    have = {
        place: sum(size for key, size in resting.items() if key[:2] == place) for place in wanted
    }
    too_much = any(have[place] > qty for place, qty in wanted.items())
    exact = {(market, quote.side, int(quote.price)) for market, quote in quotes}
    aside = any(key not in exact for key in resting)
    for (market, side), qty in wanted.items():
        there = have[market, side]
        if 100 * abs(there - qty) < max(1, qty * pct):
            continue
        # Where other sides hold a little too much, or stand a tick bolder for their place's sake, a
        # limit may leave no room for what is missing.
        if (
            there < qty
            and (too_much or aside)
            and world.auditor.exposure.is_tight(market, qty - there)
        ):
            continue
        if there < qty and _is_long_to_flat(world):
            continue
        out.append(f"{market} {side}: {there} rest, {qty} wanted")
    return out + [f"not wanted: {key} {qty}" for key, qty in resting.items() if key not in near]


def _is_long_to_flat(world: "World") -> bool:
    settings, resting = world.process.settings, len(world.auditor.truth.resting())
    if resting + _TOKENS_MISSING >= settings.risk.resting_orders:
        return True
    budget = settings.budget
    most = budget.burst + budget.rate_per_second * settings.risk.flat_ns // SECOND
    everywhere = sum(len(each.auditor.truth.resting()) for each in world.together)
    return everywhere + _TOKENS_MISSING >= most


def has_full_levels(world: "World") -> bool:
    levels = Counter(
        (own.market_id, own.side, own.level, own.own_side)
        for own in world.process.trader.desk.all_live()
    )
    return max(levels.values(), default=0) >= world.process.settings.pace.siblings


def has_emptied_books(world: "World") -> bool:
    rungs = world.process.trader.quoting.active_rungs()
    return any(rung.blocked == "book emptied" for rung in rungs)


def why_not(world: "World") -> str:
    trader = world.process.trader
    states = [str(own.state) for own in trader.desk.all_live()]
    blocked = {
        rung.market.ticker: rung.blocked
        for ladder in trader.quoting.ladders
        for rung in ladder.rungs
        if rung.blocked
    }
    return (
        f"{differences(world)}; phase {trader.phase}; states {states}; blocked {blocked}; "
        f"findings {trader.out.findings}"
    )
