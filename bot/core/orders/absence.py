"""How an order that the venue has shown is found to be gone: by four answers, no one of them alone.

A venue that was set back to an earlier state knows nothing of what it has acknowledged since. Such
an order is not in the lists, a read by its id answers 404, and so does its cancel, which is the
engine's own word, unless that ended it, or it or an amend was told before that the order is over.
One 404 may be a mistake and a list may lag, so all of them have to agree, reads begun a lag after
that word and lists a lag apart; whatever shows the order again begins anew. One with an undecided
amend may rest under another id: of it no list may show anything that it could be, either.

Source: reliability, rows 29, 36, B7; interface, DELETE /orders/{order_id}.
"""

from typing import Final

import msgspec

from venue.wire.instant import NS_PER_SECOND

_AGAIN_MAX_NS: Final = 10 * NS_PER_SECOND


class Absence(msgspec.Struct, frozen=True):
    """What has been said of one order.

    since_ns: when a cancel of it was first answered by 404 or ended it, or one or an amend was told
    that it is over.
    read: whether a read by its id, begun late enough after that, answered 404 too. list_ns: when
    the first list of those running that lack it began, late enough. lists: whether another one did
    a lag later.
    """

    since_ns: int
    read: bool = False
    list_ns: int | None = None
    lists: bool = False

    @property
    def is_proven(self) -> bool:
        """Whether everything that could show it says that there is no such order."""
        return self.read and self.lists

    def again_ns(self, least_ns: int, now_ns: int) -> int:
        """How long until it is asked about again, `least_ns` or more: the longer, the longer its
        cancel and a read both say that there is none. The lists that have the last word need the
        tokens, where there are many such orders."""
        return max(least_ns, min(now_ns - self.since_ns, _AGAIN_MAX_NS)) if self.read else least_ns

    def by_read(self, begun_ns: int, lag_ns: int) -> "Absence":
        """The same, after a read by its id that was sent at `begun_ns` and answered 404."""
        late = begun_ns >= self.since_ns + lag_ns
        return msgspec.structs.replace(self, read=True) if late else self

    def by_list(self, begun_ns: int, lag_ns: int) -> "Absence":
        """The same, after a whole list, begun at `begun_ns`, that does not show it."""
        if begun_ns < self.since_ns + lag_ns:
            return self
        if self.list_ns is None:
            return msgspec.structs.replace(self, list_ns=begun_ns)
        late = begun_ns >= self.list_ns + lag_ns
        return msgspec.structs.replace(self, lists=True) if late else self
