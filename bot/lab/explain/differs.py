"""The first effect that differs, explained as `bot explain` does an order: from frame to token.

It is the decision as it is made now; the journal alone says what was asked for then. Of
an effect that is about no order there is no such chain.
"""

from collections.abc import Callable

import msgspec

from bot.core import messages as m
from bot.io.journal.records import Entry
from bot.lab.explain.explain import Explainer
from bot.lab.explain.explained import Decision
from bot.lab.explain.lives import Deed, Life, Lives
from bot.lab.replay.replay import Difference
from bot.lab.session import EVENTS, Placed, Run, placed_entries


class DifferingRequest(msgspec.Struct, frozen=True):
    """A request of the event that differs. side: then, now, or both where it is one order.
    decision: as it is made now; None where the rung is not known now. deed: the request."""

    side: str
    life: Life
    deed: Deed
    decision: Decision | None


def explained(
    run: Run, difference: Difference, explainer: Callable[[], Explainer]
) -> tuple[DifferingRequest, ...]:
    """What the trader decided there, of the order of either side; empty where neither is about one.

    explainer: makes one of this run. Raises JournalFault when the run cannot be lived again up to
    there.
    """
    found: list[DifferingRequest] = []
    for side, effect in (("now", difference.now), ("then", difference.then)):
        asked = _request(run, effect, difference)
        if asked is None:
            continue
        life, deed = asked
        if found and found[0].life.market_id == life.market_id and found[0].life.side is life.side:
            found[0] = msgspec.structs.replace(found[0], side="both")
            continue
        # Only what is asked for now has a plan and a token now.
        mine = deed if side == "now" else None
        number = difference.before[-1].number
        found.append(DifferingRequest(side, life, deed, explainer().of_event(number, life, mine)))
    return tuple(found)


def _request(run: Run, effect: m.Effect | None, difference: Difference) -> tuple[Life, Deed] | None:
    """The order that a request is about, and the request; None for any other effect."""
    if not isinstance(effect, m.Send) or not isinstance(effect.request, m.Write):
        return None
    at = difference.before[-1]
    lives = Lives()
    for placed in placed_entries(run.paths):
        lives.take(placed)
        if placed.number == at.number and type(placed.entry.message) in EVENTS:
            break
    lives.take(Placed(at.place, Entry(at.at_ns, effect), at.number))
    for life in lives.orders:
        for deed in reversed(life.deeds):
            if (deed.number, deed.request_id) == (at.number, effect.request_id):
                return life, deed
    return None
