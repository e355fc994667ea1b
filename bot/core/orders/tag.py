"""What is remembered with an own order for the account of profit: its level, whose idea, what
for.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from bot.core.strategy import Quote
from venue.wire.money import BookSide, Price

_BID: Final = BookSide.BID


class Tag(NamedTuple):
    """Why an order stands: the place of its quote on its side, 0 at the touch, -1 when it is no
    quote of the plan; whose idea it was; and in a few words what for."""

    level: int
    strategy: str
    reason: str


UNTAGGED: Final = Tag(-1, "not known", "not known")
"""Of orders that this run did not place, or no longer remembers."""


def tag_of(planned: Iterable[Quote], side: BookSide, price: Price, strategy: str, why: str) -> Tag:
    """The tag of an order that leaves now for a canonical price. planned: the quotes of the plan
    that it serves. The reason is `why` without its numbers, so that there are few of them."""
    better = at = 0
    for quote in planned:
        if quote.side is side:
            at += quote.price == price
            better += quote.price > price if side is _BID else quote.price < price
    return Tag(better if at else -1, strategy, _reason(why))


def _reason(why: str) -> str:
    return re.sub(r" from [0-9].*|,? ?[0-9]+", "", why) or "not known"
