"""What can become of a wish to trade at once, in one word each."""

import enum


class TakeFate(enum.StrEnum):
    """What became of a take, for the counters. The first three left; the others were dropped."""

    SENT = "sent"
    TRADED = "traded"  # its answer showed a fill
    EMPTY = "empty"  # its answer showed none
    UNQUOTABLE = "unquotable"  # the rung may not be quoted, or its book is in doubt
    UNSETTLED = "unsettled"  # the book does not show yet what we have just done
    UNDECIDED = "undecided"  # another take there, or an order of its side, has no clear answer
    MEETS_OWN = "meets_own"
    HELD_BACK = "held_back"  # a limit, a cap, a breaker, or no token
