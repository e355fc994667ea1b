"""Pre-trade checks: breakers and compiled caps before anything new leaves.

Every request of the trader passes `PreTradeChecks.send`. Nothing that adds exposure passes it once
a breaker has tripped or the bot is latched. The breakers count here what leaves, what is refused
and what fills, and judge the profit and the age of unknown orders.

See docs/failure-modes.md#b13.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from bot.core.account.portfolio import worth_cents
from bot.core.account.reconciler import AccountReconciler
from bot.core.inconsistency import Contradiction
from bot.core.lifecycle.open_orders import OpenOrderSync
from bot.core.messages import (
    AmendResting,
    Answer,
    CancelResting,
    Create,
    DrainComplete,
    Latched,
    LatchedBy,
    Rejected,
    Request,
    Response,
)
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import BEYOND_LIMITS, OwnOrder
from bot.core.orders.outbox import Outbox, Pending, kind_of
from bot.core.orders.rejects import CancelHealth
from bot.core.orders.request_budget import Priority
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import MarketQuoter
from bot.core.risk.breakers import ORDER_QTY_CAP, CircuitBreakers, limits_of, notional_of
from bot.core.settings import TraderSettings
from venue.wire import model
from venue.wire.errors import Culprit, row_for
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome, Price, canonical, notional
from venue.wire.names import MarketId

_BID: Final = BookSide.BID

_JUDGE_NS: Final = 100 * NS_PER_MS
_FLAT_WITHIN_NS: Final = 8 * NS_PER_SECOND
_CAPPED_PARK_NS: Final = NS_PER_SECOND
"""How long the side of a rung rests after a create there was beyond a cap."""


class PreTradeChecks(Outbox):
    """An outbox whose requests a guard may hold back, once it has one."""

    guard: "KillSwitch | None" = None

    def send(
        self, request: Request, lane: Priority, why: str, now_ns: int, own: OwnOrder | None = None
    ) -> bool:
        """As `Outbox.send`; False, and nothing changed, for what the guard holds back."""
        if self.guard is None or kind_of(request) == "read":
            return super().send(request, lane, why, now_ns, own)
        if not self.guard.admits(request, own, now_ns):
            return False
        if not super().send(request, lane, why, now_ns, own):
            return False
        # However much an earlier run or a person left here, or the operator wants no more: no
        # strategy of ours is mad for it.
        left = own is not None and (own.from_previous_run or own.why == BEYOND_LIMITS)
        if not (left and isinstance(request, CancelResting)):
            self.guard.breakers.saw_send(request, now_ns)
        return True

    def answered(self, replied: Response, now_ns: int) -> Pending | None:
        """As `Outbox.answered`; the guard hears of refusals, and of cancels."""
        pending = super().answered(replied, now_ns)
        if pending is None or self.guard is None:
            return pending
        if isinstance(replied.answer, Rejected):
            self.guard.refused(pending.request, replied.answer, now_ns)
        if pending.own is not None and isinstance(pending.request, CancelResting):
            self.guard.cancel_answered(pending.own, replied.answer, now_ns)
        return pending


class KillSwitch:
    """Breakers, caps and the latch of one trader.

    latched: why nothing may be quoted until a person has looked; empty when nothing is latched.
    beyond_caps: creates and amends that a cap held back. judge_due_ns: when to judge again.
    """

    def __init__(
        self,
        settings: TraderSettings,
        desk: OrderManager,
        ledgers: AccountReconciler,
        quoting: QuotingEngine,
        out: Outbox,
    ) -> None:
        self.limits = limits_of(settings.breakers, settings.risk)
        self.breakers = CircuitBreakers(self.limits)
        self.latched = ""
        self.beyond_caps = 0
        self._desk = desk
        self._ledgers = ledgers
        self._quoting = quoting
        self._out = out
        self.judge_due_ns = 0
        self._marks: dict[MarketId, float] = {}
        self._unmarked: dict[MarketId, tuple[int, int]] = {}  # what was held of the other rungs
        self._latched_ns = 0
        self._seen_flat = False
        self._cancel_health = CancelHealth()

    def reconfigure(self, settings: TraderSettings, now_ns: int) -> None:
        """Hold to other limits from here on; what is beyond the old ones by now has tripped."""
        self.limits = limits_of(settings.breakers, settings.risk)
        self.breakers.reconfigure(self.limits, now_ns)

    # --- the door ---------------------------------------------------------------------------------

    def admits(self, request: Request, own: OwnOrder | None, now_ns: int) -> bool:
        """Whether a request may leave; cancels, reads and re-sends of a create always may."""
        again = isinstance(request, Create) and request.again
        # Of a tuple, for this is hot: a union would be made anew for every request.
        if again or not isinstance(request, (Create, AmendResting)):
            return True
        if self.latched or self._out.inconsistencies.contradiction is not None:
            return False
        if own is not None and not self._within_caps(request, own, now_ns):
            return False
        return self.breakers.admits(request, now_ns)

    def _within_caps(self, request: Create | AmendResting, own: OwnOrder, now_ns: int) -> bool:
        """Whether one order is of a sane size and price; a side with one that is not rests."""
        rung = self._quoting.rung(own.market_id)
        if isinstance(request, Create):
            price, qty = request.order.price, request.order.qty
            worth = notional_of(request)
        else:
            price = own.price if request.amend.price is None else request.amend.price
            qty = own.remaining if request.amend.qty is None else request.amend.qty
            worth = notional(price, qty)
        if qty > ORDER_QTY_CAP:
            fault = f"{qty} shares, at most {ORDER_QTY_CAP}"
        elif worth > self.limits.order_notional_cents:
            fault = f"{worth} cents, at most {self.limits.order_notional_cents}"
        else:
            priced = isinstance(request, Create) or request.amend.price is not None
            fault = self._through(rung, own, price) if priced and rung is not None else ""
        if not fault:
            return True
        if rung is None or not rung.side_parked(own.book_side, now_ns):
            self.beyond_caps += 1
            self._out.note("error", "beyond_caps", market_id=own.market_id, fault=fault)
            self._quoting.parking.side(own, "beyond_caps", _CAPPED_PARK_NS, now_ns)
        return False

    def _through(self, rung: MarketQuoter, own: OwnOrder, price: Price) -> str:
        """Why a price reaches too far through the others' best one; empty when it does not."""
        level, is_bid = canonical(own.outcome, price), own.book_side is _BID
        shown, most = rung.book.asks if is_bid else rung.book.bids, self.limits.ticks_through
        if not shown or (level - shown[0][0] if is_bid else shown[0][0] - level) <= most:
            return ""  # the best of others is no nearer than that of all
        bids, asks = rung.others.left(self._desk.live(rung.market_id))
        far = asks if is_bid else bids
        if not far:
            return ""
        best = far[0][0]
        ticks = level - best if is_bid else best - level
        if ticks <= most:
            return ""
        return f"{ticks} ticks through {best}, at most {most}"

    # --- what the breakers hear -------------------------------------------------------------------

    def refused(self, request: Request, answer: Rejected, now_ns: int) -> None:
        """A request was refused: what is our own fault counts, funds, states and pace do not."""
        if kind_of(request) == "read" or answer.status == 0:
            return
        if row_for(answer.status, answer.code).culprit is Culprit.CALLER:
            self.breakers.saw_reject(now_ns)

    def cancel_answered(self, own: OwnOrder, answer: Answer, now_ns: int) -> None:
        """A cancel came back: where none works for long, nothing may be placed until one does."""
        text = self._cancel_health.on_answer(own, answer, len(self._desk.live_orders), now_ns)
        if text is not None:
            self._out.hold("cancels_fail", text)

    def filled(self, fresh: Sequence[model.Fill], now_ns: int) -> None:
        """Fills were booked that had not been: what the fills breakers count."""
        ours = [fill.qty for fill in fresh if self._quoting.is_ours(fill.market_id)]
        if ours:
            self.breakers.saw_fills(len(ours), sum(ours), now_ns)

    def judge(self, now_ns: int, *, opened: bool) -> str:
        """The name and the numbers of a trip; empty when there is none.

        opened: whether the books are open, so that there is a profit to speak of.
        """
        if self.breakers.tripped or now_ns < self.judge_due_ns:
            return self.breakers.tripped
        self.judge_due_ns = now_ns + _JUDGE_NS
        if "cancels_fail" in self._out.findings and not len(self._desk.live_orders):
            # There is nothing left that could show it.
            self._out.hold("cancels_fail", self._cancel_health.on_success())
        pnl_cents = self._pnl_cents() if opened else None
        return self.breakers.judge(pnl_cents, self._desk.oldest_unknown_ns(now_ns), now_ns)

    def _pnl_cents(self) -> int:
        """Profit of everything booked, shares at the last belief there ever was of them.

        A belief that is missing for a while must not look like a loss, nor the first one of a rung
        whose shares counted for nothing until then like a gain.
        """
        marks, book = self._marks, self._ledgers.book
        known = len(marks)
        unmarked: dict[MarketId, tuple[int, int]] = {}
        for ladder in self._quoting.ladders:
            for rung in ladder.rungs:
                fair = rung.fair
                if rung.decided is not None:
                    marks[rung.market_id] = PAYOUT_CENTS if rung.decided is Outcome.YES else 0
                elif fair is not None:
                    marks[rung.market_id] = fair.value_cents
                elif rung.book.last_price is not None and not (
                    rung.is_over and rung.market_id in marks  # the last belief stands
                ):
                    marks[rung.market_id] = float(rung.book.last_price)
                elif rung.market_id not in marks:
                    unmarked[rung.market_id] = book.holdings(rung.market_id)
        if len(marks) > known:
            # A mark stays where it stands in the map: the new ones are the last. What was bought
            # since the last look counted with its cost: that it is worth something is no gain.
            for market_id, mark in islice(marks.items(), known, None):
                held = self._unmarked.get(market_id, book.holdings(market_id))
                self.breakers.rebase(worth_cents(*held, mark) - worth_cents(*held, None))
        self._unmarked = unmarked
        return book.pnl_cents(marks)

    def forget(self, rungs: Iterable[MarketId]) -> None:
        """Nothing is held of these rungs any more, and nothing ever will be."""
        for market_id in rungs:
            self._marks.pop(market_id, None)

    # --- the latch --------------------------------------------------------------------------------

    def latch(self, reason: str, now_ns: int, *, ours: bool) -> None:
        """Let nothing new leave from here on. The first reason stands.

        ours: a breaker of this run tripped, so the shell keeps the reason for the next run.
        """
        if self.latched:
            return
        self._latch(reason, now_ns)
        self._out.find("latched", reason)
        if ours:
            self._out.effects.append(Latched(reason))

    def latch_by(self, contradiction: Contradiction, now_ns: int) -> None:
        """Latch because the books contradict each other, whatever latched before: only a reset
        that opens the books anew ends it."""
        sentence = contradiction.sentence
        self._latch(sentence, now_ns)
        self._out.note(
            "error",
            "inconsistency",
            kind=contradiction.kind,
            evidence=contradiction.evidence,
            text=sentence,
        )
        self._out.findings["inconsistency"] = sentence
        self._out.effects.append(Latched(sentence, LatchedBy.CONTRADICTION))

    def _latch(self, reason: str, now_ns: int) -> None:
        self.latched = reason
        self._latched_ns = now_ns
        self._seen_flat = False

    def unlatch(self, *, looked: bool) -> None:
        """The latch is gone. looked: a person has taken it away, so that all is counted anew."""
        if looked and self.latched:
            self.breakers.rearm()
        self.latched = ""
        for name in ("latched", "latched_not_flat", "inconsistency"):
            self._out.clear(name)

    def verify_flat(self, custody: OpenOrderSync, now_ns: int) -> None:
        """While latched: have it shown that nothing of ours rests, or say what does."""
        if len(self._desk.live_orders):
            self._seen_flat = False
        if self._seen_flat:
            return
        if custody.is_drained(now_ns) and not custody.unreadable:
            self._seen_flat = True
            self._out.clear("latched_not_flat")
            self._out.note("info", "latched_flat")
        elif now_ns - self._latched_ns >= _FLAT_WITHIN_NS:
            self._out.hold("latched_not_flat", _listed(custody.left_over()))


def _listed(left: DrainComplete) -> str:
    """The exact list of what may rest; empty where a read has shown that nothing does."""
    if not (left.left or left.unknown or left.unshown):
        return ""
    resting = ", ".join(left.left) or "none known"
    return f"orders {resting}; creates without an answer {', '.join(left.unknown) or 'none'}"
