"""Groups our fills by what others showed just before them, seen from our side.

A fill that made us longer YES is `with` a book or a taker flow that leaned up, and `against` one
that leaned down; a fill that made us shorter the other way round.
"""

from enum import StrEnum
from typing import Final

from venue.wire.money import BookSide

LEAN_MIN: Final = 1 / 3
"""A book leans from here on: one side has twice the shares of the other (judgement)."""

FLOW_MIN_QTY: Final = 1.0
"""A taker flow leans from this many shares on (judgement)."""


class Leaning(StrEnum):
    WITH = "with"
    NEUTRAL = "neutral"
    AGAINST = "against"
    UNKNOWN = "unknown"  # the book had an empty side, or there was no view before the fill


def leaning(side: BookSide, lean: float | None, least: float) -> Leaning:
    """The group of a fill.

    side: BID if the fill made us longer YES. lean: of the book, or the signed taker flow in shares;
    above 0 is up, None is unknown. least: a smaller one, of either sign, is neutral.
    """
    if lean is None:
        return Leaning.UNKNOWN
    if abs(lean) < least:
        return Leaning.NEUTRAL
    return Leaning.WITH if (lean > 0) is (side is BookSide.BID) else Leaning.AGAINST
