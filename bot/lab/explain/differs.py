"""The first effect that differs, told as `bot explain` tells of an order: from frame to token.

What is told is the decision as it is made now; the journal alone says what was asked for then. Of
an effect that is about no order there is no such chain.
"""

from collections.abc import Callable, Iterator
from itertools import chain, takewhile

import msgspec

from bot.core import messages as m
from bot.io.journal.records import Entry
from bot.lab.explain.explain import Explainer
from bot.lab.explain.explained import Decision
from bot.lab.explain.lives import Deed, Life, Lives
from bot.lab.replay.again import Difference
from bot.lab.session import Placed, Run, placed_entries


class Told(msgspec.Struct, frozen=True):
    """A request of the event that differs. side: then, now, or both where it is one order.
    decision: as it is made now; None where the rung is not known now. deed: the request."""

    side: str
    life: Life
    deed: Deed
    decision: Decision | None


def explained(
    run: Run, difference: Difference, explainer: Callable[[], Explainer]
) -> tuple[Told, ...]:
    """What the trader decided there, of the order of either side; empty where neither is about one.

    explainer: makes one of this run. Raises JournalFault when the run cannot be lived again up to
    there.
    """
    at = difference.before[-1]
    told: list[Told] = []
    sides = [("now", difference.now), ("then", difference.then)]
    found = [(side, _request(run, effect, difference)) for side, effect in sides]
    known = [(side, *request) for side, request in found if request is not None]
    for side, life, deed in known:
        if told and told[0].life.market_id == life.market_id and told[0].life.side is life.side:
            told[0] = msgspec.structs.replace(told[0], side="both")
            continue
        # Only what is asked for now has a plan and a token now.
        mine = deed if side == "now" else None
        told.append(Told(side, life, deed, explainer().of_event(at.number, life, mine)))
    return tuple(told)


def _request(run: Run, effect: m.Effect | None, difference: Difference) -> tuple[Life, Deed] | None:
    """The order that a request is about, and the request; None for any other effect."""
    if not isinstance(effect, m.Send) or not isinstance(effect.request, m.Write):
        return None
    at = difference.before[-1]
    lives = Lives()
    asked = Placed(at.place, Entry(at.at_ns, effect), at.number)
    lives.read_entries(chain(_before(run, at.number), [asked]), run.started.boot_nonce)
    for life in lives.orders:
        for deed in reversed(life.deeds):
            if (deed.number, deed.request_id) == (at.number, effect.request_id):
                return life, deed
    return None


def _before(run: Run, number: int) -> Iterator[Placed]:
    """The entries up to the event of a number, itself included."""
    return takewhile(
        lambda placed: (
            placed.number < number
            or (placed.number == number and isinstance(placed.entry.message, m.Event))
        ),
        placed_entries(run.paths),
    )
