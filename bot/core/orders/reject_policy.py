"""The bot's actions after a rejected write: one row for each `Advice` of the errors table.

`venue.wire.errors` gives every code its advice, which is what a client may do. The row here is what
this bot does: the order event, the requests without a retry, and the pauses.
"""

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

from bot.core.orders.transitions import OrderEvent
from venue.wire.errors import Advice


class Then(enum.StrEnum):
    """The trader's action after the order event."""

    NOTHING = "nothing"  # the order's own recovery, or the budget of the key, goes on
    SUSPEND_VENUE = "suspend_venue"  # no writes but a probe every five seconds
    SUSPEND_MARKET = "suspend_market"  # until a later read of the series shows it active
    SUSPEND_FOR_FUNDS = "suspend_for_funds"  # a side of the market; balance and positions are read
    SUSPEND_SIDE = "suspend_side"  # of the market for a minute, with an error for a person
    SUSPEND_SIDE_IF_OFTEN = "suspend_side_if_often"  # after three within a minute


class RejectPolicy(NamedTuple):
    then: Then = Then.NOTHING
    of_create: OrderEvent = OrderEvent.REJECTED  # of a new order: what happened to it
    of_change: OrderEvent = OrderEvent.REJECTED  # of an amend or a cancel: likewise
    blocks: bool = False  # the same create or amend is never sent again
    counts: bool = False  # of one side of a market, three within a minute are often
    is_cancel_fault: bool = True  # a cancel rejected so counts towards the finding `cancels_fail`


POLICIES: Final[Mapping[Advice, RejectPolicy]] = {
    Advice.FIX: RejectPolicy(Then.SUSPEND_SIDE, blocks=True, counts=True),
    Advice.STOP_KEY: RejectPolicy(is_cancel_fault=False),
    Advice.WAIT: RejectPolicy(),
    Advice.READ_BACK: RejectPolicy(),
    # A change that funds do not suffice for is blocked all the same: the order is given up.
    Advice.REREAD_FUNDS: RejectPolicy(Then.SUSPEND_FOR_FUNDS, counts=True),
    Advice.PARK_MARKET: RejectPolicy(Then.SUSPEND_MARKET, is_cancel_fault=False),
    Advice.PARK_VENUE: RejectPolicy(Then.SUSPEND_VENUE, is_cancel_fault=False),
    Advice.EXISTS: RejectPolicy(of_create=OrderEvent.DUPLICATE_ID),
    Advice.ENDED: RejectPolicy(of_change=OrderEvent.TOO_LATE),
    Advice.LOOK_AGAIN: RejectPolicy(of_change=OrderEvent.NOT_FOUND, is_cancel_fault=False),
    Advice.GIVE_UP: RejectPolicy(Then.SUSPEND_SIDE_IF_OFTEN, blocks=True, counts=True),
    Advice.FRESH_WALK: RejectPolicy(),
}
