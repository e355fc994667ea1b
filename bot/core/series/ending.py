"""What is complete: quotes on both sides, flat positions, and events that have settled and leave.

Readings: docs/assumptions.md#S21, #S22, #S33.
"""

from collections.abc import Iterable

from bot.core.account.ledgers import Ledgers
from bot.core.desk.desk import Desk
from bot.core.event.room import Ladder, Rung
from venue.wire import model


def is_flat(ladders: Iterable[Ladder], ledgers: Ledgers) -> bool:
    """Whether as many YES as NO shares are held of every rung that is not certain: of one that is
    nothing is sold any more."""
    return all(
        yes_qty == no_qty
        for ladder in ladders
        for rung in ladder.rungs
        if not rung.is_certain
        for yes_qty, no_qty in (ledgers.holdings(rung.market_id),)
    )


def all_two_sided(rungs: Iterable[Rung], desk: Desk) -> bool:
    """Whether there are rungs that are not decided, and on both sides of each our orders rest."""
    some = False
    for rung in rungs:
        if rung.decided is not None:
            continue
        if not rung.is_two_sided(desk):
            return False
        some = True
    return some


def departing(ladders: Iterable[Ladder], desk: Desk, ledgers: Ledgers, now_ns: int) -> list[Ladder]:
    """The events that settled long enough ago, rest nothing of ours and hold nothing of ours."""
    return [
        ladder
        for ladder in ladders
        if ladder.event.status is model.EventStatus.SETTLED
        and not any(desk.live(rung.market_id) for rung in ladder.rungs)
        and ledgers.may_forget(ladder.event, now_ns)
    ]
