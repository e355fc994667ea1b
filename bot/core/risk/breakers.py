"""The breakers: bounds that no strategy can make this process pass.

They are independent of the strategy and of the loss limits: rates of writes, creates, notional,
fills and rejects in exact sliding windows, money lost, and the age of unknown orders. A write that
would pass a limit is not sent and trips its breaker; everything else trips at the next judgement. A
tripped breaker stays so until `rearm`. The caps on one single create are compiled: no configuration
can lift them.
"""

from collections import deque
from typing import Final

import msgspec

from bot.core.messages import AmendResting, Create, Request
from bot.core.report import BreakerReport
from bot.core.settings import BreakerSettings, RiskSettings
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Cents, notional

ORDER_QTY_CAP: Final = 10_000
ORDER_NOTIONAL_CENTS_CAP: Final = 1_000_000
TICKS_THROUGH_CAP: Final = 25
"""The compiled caps. A configuration beyond one is refused: this file would have to change too."""

_SECOND_NS: Final = NS_PER_SECOND
_MINUTE_NS: Final = 60 * NS_PER_SECOND
_ORDERS_MIN: Final = 20
_SETS: Final = 3
"""How often everything that may rest may be touched in a second, or placed or filled in a minute,
before that is mad."""


def limits_of(settings: BreakerSettings, risk: RiskSettings) -> BreakerSettings:
    """The settings with every 0 derived from the other limits.

    A second may pull, place and change all orders that may rest; a minute may place or fill them
    three times over, and create what the largest of them pay out; profit may fall below its start
    by the loss limit of the series, and below its highest by twice that. A bot of a few orders has
    the rates of one of twenty: it may follow a market just as fast.
    """
    orders = max(risk.resting_orders, _ORDERS_MIN)
    shares = orders * risk.order_qty
    return msgspec.structs.replace(
        settings,
        writes_per_second=settings.writes_per_second or _SETS * orders,
        creates_per_minute=settings.creates_per_minute or _SETS * orders,
        notional_cents_per_minute=settings.notional_cents_per_minute or PAYOUT_CENTS * shares,
        fills_per_minute=settings.fills_per_minute or _SETS * orders,
        filled_qty_per_minute=settings.filled_qty_per_minute or shares,
        loss_cents=settings.loss_cents or risk.series_loss_cents,
        drawdown_cents=settings.drawdown_cents or 2 * risk.series_loss_cents,
        order_notional_cents=min(
            settings.order_notional_cents or PAYOUT_CENTS * risk.order_qty,
            ORDER_NOTIONAL_CENTS_CAP,
        ),
        ticks_through=min(settings.ticks_through, TICKS_THROUGH_CAP),
    )


class Window:
    """The sum of what was added within the last `span_ns`, exact up to `limit`.

    An entry leaves after `span_ns`. Old entries are dropped once the newer ones alone exceed the
    limit, so at most `limit` + 1 are kept, and the comparison with the limit is always exact.
    """

    def __init__(self, span_ns: int, limit: int) -> None:
        """span_ns: > 0. limit: >= 1, the largest sum that is not over it."""
        self._span_ns = span_ns
        self.limit = limit
        self._entries: deque[tuple[int, int]] = deque()
        self.kept = 0
        """The sum of the entries kept: `total` is no more."""

    def __len__(self) -> int:
        """Entries kept."""
        return len(self._entries)

    def add_amount(self, amount: int, now_ns: int) -> None:
        """Count `amount` >= 1 at this instant. Time never steps back."""
        while self._entries and self._entries[0][0] <= now_ns - self._span_ns:
            self.kept -= self._entries.popleft()[1]
        self._entries.append((now_ns, amount))
        self.kept += amount
        while self.kept - self._entries[0][1] > self.limit:
            self.kept -= self._entries.popleft()[1]

    def total(self, now_ns: int) -> int:
        """The sum now; exact while it is not over the limit, else some number above it.

        Changes nothing, so that a picture drawn between two events leaves the next one as it was.
        """
        gone_ns, total = now_ns - self._span_ns, self.kept
        for at_ns, amount in self._entries:
            if at_ns > gone_ns:
                break
            total -= amount
        return total

    def clear(self) -> None:
        self._entries.clear()
        self.kept = 0


class CircuitBreakers:
    """All of them. `now_ns` never steps back.

    tripped: the name and the numbers of the first that tripped; empty while none has. trips: how
    often each one did since the start. limits: those in force.
    """

    def __init__(self, limits: BreakerSettings) -> None:
        """limits: as `limits_of` gives them."""
        self.limits = limits
        self.tripped = ""
        self.trips: dict[str, int] = {}
        self._writes = Window(_SECOND_NS, limits.writes_per_second)
        self._creates = Window(_MINUTE_NS, limits.creates_per_minute)
        self._notional = Window(_MINUTE_NS, limits.notional_cents_per_minute)
        self._fills = Window(_MINUTE_NS, limits.fills_per_minute)
        self._filled_qty = Window(_MINUTE_NS, limits.filled_qty_per_minute)
        self._rejects = Window(_MINUTE_NS, limits.rejects_per_minute)
        self._windows = {
            "writes_per_second": self._writes,
            "creates_per_minute": self._creates,
            "notional_cents_per_minute": self._notional,
            "fills_per_minute": self._fills,
            "filled_qty_per_minute": self._filled_qty,
            "rejects_per_minute": self._rejects,
        }
        self._opening_cents: int | None = None
        self._peak_cents = 0
        self._lost_cents = 0
        self._drawdown_cents = 0
        self._unknown_ns = 0

    # --- sending ----------------------------------------------------------------------------------

    def admits(self, request: Create | AmendResting, now_ns: int) -> bool:
        """True if a new create or an amend may leave. False trips the breaker whose limit it would
        pass, or says that one has tripped."""
        if self.tripped:
            return False
        amounts = [("writes_per_second", 1)]
        if isinstance(request, Create):
            cents = notional_of(request)
            amounts += [("creates_per_minute", 1), ("notional_cents_per_minute", cents)]
        for name, amount in amounts:
            window = self._windows[name]
            used = window.total(now_ns) + amount
            if used > window.limit:
                self._trip(name, used, window.limit)
                return False
        return True

    def on_send(self, request: Request, now_ns: int) -> None:
        """A write has left. The retry of a create is a write only."""
        self._writes.add_amount(1, now_ns)
        if isinstance(request, Create) and not request.again:
            self._creates.add_amount(1, now_ns)
            self._notional.add_amount(notional_of(request), now_ns)

    # --- seeing -----------------------------------------------------------------------------------

    def on_reject(self, now_ns: int) -> None:
        """The venue found a write of ours wrong: a bug of ours."""
        self._rejects.add_amount(1, now_ns)

    def on_fills(self, count: int, qty: int, now_ns: int) -> None:
        """Fills were booked: so many, of so many shares together; each >= 1."""
        self._fills.add_amount(count, now_ns)
        self._filled_qty.add_amount(qty, now_ns)

    def rebase(self, cents: int) -> None:
        """Shift the reference of profit by so much, which is neither loss nor gain."""
        if self._opening_cents is not None:
            self._opening_cents += cents
            self._peak_cents += cents

    def judge(self, pnl_cents: int | None, oldest_unknown_ns: int, now_ns: int) -> str:
        """The name and the numbers of a trip; empty when nothing has tripped.

        pnl_cents: profit in whole cents, None before the books are open; the first one given is
        the opening. oldest_unknown_ns: age of the oldest write without a definite answer, 0 when
        there is none.
        """
        self._unknown_ns = oldest_unknown_ns
        if pnl_cents is not None:
            if self._opening_cents is None:
                self._opening_cents = self._peak_cents = pnl_cents
            self._peak_cents = max(self._peak_cents, pnl_cents)
            self._lost_cents = max(0, self._opening_cents - pnl_cents)
            self._drawdown_cents = self._peak_cents - pnl_cents
        if not self.tripped:
            self._trip_over(now_ns)
        return self.tripped

    def _trip_over(self, now_ns: int) -> None:
        """Trip the first breaker that is over its limit, in the order of `levels`."""
        for name, window in self._windows.items():
            if window.kept > window.limit and (used := window.total(now_ns)) > window.limit:
                self._trip(name, used, window.limit)
                return
        limits = self.limits
        if self._lost_cents > limits.loss_cents:
            self._trip("loss_cents", self._lost_cents, limits.loss_cents)
        elif self._drawdown_cents > limits.drawdown_cents:
            self._trip("drawdown_cents", self._drawdown_cents, limits.drawdown_cents)
        elif self._unknown_ns > limits.unknown_age_ns:
            self._trip("unknown_age_ns", self._unknown_ns, limits.unknown_age_ns)

    def levels(self, now_ns: int) -> tuple[BreakerReport, ...]:
        """The use of each limit."""
        limits = self.limits
        return (
            *[BreakerReport(name, w.total(now_ns), w.limit) for name, w in self._windows.items()],
            BreakerReport("loss_cents", self._lost_cents, limits.loss_cents),
            BreakerReport("drawdown_cents", self._drawdown_cents, limits.drawdown_cents),
            BreakerReport("unknown_age_ns", self._unknown_ns, limits.unknown_age_ns),
        )

    def set_limits(self, limits: BreakerSettings, now_ns: int) -> None:
        """Change the limits, as `limits_of` gives them. A sum over a former limit trips:
        a window that was over it no longer knows by how much."""
        if not self.tripped:
            self._trip_over(now_ns)
        self.limits = limits
        for name, window in self._windows.items():
            window.limit = getattr(limits, name)

    def rearm(self) -> None:
        """A person has looked: count from zero, and profit from its next value."""
        self.tripped = ""
        for window in self._windows.values():
            window.clear()
        self._opening_cents = None
        self._lost_cents = self._drawdown_cents = 0

    def _trip(self, name: str, used: int, limit: int) -> None:
        self.tripped = f"{name}: {used}, at most {limit}"
        self.trips[name] = self.trips.get(name, 0) + 1


def notional_of(request: Create) -> Cents:
    """The notional of a create at its limit, in cents of its own outcome."""
    return notional(request.order.price, request.order.qty)
