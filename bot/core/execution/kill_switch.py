"""The kill switch: it latches the bot when a breaker trips, and verifies that nothing rests.

The breakers judge the profit and the age of unknown orders after each change, at most fifty times a
second. See docs/failure-modes.md#b13.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from bot.core.account.portfolio import worth_cents
from bot.core.account.reconciler import AccountReconciler
from bot.core.inconsistency import Contradiction
from bot.core.lifecycle.open_orders import OpenOrderSync
from bot.core.messages import (
    Answer,
    BudgetRaise,
    DrainComplete,
    Latched,
    LatchedBy,
    RaiseBudget,
)
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder
from bot.core.orders.outbox import NEVER_NS, Outbox
from bot.core.orders.rejects import CancelHealth
from bot.core.quoting.engine import QuotingEngine
from bot.core.risk.breakers import CircuitBreakers, limits_of
from bot.core.risk.loss_budgets import LossBudgets
from bot.core.settings import TraderSettings
from bot.core.trading_state import Restriction, Source, TradingState
from venue.wire import model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome
from venue.wire.names import MarketId

_BID: Final = BookSide.BID

_JUDGE_NS: Final = 20 * NS_PER_MS
_FLAT_WITHIN_NS: Final = 8 * NS_PER_SECOND
_CAPPED_PARK_NS: Final = NS_PER_SECOND
"""How long the side of a rung rests after a create there was beyond a cap."""


class KillSwitch:
    """Breakers, loss budgets, caps and the latch of one trader.

    latched: why nothing may be quoted until a person has looked; empty when nothing is latched.
    beyond_caps: creates and amends that a cap held back. judge_due_ns: when to judge again.
    """

    def __init__(
        self,
        settings: TraderSettings,
        breakers: CircuitBreakers,
        desk: OrderManager,
        ledgers: AccountReconciler,
        quoting: QuotingEngine,
        out: Outbox,
    ) -> None:
        self.breakers = breakers
        self.budgets = LossBudgets(settings.loss_budgets)
        self.latched = ""
        self.beyond_caps = 0
        self._desk = desk
        self._ledgers = ledgers
        self._quoting = quoting
        self._out = out
        self.judge_due_ns = 0
        self._judged_ns = 0
        self._marks: dict[MarketId, float] = {}
        self._unmarked: dict[MarketId, tuple[int, int]] = {}  # inventory of the other rungs
        self._latched_ns = 0
        self._seen_flat = False
        self._spent_by_change = False  # a change of the budgets leaves one spent: not judged yet
        self._cancel_health = CancelHealth()

    def reconfigure(self, settings: TraderSettings, now_ns: int) -> None:
        """Change the limits. A breaker already beyond the old ones trips."""
        self.breakers.set_limits(limits_of(settings.breakers, settings.risk), now_ns)
        was_spent = self.budgets.spent
        self.budgets.set_budgets(settings.loss_budgets, now_ns)
        self._spent_by_change = bool(self.budgets.spent) and not was_spent
        self.judge_due_ns = 0

    def hold_back_cap(self, own_side: tuple[MarketId, BookSide], fault: str, now_ns: int) -> None:
        """Count and report an order beyond a compiled cap; its side of the market pauses."""
        market_id, side = own_side
        rung = self._quoting.rung(market_id)
        if rung is None or not rung.is_side_suspended(side, now_ns):
            self.beyond_caps += 1
            self._out.note("error", "beyond_caps", market_id=market_id, fault=fault)
            self._quoting.suspend_side(market_id, side, "beyond_caps", _CAPPED_PARK_NS, now_ns)

    # --- events for the breakers ------------------------------------------------------------------

    def cancel_answered(self, own: OwnOrder, answer: Answer, now_ns: int) -> None:
        """A cancel came back: where none works for long, nothing may be placed until one does."""
        text = self._cancel_health.on_answer(own, answer, len(self._desk.live_orders), now_ns)
        if text is not None:
            self._out.hold("cancels_fail", text)

    def on_fills(self, fresh: Sequence[model.Fill], now_ns: int) -> None:
        """New fills were booked: the fills breakers count them."""
        ours = [fill.qty for fill in fresh if self._quoting.is_ours(fill.market_id)]
        if ours:
            self.breakers.on_fills(len(ours), sum(ours), now_ns)

    def schedule_judgement(self) -> None:
        """Something that a breaker depends on has changed: judge it soon."""
        self.judge_due_ns = min(self.judge_due_ns, self._judged_ns + _JUDGE_NS)

    def judge(self, now_ns: int, *, opened: bool) -> str:
        """The name and the numbers of a trip, or why a loss budget is spent; empty when there is
        neither.

        opened: True once the books are open; there is no profit before.
        """
        if now_ns < self.judge_due_ns or (self.breakers.tripped and not self.latched):
            return self.breakers.tripped
        self._judged_ns = now_ns
        # The age of an unknown order is all that grows by itself.
        self.judge_due_ns = now_ns + _JUDGE_NS if self._desk.unknown else NEVER_NS
        if "cancels_fail" in self._out.findings and not len(self._desk.live_orders):
            # There is nothing left that could show it.
            self._out.hold("cancels_fail", self._cancel_health.on_success())
        pnl_cents = self._pnl_cents() if opened else None
        spent = self._judge_budgets(now_ns) if opened else ""
        if self.latched:
            return spent
        return spent or self.breakers.judge(pnl_cents, self._desk.oldest_unknown_ns(now_ns), now_ns)

    def _judge_budgets(self, now_ns: int) -> str:
        """Judge the loss budgets by the marks of the newest profit. Why they are spent since this
        judgement; empty where none is, or was before.

        Without a mark for some inventory its fall or rise would be one of the equity, so there is
        no judgement; what restricted before goes on.
        """
        if not self.budgets.exist:
            return ""
        if any(yes_qty != no_qty for yes_qty, no_qty in self._unmarked.values()):
            return ""
        before = self.budgets.restrictions
        was_spent = self.budgets.spent and not self._spent_by_change
        self._spent_by_change = False
        record = self.budgets.on_equity(self._ledgers.equity_cents(self._marks), now_ns)
        if record is not None:
            self._out.effects.append(record)
        for each in self.budgets.restrictions:
            if not any(each.state is old.state for old in before):
                self._out.note("warning", "budget_used", state=each.state, why=each.why)
        if self.budgets.due_ns is not None:
            self.judge_due_ns = min(self.judge_due_ns, self.budgets.due_ns)
        return "" if was_spent else self.budgets.spent

    def raise_budget(self, event: RaiseBudget, now_ns: int) -> None:
        """A person gives a loss budget more."""
        raised = BudgetRaise(now_ns, event.cents, event.reason)
        record = self.budgets.raise_budget(event.period, raised)
        if record is None:
            self._out.note("warning", "budget_unknown", period=event.period)
            return
        self._out.effects.append(record)
        self._out.note(
            "warning",
            "budget_raised",
            period=event.period,
            cents=event.cents,
            reason=event.reason,
        )

    def _pnl_cents(self) -> int:
        """Profit of everything booked, inventory at its last known fair value.

        A stale fair value must not look like a loss, nor the first one of a rung whose inventory
        counted for nothing until then like a gain.
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
                elif rung.state.last_price is not None and not (
                    rung.is_over and rung.market_id in marks  # keep the last belief
                ):
                    marks[rung.market_id] = float(rung.state.last_price)
                elif rung.market_id not in marks:
                    unmarked[rung.market_id] = book.holdings(rung.market_id)
        if len(marks) > known:
            # A mark keeps its place in the map: the new ones are the last. What was bought
            # since the last look counted with its cost: that it is worth something is no gain.
            for market_id, mark in islice(marks.items(), known, None):
                held = self._unmarked.get(market_id, book.holdings(market_id))
                self.breakers.rebase(worth_cents(*held, mark) - worth_cents(*held, None))
        self._unmarked = unmarked
        return book.pnl_cents(marks)

    def forget_marks(self, rungs: Iterable[MarketId]) -> None:
        """These rungs are over, without inventory of ours."""
        for market_id in rungs:
            self._marks.pop(market_id, None)

    @property
    def restriction(self) -> Restriction | None:
        """That of the latch; None without one."""
        if not self.latched:
            return None
        return Restriction(
            source=Source.KILL_SWITCH,
            state=TradingState.KILLED,
            why=self.latched,
            ends="`bot reset`, once a person has looked",
            since_ns=self._latched_ns,
        )

    # --- the latch --------------------------------------------------------------------------------

    def latch(self, reason: str, now_ns: int, *, ours: bool) -> None:
        """Let nothing new leave from here on. The first reason is kept.

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
        that opens the books again ends it."""
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
        """The latch is gone. looked: a person removed it, so the breakers count from zero."""
        if looked and self.latched:
            self.breakers.rearm()
        self.latched = ""
        for name in ("latched", "latched_not_flat", "inconsistency"):
            self._out.clear(name)

    def verify_flat(self, custody: OpenOrderSync, now_ns: int) -> None:
        """While latched: prove by a read that no order of ours rests, or list those that do."""
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
    """The exact list of possibly resting orders; empty once a read shows none."""
    if not (left.left or left.unknown or left.unshown):
        return ""
    resting = ", ".join(left.left) or "none known"
    return f"orders {resting}; creates without an answer {', '.join(left.unknown) or 'none'}"
