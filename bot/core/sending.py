"""From wishes to requests: what leaves now, in which order, and what waits for a halted venue.

Cancels go first; amends and creates follow by what they are worth, each admitted by every limit at
the instant it leaves. Nothing is queued: a wish that cannot leave is made anew at the next Beat.

Source: design, law 6 and The bot, items 5 and 6; reliability, rows 14, 31, 32, B3, B5.
"""

from bot.core import messages as m
from bot.core.desk import Desk
from bot.core.order import OwnOrder
from bot.core.outbox import Outbox
from bot.core.quoting import Quoting
from bot.core.reconcile import WantAmend, WantCancel, WantCreate, Wish
from bot.core.room import Rung
from bot.core.settings import TraderSettings
from venue.wire import codec
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Qty, canonical
from venue.wire.names import ClientOrderId
from venue.wire.requests import Amend, QtyOrder, TimeInForce

_VENUE_PARK_NS = 5 * NS_PER_SECOND
"""A venue that takes no writes is asked with one request this often (row 31)."""


class Sending:
    """Carries wishes out. `nonce` begins every client_order_id of the run."""

    def __init__(self, settings: TraderSettings, desk: Desk, quoting: Quoting, out: Outbox) -> None:
        self._settings = settings
        self._desk = desk
        self._quoting = quoting
        self._out = out
        self.nonce = ""
        self._orders_made = 0
        self._parked_until_ns: int | None = None
        self._cancels_parked = False

    def venue_refuses(self, code: str, now_ns: int) -> None:
        """The venue is halted, or takes cancels only: keep away but for a probe."""
        self._parked_until_ns = now_ns + _VENUE_PARK_NS
        self._cancels_parked = code == Code.VENUE_HALTED
        self._out.note("warning", "venue_parked", code=code)

    def venue_takes(self) -> None:
        """The venue carried a write out: it is open again."""
        self._parked_until_ns = None
        self._cancels_parked = False

    def _parked(self, now_ns: int) -> bool:
        """Whether the venue has told us to keep away; every five seconds one write may probe."""
        return self._parked_until_ns is not None and now_ns < self._parked_until_ns

    def cancel(self, wishes: list[tuple[Rung, Wish]], now_ns: int) -> None:
        """Send the cancels among the wishes."""
        parked = self._cancels_parked and self._parked(now_ns)
        for rung, wish in wishes:
            if not isinstance(wish, WantCancel) or not wish.order.is_free:
                continue
            if parked or not self._desk.send_cancel(wish.order, wish.why, now_ns):
                return
            rung.orders_changed()
            if self._cancels_parked:
                self._parked_until_ns = now_ns + _VENUE_PARK_NS
                return

    def quote(self, wishes: list[tuple[Rung, Wish]], now_ns: int) -> None:
        """Amends and creates, the most valuable first, for as long as they may be sent."""
        if self._parked(now_ns):
            return
        ranked = [
            (self._quoting.value(rung, wish), place, rung, wish)
            for place, (rung, wish) in enumerate(wishes)
            if not isinstance(wish, WantCancel) and rung.may_send
        ]
        ranked.sort(key=lambda row: (-row[0], row[1]))
        for _, _, rung, wish in ranked:
            if self._out.writes_in_flight >= self._settings.pace.requests_in_flight:
                return
            if self._parked_until_ns is not None and self._out.writes_in_flight:
                return
            if isinstance(wish, WantAmend):
                sent = self._amend(wish.order, wish.amend, wish.why, now_ns)
            else:
                assert isinstance(wish, WantCreate)
                sent = self._create(rung, wish, now_ns)
            if not sent:
                continue
            rung.orders_changed()
            if self._parked_until_ns is not None:
                self._parked_until_ns = now_ns + _VENUE_PARK_NS
                return

    def _amend(self, own: OwnOrder, amend: Amend, why: str, now_ns: int) -> bool:
        if amend.qty is not None and not self._desk.amends_of_size:
            if amend.price is None:
                return self._desk.send_cancel(own, "too much here", now_ns)
            amend = Amend(price=amend.price)
        # A smaller size too: fills may come first, and then the amend sets the remainder (S13).
        if not self._quoting.admits_amend(own, amend):
            return self._desk.send_cancel(own, "the change could pass a limit", now_ns)
        return self._desk.send_amend(own, amend, why, now_ns)

    def _create(self, rung: Rung, wish: WantCreate, now_ns: int) -> bool:
        if self._desk.live_count() >= self._settings.risk.resting_orders:
            return False
        qty = self._quoting.admits_create(rung, wish, now_ns)
        if qty < 1:
            return False
        self._orders_made += 1
        order = QtyOrder(
            rung.market_id,
            wish.outcome,
            wish.own_side,
            canonical(wish.outcome, wish.price),
            Qty(qty),
            TimeInForce.GTC,
            ClientOrderId(f"{self.nonce}-{self._orders_made}"),
        )
        request = m.Create(order, codec.encode_new_order(order), False)
        own = OwnOrder.first_sent(order, request.body, now_ns, wish.why)
        return self._desk.send_create(own, request, now_ns)
