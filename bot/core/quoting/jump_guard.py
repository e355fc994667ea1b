"""News over one event: a jump, or one trade that clears the touch, pulls all its rungs for a while.

One value drives every rung, so what is news to one of them is news to all. Whoever trades first
after it knows more than our quotes do: they are taken away at once, and made anew from what the
books and the feed say once the dust has settled.

See docs/pricing.md#section-1c-news.
"""

from collections import defaultdict, deque
from collections.abc import Iterable

import msgspec

from bot.core.settings import NewsSettings
from bot.strategy.api import Levels, RungView
from venue.wire.instant import NS_PER_MS
from venue.wire.money import BookSide, Price, Qty

_ONE_TRADE_NS = 50 * NS_PER_MS
"""Prints of one rung and side this close together are one taker's."""


_Touch = tuple[int, int, int]
"""When it was seen, bid and ask: of a rung's book, others' best."""


class _SweptLevels(msgspec.Struct, frozen=True):
    at_ns: int
    taker: BookSide
    qty: int


class JumpGuard:
    """The guard of one event."""

    def __init__(self, settings: NewsSettings) -> None:
        self._settings = settings
        self._touches: defaultdict[str, deque[_Touch]] = defaultdict(deque)
        self._sweeps: dict[str, _SweptLevels] = {}
        self.was_pulled = False  # when the event was decided last
        self.pulled_until_ns = 0  # its rungs are not quoted before
        self.why = ""  # in a few words

    # --- what happens -----------------------------------------------------------------------------

    def printed(
        self, name: str, price: Price, qty: Qty, taker: BookSide, book: tuple[Levels, Levels],
        now_ns: int,
    ) -> bool:  # fmt: skip
        """A trade was shown on the rung of this name. Whether it pulls the event.

        taker: BID when YES was bought. book: bids and asks as last shown, ours included; one that
        shows the trade already says so by the price being gone from it.
        """
        if not self._settings.print_qty:
            return False
        before = self._sweeps.get(name)
        if before and before.taker is taker and now_ns - before.at_ns <= _ONE_TRADE_NS:
            qty = Qty(qty + before.qty)
        self._sweeps[name] = _SweptLevels(now_ns, taker, qty)
        if qty < self._settings.print_qty:
            return False
        is_buy = taker is BookSide.BID
        touch = book[1 if is_buy else 0][:1]
        stands = touch and (touch[0][0] <= price if is_buy else touch[0][0] >= price)
        if stands and 100 * qty < self._settings.print_touch_pct * touch[0][1]:
            return False
        return self._pull(f"{name}: {qty} shares traded at {price} and cleared the touch", now_ns)

    def looked(self, rungs: Iterable[RungView], now_ns: int) -> bool:
        """The event is decided now. True if the touch of others has jumped on a rung, so that it
        is pulled. rungs: those that changed."""
        if not self._settings.jump_cents:
            return False
        moved = [self._moved(rung, now_ns) for rung in rungs]
        return any(moved)

    def _moved(self, rung: RungView, now_ns: int) -> bool:
        """Take in the touch of a rung. Both sides of it must have moved the same way: where one
        alone steps back, the book is thin and nothing is said about the value."""
        touches = self._touches[rung.ticker]
        if not rung.bids or not rung.asks:
            touches.clear()
            return False
        bid, ask = rung.bids[0][0], rung.asks[0][0]
        if touches and touches[-1][1:] == (bid, ask):
            return False
        from_ns, least = now_ns - self._settings.jump_ns, 2 * self._settings.jump_cents
        # The one before the window stood until it began.
        while len(touches) > 1 and touches[1][0] < from_ns:
            touches.popleft()
        for _, was_bid, was_ask in touches:
            up, down = bid - was_bid, ask - was_ask
            if up * down > 0 and abs(up + down) >= least:
                touches.clear()
                touches.append((now_ns, bid, ask))
                text = f"{was_bid}/{was_ask} became {bid}/{ask}"
                return self._pull(f"{rung.ticker}: {text}", now_ns)
        touches.append((now_ns, bid, ask))
        return False

    def _pull(self, why: str, now_ns: int) -> bool:
        """Pull the event from now on. Whether that is news: not while it is pulled already."""
        was_pulled = now_ns < self.pulled_until_ns
        self.pulled_until_ns = now_ns + self._settings.pull_ns
        if was_pulled:
            return False
        self.why = why
        return True

    def follow(self, settings: NewsSettings) -> None:
        """Hold to other settings from here on; what is pulled stays so for its time."""
        self._settings = settings
        if not settings.jump_cents:
            # Nobody looks from here on: what was seen says nothing of when a later touch came.
            self._touches.clear()

    # --- telling ----------------------------------------------------------------------------------

    def turns(self, now_ns: int) -> bool:
        """Whether the event is to be decided now, because it is pulled or no longer is."""
        return (now_ns < self.pulled_until_ns) is not self.was_pulled

    def is_pulled(self, now_ns: int) -> bool:
        """Whether the event is not to be quoted now; it is being decided."""
        self.was_pulled = now_ns < self.pulled_until_ns
        return self.was_pulled
