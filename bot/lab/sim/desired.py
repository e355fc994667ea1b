"""B2: compares the engine's resting orders with the trader's targets, once the faults have stopped.

A side may miss quotes that a reject blocks (B12), whose price reaches too far through the best of
others, or that a limit leaves no room for.
"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from bot.core.execution.executor import REFUSED_BEFORE
from bot.lab.sim.scenario import SECOND
from bot.lab.sim.truth import BookPlace, level_of, side_of
from bot.strategy.api import Quote
from venue.wire.money import BookSide
from venue.wire.names import MarketId

if TYPE_CHECKING:
    from bot.core.quoting.event_quoter import MarketQuoter
    from bot.lab.sim.world import SimulatedWorld

_PCT = 50
_TOKENS_MISSING = 4
"""One more order takes a token to create and one to cancel; reads may just have taken some."""


def differences(world: "SimulatedWorld") -> list[str]:
    process, resolved = world.process, world.auditor.truth.resolved
    every = [rung for ladder in process.trader.quoting.ladders for rung in ladder.rungs]
    rungs = [rung for rung in every if rung.market_id not in resolved]
    listed = {market for market in world.crowd.value if market not in resolved}
    out = world.auditor.exposure.overhangs()
    out += [f"{each} is listed and not known" for each in listed - {it.market_id for it in every}]
    out += [
        f"{rung.market.ticker}: {rung.blocked}"
        for rung in rungs
        if rung.blocked
        and not cannot_be_known(world, rung)
        and not process.decided.decided_by(rung.market_id)
    ]
    out += _cut_for_nothing(world)
    quotes = [(rung.market_id, quote) for rung in rungs for quote in rung.wanted]
    excused = set(_excused(world, quotes))
    found = out + _apart(world, quotes, excused)
    if not found:
        return []
    # A plan is dear to draw, and shows the orders that the venue will not be asked for again.
    plan = process.trader.plan(process.clock.to_host_ns(world.now_ns))
    excused |= {
        _place(rung.market_id, each.side)
        for rung, each in plan.requests
        if each.held_back == REFUSED_BEFORE
    }
    return out + _apart(world, quotes, excused)


def _place(market: MarketId, side: BookSide) -> BookPlace:
    return market, side is BookSide.BID


def _cut_for_nothing(world: "SimulatedWorld") -> list[str]:
    out: list[str] = []
    if _is_long_to_flat(world):
        return out
    exposure, truth = world.auditor.exposure, world.auditor.truth
    ladders, most = world.process.trader.quoting.ladders, exposure.limit("order")
    most_held = exposure.limit("position")
    asked: Counter[BookPlace] = Counter()
    for ladder in ladders:
        for market, quotes in ladder.answered.items():
            for each in quotes:
                asked[_place(market, each.side)] += min(each.qty, most)
    total = sum(asked.values())
    for ladder in ladders:
        if ladder.health.fault:
            continue
        if any(abs(truth.net(rung.market_id)) > most_held for rung in ladder.rungs):
            continue  # it was lowered below the inventory, and so were limits that follow from it
        for rung in ladder.rungs:
            market = rung.market_id
            if rung.blocked or market in truth.resolved or exposure.is_tight(market, total):
                continue
            for side in BookSide:
                wanted = sum(each.qty for each in rung.wanted if each.side is side)
                net = truth.net(market) * (1 if side is BookSide.BID else -1)
                answered = asked[_place(market, side)]
                if wanted < answered and net + answered <= most_held:
                    out.append(f"{market} {side}: {wanted} wanted, {answered} answered")
    return out


def cannot_be_known(world: "SimulatedWorld", rung: "MarketQuoter") -> bool:
    """True if nothing can confirm a quiet book: none is pushed on request, and the market never
    traded, so that a read shows the zero instant (S28)."""
    return rung.market.last_price is None and not world.scenario.acks


def _excused(world: "SimulatedWorld", quotes: list[tuple[MarketId, Quote]]) -> Iterator[BookPlace]:
    process = world.process
    now_ns = process.clock.to_host_ns(world.now_ns)
    for market in world.crowd.value:
        for place in ((market, True), (market, False)):
            if process.traffic.is_wrong(place, now_ns):
                yield place
    for market, quote in quotes:
        place = _place(market, quote.side)
        through = process.feed.reaches(*place, quote.price, ())
        if through > process.settings.breakers.ticks_through:
            yield place


def _apart(
    world: "SimulatedWorld", quotes: list[tuple[MarketId, Quote]], excused: set[BookPlace]
) -> list[str]:
    """Sides with too much or too little, and orders where none is wanted."""
    pace = world.process.settings.pace
    wanted: Counter[BookPlace] = Counter()
    near: set[tuple[BookPlace, int]] = set()
    for market, quote in quotes:
        place, back = _place(market, quote.side), -1 if quote.side is BookSide.BID else 1
        if place not in excused:
            wanted[place] += quote.qty
            # From as bold as it is still worth having to as shy as is tolerated.
            bold = 0 if quote.limit is None else abs(quote.limit - quote.price)
            steps = range(-bold, pace.tolerance_ticks + 1)
            near.update((place, quote.price + back * away) for away in steps)
    have: Counter[BookPlace] = Counter()
    out: list[str] = []
    for order in world.auditor.truth.resting():
        place, level = side_of(order), level_of(order.outcome, order.price)
        if place not in excused:
            have[place] += order.remaining_qty
            if (place, level) not in near:
                out.append(f"not wanted: {place} {level} {order.remaining_qty}")
    # However eagerly sizes are mended, full levels wait until their orders can be merged cheaply.
    pct = max(_PCT, pace.resize_pct)
    for place, qty in wanted.items():
        there = have[place]
        if 100 * abs(there - qty) < max(1, qty * pct):
            continue
        tight = world.auditor.exposure.is_tight(place[0], qty - there)
        if there > qty or not (tight or _is_long_to_flat(world)):
            out.append(f"{place}: {there} rest, {qty} wanted")
    return out


def _is_long_to_flat(world: "SimulatedWorld") -> bool:
    settings, resting = world.process.settings, len(world.auditor.truth.resting())
    if resting + _TOKENS_MISSING >= settings.risk.resting_orders:
        return True
    budget = settings.budget
    most = budget.burst + budget.rate_per_second * settings.risk.flat_ns // SECOND
    everywhere = sum(len(each.auditor.truth.resting()) for each in world.worlds)
    return everywhere + _TOKENS_MISSING >= most


def has_full_levels(world: "SimulatedWorld") -> bool:
    levels = Counter(
        (own.market_id, own.book_side, own.yes_price, own.side)
        for own in world.process.trader.desk.live_orders
    )
    return max(levels.values(), default=0) >= world.process.settings.pace.orders_per_level_max


def has_emptied_books(world: "SimulatedWorld") -> bool:
    rungs = world.process.trader.quoting.active_rungs()
    return any(rung.blocked == "book emptied" for rung in rungs)


def why_not(world: "SimulatedWorld") -> str:
    trader = world.process.trader
    return (
        f"{differences(world)}; phase {trader.phase}; "
        f"states {[str(own.state) for own in trader.desk.live_orders]}; "
        f"findings {trader.out.findings}"
    )
