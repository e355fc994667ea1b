"""Planted bugs of group C: the life of an order told wrong, and writes that should not be made."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from bot.core import messages as m
from bot.core.account.account import Account, Walk
from bot.core.desk.desk import Desk
from bot.core.desk.spend import Pace
from bot.core.orders.known import Known
from bot.core.orders.order import Fact, OwnOrder, State, slot_shown
from bot.core.plan import reconcile
from bot.core.plan.reconcile import _Side
from bot.core.plan.stand import Level
from bot.core.plan.wishes import WantAmend
from bot.core.sending.venuepark import VenuePark
from bot.core.series.parking import Parking
from bot.core.trader import Trader
from bot.lab.bugs.bug import FORGOTTEN, Bug, forgets
from bot.lab.sim.run import Patch
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId
from venue.wire.requests import Amend

# --- creates --------------------------------------------------------------------------------------

_started = Trader._started
_explain_lost = Desk.explain_lost
_recover = Desk.recover


def _same_nonce(self: Trader, event: m.Started) -> None:
    _started(self, msgspec.structs.replace(event, boot_nonce="0" * 20))


def _by_equal_fields(
    self: Desk, shown: Iterable[model.Order], begun_ns: int, now_ns: int, fills_begun_ns: int
) -> list[MarketId]:
    rows = list(shown)
    for own in list(self._attention):
        if own.state is State.LOST:
            equal = [row for row in rows if slot_shown(row) == own.slots[0]]
            if equal:
                own.identified(equal[0], begun_ns)
                self._out.effects.append(m.IntentSettled(own.client_order_id, own.order_id))
                self._file(own, begun_ns)
    return _explain_lost(self, rows, begun_ns, now_ns, fills_begun_ns)


def _gives_up(self: Desk, now_ns: int) -> None:
    for own in list(self._attention):
        since_ns = self._unknown.get(own, now_ns)
        if own.state is State.LOST and now_ns - since_ns > 2 * NS_PER_SECOND:
            own.gone(now_ns)
            self._out.effects.append(m.IntentSettled(own.client_order_id))
            self._file(own, now_ns)
    _recover(self, now_ns)


def _lost_is_known(self: OwnOrder) -> bool:
    return self.suspicion is not None


CREATES: Final = (
    Bug(
        "ids-begin-anew",
        (20,),
        "client_order_ids count from one again after a restart.",
        ("B1", "B12"),
        (Patch(Trader, "_started", _same_nonce),),
        likely=("crash",),
    ),
    Bug(
        "identity-by-equal-fields",
        (21,),
        "A lost create is taken for any listed order with its market, side and price.",
        FORGOTTEN,
        (Patch(Desk, "explain_lost", _by_equal_fields),),
        likely=("lost_after", "lost_before", "result_unknown_before"),
    ),
    Bug(
        "duplicate-is-a-rejection",
        (24,),
        "duplicate_order_id is taken for a rejection, though it says that the order exists.",
        FORGOTTEN,
        (forgets(lambda own, fact: own.state is State.LOST and fact is Fact.EXISTS, Fact.GONE),),
        likely=("says_duplicate", "lost_after", "result_unknown_after"),
    ),
    Bug(
        "unknown-closed-by-timer",
        (25,),
        "A create without an answer is declared rejected after a few tries.",
        ("B7",),
        (Patch(Desk, "recover", _gives_up),),
    ),
    Bug(
        "orders-beside-the-unknown",
        (1, 22),
        "While a create has no answer, another one is sent for the same side.",
        ("B1",),
        (Patch(OwnOrder, "is_unknown", property(_lost_is_known)),),
    ),
)

# --- amends and cancels ---------------------------------------------------------------------------

_order_answered = OwnOrder.answered
_send_amend = Desk.send_amend
_fill_up = _Side._fill_up
_cancelled = OwnOrder.cancelled


def _unchanged(self: OwnOrder, fact: Fact, now_ns: int) -> None:
    is_amend = self.state is State.AMENDING and fact is Fact.NO_ANSWER
    _order_answered(self, Fact.REFUSED if is_amend else fact, now_ns)


def _carried_out(self: OwnOrder, fact: Fact, now_ns: int) -> None:
    amend = self.amend
    if self.state is not State.AMENDING or fact is not Fact.NO_ANSWER or amend is None:
        _order_answered(self, fact, now_ns)
        return
    price = self.price if amend.price is None else amend.price
    size = self.known.size if amend.qty is None else Qty(self.filled + amend.qty)
    _order_answered(self, Fact.REFUSED, now_ns)
    self._learn(Known(self.known.epoch + 1, price, size, self.filled))


def _as_total(self: Desk, own: OwnOrder, amend: Amend, why: str, now_ns: int) -> bool:
    if amend.qty is not None:
        amend = Amend(price=amend.price, qty=Qty(amend.qty + own.filled))
    return _send_amend(self, own, amend, why, now_ns)


def _amend_up(self: _Side, level: Level) -> None:
    for own in self._mine:
        if own.state is State.OPEN and own.level == level.price and level.missing:
            if level.is_off(level.missing, self._pace):
                amend = Amend(qty=Qty(own.remaining + level.missing))
                self.wishes.append(WantAmend(own, amend, False, "more wanted here", 1.0))
            return
    _fill_up(self, level)


def _always(self: Pace, market_id: MarketId, now_ns: int, writes: int = 1) -> bool:
    return True


def _floor_is_truth(self: OwnOrder, shown: model.Order, reduced_by: Qty, now_ns: int) -> None:
    _cancelled(self, shown, reduced_by, now_ns)
    if self.state is State.CLOSING:
        self.move(Fact.READ_ENDED, now_ns)


def _hammers(self: VenuePark, code: str, now_ns: int) -> None:
    pass


def _trades_on(self: Parking, market_id: MarketId, code: str, now_ns: int) -> None:
    pass


CHANGES: Final = (
    Bug(
        "amend-timeout-is-unchanged",
        (26,),
        "An amend that is not answered is taken for one that was not carried out.",
        FORGOTTEN,
        (Patch(OwnOrder, "answered", _unchanged),),
        likely=("lost_after", "result_unknown_after", "internal_error_after", "mad_strategy"),
    ),
    Bug(
        "amend-timeout-is-done",
        (26,),
        "An amend that is not answered is taken for carried out.",
        FORGOTTEN,
        (Patch(OwnOrder, "answered", _carried_out),),
        likely=("lost_before", "result_unknown_before", "internal_error_before", "mad_strategy"),
    ),
    Bug(
        "amend-counts-the-filled",
        (26,),
        "An amend's qty is sent as the order's total, though it is the new remainder.",
        ("B1", "B3"),
        (Patch(Desk, "send_amend", _as_total),),
        likely=("fat_finger", "mad_strategy"),
        shape=(("lot_qty", 10), ("order_qty", 25), ("crowd_per_second", 160.0)),
    ),
    Bug(
        "amend-up",
        (26, 27),
        "More shares at a price are asked for by amending the order up: its place is lost.",
        ("B1", "B3"),
        (Patch(_Side, "_fill_up", _amend_up),),
        likely=("fat_finger",),
    ),
    Bug(
        "no-write-budget",
        (38,),
        "A flickering book is answered with a write at every tick.",
        ("B2", "B5"),
        (Patch(Pace, "admits", _always),),
        likely=("flicker", "mad_strategy"),
    ),
    Bug(
        "floor-is-the-truth",
        (28,),
        "The filled_qty in a cancel's reply is taken for final, though it is a floor.",
        FORGOTTEN,
        (Patch(OwnOrder, "cancelled", _floor_is_truth),),
        likely=("mad_strategy", "read_lag"),
    ),
    Bug(
        "cancel-404-is-gone",
        (29,),
        "A 404 to a cancel of an order that the venue has shown is taken for its end.",
        FORGOTTEN,
        (
            forgets(
                lambda own, fact: own.state is State.CANCELLING and fact is Fact.MISSING,
                Fact.READ_ENDED,
            ),
        ),
        likely=("not_found",),
    ),
    Bug(
        "cancel-timeout-is-gone",
        (30,),
        "A cancel that is not answered is taken for carried out.",
        FORGOTTEN,
        (
            forgets(
                lambda own, fact: own.state is State.CANCELLING and fact is Fact.NO_ANSWER,
                Fact.READ_ENDED,
            ),
        ),
        likely=("lost_before", "result_unknown_before", "internal_error_before"),
    ),
    Bug(
        "halted-venue-hammered",
        (31, 32),
        "Writes go on while the venue is halted or takes cancels only.",
        ("B4", "B5"),
        (Patch(VenuePark, "refuses", _hammers),),
        likely=("venue_halted", "mad_strategy"),
    ),
    Bug(
        "closed-market-hammered",
        (32,),
        "Orders go on being sent to a market that is halted or resolved.",
        ("B4",),
        (Patch(Parking, "market", _trades_on),),
        likely=("market_halt", "market_resolve"),
    ),
)

# --- crossing ourselves ---------------------------------------------------------------------------


def _no_care(side: BookSide, price: Price, orders: Iterable[OwnOrder]) -> list[OwnOrder]:
    return []


CROSSES: Final = (
    Bug(
        "self-cross-unchecked",
        (33,),
        "A new order is not compared with our own on the other side.",
        ("B11",),
        (Patch(reconcile, "crosses", _no_care),),
    ),
)

# --- reads ----------------------------------------------------------------------------------------

_shown_by_read = OwnOrder.shown_by_read
_take_answer = Account.take_answer
_known_shown = Known.__dict__["shown"].__func__


def _filled_by_difference(cls: type[Known], order: model.Order, epoch: int) -> Known:
    known: Known = _known_shown(cls, order, epoch)
    filled = Qty(order.qty - order.remaining_qty)
    return msgspec.structs.replace(known, filled=filled, size=order.qty)


def _unknown_is_over(self: OwnOrder, shown: model.Order, begun_ns: int, lag_ns: int) -> None:
    if shown.status is model.OrderStatus.UNKNOWN:
        shown = msgspec.structs.replace(shown, status=model.OrderStatus.CANCELED)
    _shown_by_read(self, shown, begun_ns, lag_ns)


def _any_read_counts(self: OwnOrder, shown: model.Order, begun_ns: int, lag_ns: int) -> None:
    _shown_by_read(self, shown, begun_ns, lag_ns)
    if self.state is State.OPEN and shown.status in model.RESTING:
        self._know(Known.shown(shown, self.known.epoch))


def _gone_at_once(self: Desk, own: OwnOrder, _begun_ns: int, now_ns: int) -> None:
    if own.state is State.OPEN:
        own.move(Fact.READ_ENDED, now_ns)
        self._file(own, now_ns)


def _one_page(
    self: Account, request: m.Read, answer: m.Answer, asked_ns: int, now_ns: int
) -> Walk | None:
    body: Any = answer.body if isinstance(answer, m.Done) else None
    if getattr(body, "cursor", ""):
        answer = m.Done(msgspec.structs.replace(body, cursor=""))
    return _take_answer(self, request, answer, asked_ns, now_ns)


_EMPTY: Final[dict[type, m.Body]] = {
    m.ReadResting: m.OrdersShown((), ""),
    m.ReadFills: m.FillsShown((), ""),
    m.ReadPositions: m.PositionsShown((), ""),
}


def _failed_is_empty(
    self: Account, request: m.Read, answer: m.Answer, asked_ns: int, now_ns: int
) -> Walk | None:
    if not isinstance(answer, m.Done) and type(request) in _EMPTY:
        answer = m.Done(_EMPTY[type(request)])
    return _take_answer(self, request, answer, asked_ns, now_ns)


READS: Final = (
    Bug(
        "filled-by-difference",
        (34,),
        "What has filled is reckoned as qty less remaining: what prevention removed counts too.",
        (*FORGOTTEN, "findings"),
        (Patch(Known, "shown", classmethod(_filled_by_difference)),),
        likely=("twin_stp",),
    ),
    Bug(
        "unknown-status-is-over",
        (35,),
        "A status that this version does not know is taken for the end of the order.",
        FORGOTTEN,
        (Patch(OwnOrder, "shown_by_read", _unknown_is_over),),
        likely=("odd_status",),
    ),
    Bug(
        "stale-read-wins",
        (36,),
        "A read begun before our last write overwrites what its answer said.",
        FORGOTTEN,
        (Patch(OwnOrder, "shown_by_read", _any_read_counts),),
        likely=("read_lag", "mad_strategy"),
    ),
    Bug(
        "missing-once-is-gone",
        (36, 37),
        "An order that one list does not show is taken for ended.",
        FORGOTTEN,
        (Patch(Desk, "not_listed", _gone_at_once),),
    ),
    Bug(
        "first-page-is-all",
        (37,),
        "The cursor of a list is not followed.",
        (*FORGOTTEN, "findings"),
        (Patch(Account, "take_answer", _one_page),),
    ),
    Bug(
        "failed-read-is-empty",
        (37, 36),
        "A list that could not be read is taken for an empty one.",
        (*FORGOTTEN, "findings", "B4"),
        (Patch(Account, "take_answer", _failed_is_empty),),
        likely=("internal_error_before", "lost_after", "crash", "begun_amid"),
        shape=(("crowd_per_second", 30.0), ("slow_read", 0.3), ("cash_cents", 1_000_000)),
    ),
)
ORDERS: Final[Sequence[Bug]] = (*CREATES, *CHANGES, *CROSSES, *READS)
