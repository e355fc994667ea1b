"""In which order what may leave does: the most valuable first, unless not all of it finds room."""

from collections.abc import Iterable, Sequence

from bot.core.execution.suspected_fills import SuspectedFill
from bot.core.orders.manager import OrderManager
from bot.core.planning.actions import Action, CancelAction, CreateAction
from bot.core.quoting.market_quoter import MarketQuoter
from venue.wire.money import BookSide, Side, canonical
from venue.wire.names import MarketId

Ranked = tuple[float, int, MarketQuoter | None, Action | SuspectedFill]
"""What may leave: less its value, its place among equals, its rung (None of a read), and itself."""


def most_valuable_first(
    wishes: Sequence[tuple[MarketQuoter, Action]], hints: Sequence[SuspectedFill] = ()
) -> list[Ranked]:
    """All of them but the cancels. Of equal ones the wishes come as they are, then the reads."""
    rows: list[Ranked] = [
        (-wish.value, place, rung, wish)
        for place, (rung, wish) in enumerate(wishes)
        if not isinstance(wish, CancelAction)
    ]
    rows += [(-hint.value, len(wishes), None, hint) for hint in hints]
    rows.sort(key=lambda row: row[:2])
    return rows


def creates_of(rows: Iterable[Ranked]) -> list[tuple[MarketQuoter, CreateAction]]:
    """The new orders among what may leave."""
    return [
        (rung, candidate)
        for _, _, rung, candidate in rows
        if rung is not None and isinstance(candidate, CreateAction)
    ]


def nearest_first(rows: Iterable[Ranked]) -> list[Ranked]:
    """The same: what buys nothing new as it is, then the nearest to the touch of others, of equals
    that which is worth most for what it costs."""
    return sorted(rows, key=_nearness)


def sides_first(rows: Iterable[Ranked], desk: OrderManager) -> list[Ranked]:
    """The same as they are, but of new orders one for each side on which nothing of ours rests
    comes before all others: else the dearer side of every rung takes all."""
    first: list[Ranked] = []
    more: list[Ranked] = []
    begun: set[tuple[MarketId, BookSide]] = set()
    for row in rows:
        _, _, rung, candidate = row
        if rung is None or not isinstance(candidate, CreateAction):
            first.append(row)
            continue
        place, live = (rung.market_id, candidate.side), desk.live(rung.market_id)
        has_one = place in begun or any(own.side is candidate.side for own in live)
        begun.add(place)
        (more if has_one else first).append(row)
    return [*first, *more]


def _nearness(row: Ranked) -> tuple[int, float]:
    """Ticks by which a purchase would stand behind the best price of others on its side, below zero
    for anything else; and less its worth of each cent that it costs."""
    _, _, rung, candidate = row
    if rung is None or not isinstance(candidate, CreateAction) or candidate.own_side is Side.SELL:
        return -1, 0.0
    bids, asks = rung.others.shown
    if candidate.side is BookSide.BID:
        behind = bids[0][0] - candidate.price if bids else 0
    else:
        behind = candidate.price - asks[0][0] if asks else 0
    cents = canonical(candidate.outcome, candidate.price) * candidate.qty
    return max(0, behind), -candidate.value / cents
