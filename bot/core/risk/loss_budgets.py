"""Loss budgets: how much the account may lose in a day, in a week, and since a date.

A budget counts the greatest loss of its period so far, so nothing but the next period, or a person
who raises it, gives any of it back. Its use goes with the journal: a restart, a crash or a reset
renews none of it.

Equity is the account's cash without deposits and withdrawals, and its inventory at fair value.
While no run judged it, a fall of the equity counts as a loss. A rise counts for nothing: it may be
a deposit. Then the start and the high-water mark rise with it.

See docs/operations.md#loss-budgets.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from bot.core.messages import BudgetRaise, BudgetUse, LossRecord
from bot.core.report import LossBudgetReport
from bot.core.settings import BudgetPeriod, LossBudgetSettings
from bot.core.trading_state import Restriction, Source, TradingState
from venue.wire.instant import NS_PER_SECOND, second_of, to_ns
from venue.wire.money import Cents, dollars

_DAY_NS: Final = 86_400 * NS_PER_SECOND
_WEEK_NS: Final = 7 * _DAY_NS
_MONDAY_NS: Final = 4 * _DAY_NS
"""1970-01-05, the first Monday of the clock."""

_KEPT_PCT: Final = 1
"""The record is written again once equity has moved by this part of the smallest budget."""

_FULL_PCT: Final = 100


_UNJUDGED: Final = Restriction(
    source=Source.LOSS_BUDGET,
    state=TradingState.HALTED,
    why="what the account lost while no bot ran is not known yet",
    ends="once the books are open and every share held has a value",
    of_account=True,
)


class LossBudget(NamedTuple):
    """One budget. since_ns: when its period began; of SINCE alone."""

    period: BudgetPeriod
    cents: Cents
    since_ns: int = 0

    def start_ns(self, now_ns: int) -> int:
        """Start of the period that contains this instant. Days and weeks begin at midnight UTC,
        weeks on Monday."""
        match self.period:
            case BudgetPeriod.DAY:
                return now_ns - now_ns % _DAY_NS
            case BudgetPeriod.WEEK:
                return now_ns - (now_ns - _MONDAY_NS) % _WEEK_NS
            case BudgetPeriod.SINCE:
                return self.since_ns

    def end_ns(self, start_ns: int) -> int | None:
        """End of the period with this start; None where it has none."""
        match self.period:
            case BudgetPeriod.DAY:
                return start_ns + _DAY_NS
            case BudgetPeriod.WEEK:
                return start_ns + _WEEK_NS
            case BudgetPeriod.SINCE:
                return None

    def limit_cents(self, use: BudgetUse) -> Cents:
        """With what it was raised by."""
        return Cents(self.cents + sum([each.cents for each in use.raises]))


def budgets_of(settings: LossBudgetSettings) -> tuple[LossBudget, ...]:
    """The budgets that there are."""
    found = [
        LossBudget(BudgetPeriod.DAY, settings.day_cents),
        LossBudget(BudgetPeriod.WEEK, settings.week_cents),
    ]
    if settings.since:
        since_ns = to_ns(settings.since)
        found.append(LossBudget(BudgetPeriod.SINCE, settings.since_cents, since_ns))
    return tuple(each for each in found if each.cents)


class LossBudgets:
    """The loss budgets of one trader."""

    def __init__(self, settings: LossBudgetSettings) -> None:
        self._settings = settings
        self._budgets = budgets_of(settings)
        self._uses: dict[BudgetPeriod, BudgetUse] = {}
        self._equity_cents: int | None = None
        self._kept: LossRecord | None = None
        self._is_first = True  # no equity of this run was judged yet
        self._awaits_equity = bool(self._budgets)  # nothing may be quoted before
        self.restrictions: tuple[Restriction, ...] = (_UNJUDGED,) if self._budgets else ()
        """By the budgets that are used so far that they restrict, and before the first judgement of
        a run; as of the newest change."""
        self.due_ns: int | None = None
        """When a period ends next."""

    def restore(self, record: LossRecord | None, now_ns: int) -> None:
        """Take over what earlier runs kept; its restrictions hold at once."""
        if record is not None:
            self._kept = record
            self._equity_cents = record.equity_cents
            self._uses = {use.period: use for use in record.uses}
        self._is_first, self._awaits_equity = True, bool(self._budgets)
        self._restrict()
        self._schedule(now_ns)

    def set_budgets(self, settings: LossBudgetSettings, now_ns: int) -> None:
        """Change the budgets. The use of one that goes is kept, should it come back; a new one
        halts nothing until it is judged."""
        self._settings = settings
        self._budgets = budgets_of(settings)
        self._restrict()
        self._schedule(now_ns)

    def on_equity(self, equity_cents: int, now_ns: int) -> LossRecord | None:
        """Judge the account's equity. Returns the record to keep; None where the one before will
        do."""
        before_cents = equity_cents if self._equity_cents is None else self._equity_cents
        self._awaits_equity = False
        if self._is_first:
            self._is_first = False
            is_relative = self._kept is not None and self._kept.is_relative
            gain_cents = equity_cents - before_cents
            self._shift(gain_cents if is_relative else max(0, gain_cents))
            before_cents = equity_cents if is_relative else before_cents
        has_turned = [
            self._count(each, before_cents, equity_cents, now_ns) for each in self._budgets
        ]
        self._equity_cents = equity_cents
        self._schedule(now_ns)
        if self._restrict() or any(has_turned) or self._has_moved():
            return self._keep(now_ns)
        return None

    def raise_budget(self, period: BudgetPeriod, raised: BudgetRaise) -> LossRecord | None:
        """Give a budget more for the rest of its period. Returns the record to keep; None where no
        such budget has been judged yet."""
        use = self._uses.get(period)
        if use is None or all(each.period is not period for each in self._budgets):
            return None
        self._uses[period] = msgspec.structs.replace(use, raises=(*use.raises, raised))
        self._restrict()
        return self._keep(raised.at_ns)

    @property
    def exist(self) -> bool:
        """True if there is any."""
        return bool(self._budgets)

    @property
    def spent(self) -> str:
        """Why the account may not trade on, for a person; empty while every budget has some
        left."""
        killed = (each for each in self.restrictions if each.state is TradingState.KILLED)
        return "; ".join([each.why for each in killed])

    def rows(self) -> tuple[LossBudgetReport, ...]:
        """The use of each budget; without those that no equity was judged for yet."""
        return tuple(
            self._row(budget, self._uses[budget.period])
            for budget in self._budgets
            if budget.period in self._uses
        )

    def _row(self, budget: LossBudget, use: BudgetUse) -> LossBudgetReport:
        reference_cents = use.high_cents if self._settings.from_high_water else use.start_cents
        equity_cents = reference_cents if self._equity_cents is None else self._equity_cents
        return LossBudgetReport(
            period=budget.period,
            limit_cents=budget.limit_cents(use),
            lost_cents=Cents(use.lost_cents),
            loss_now_cents=Cents(reference_cents - equity_cents),
            high_water_cents=Cents(use.high_cents - use.start_cents),
            from_ns=use.start_ns,
            until_ns=budget.end_ns(use.start_ns),
            raises=use.raises,
        )

    # --- the use of a budget ----------------------------------------------------------------------

    def _shift(self, cents: int) -> None:
        """The equity changed by so much, which is neither profit nor loss of a period."""
        for period, use in self._uses.items():
            self._uses[period] = msgspec.structs.replace(
                use, start_cents=use.start_cents + cents, high_cents=use.high_cents + cents
            )

    def _count(self, budget: LossBudget, before_cents: int, equity_cents: int, now_ns: int) -> bool:
        """Count the equity of this instant. True if a period begins with it."""
        start_ns = budget.start_ns(now_ns)
        use = self._uses.get(budget.period)
        is_new = use is None or use.start_ns != start_ns
        if use is None or is_new:
            # What was lost since the newest judgement of the period before counts in this one.
            start_cents = max(before_cents, equity_cents)
            use = BudgetUse(budget.period, start_ns, start_cents, start_cents, 0)
        high_cents = max(use.high_cents, equity_cents)
        reference_cents = high_cents if self._settings.from_high_water else use.start_cents
        lost_cents = max(use.lost_cents, reference_cents - equity_cents)
        self._uses[budget.period] = msgspec.structs.replace(
            use, high_cents=high_cents, lost_cents=lost_cents
        )
        return is_new

    def _has_moved(self) -> bool:
        """True if another run should not begin with what was kept last."""
        if self._kept is None or self._equity_cents is None:
            return True
        limits = [each.limit_cents(self._uses[each.period]) for each in self._budgets]
        moved_cents = abs(self._equity_cents - self._kept.equity_cents)
        return _FULL_PCT * moved_cents >= _KEPT_PCT * min(limits)

    def _keep(self, now_ns: int) -> LossRecord | None:
        if self._equity_cents is not None:
            self._kept = LossRecord(now_ns, self._equity_cents, tuple(self._uses.values()))
        return self._kept

    def _restrict(self) -> bool:
        """Put what the budgets demand in force. True if that is new."""
        before = self.restrictions
        found = [_UNJUDGED] if self._awaits_equity and self._budgets else []
        for budget in self._budgets:
            use = self._uses.get(budget.period)
            restriction = None if use is None else self._restriction(budget, use)
            if restriction is not None:
                found.append(restriction)
        self.restrictions = tuple(found)
        return self.restrictions != before

    def _schedule(self, now_ns: int) -> None:
        ends_ns = [each.end_ns(each.start_ns(now_ns)) for each in self._budgets]
        self.due_ns = min([end_ns for end_ns in ends_ns if end_ns is not None], default=None)

    def _restriction(self, budget: LossBudget, use: BudgetUse) -> Restriction | None:
        """That of a budget so far used; None while none follows."""
        limit_cents, used = budget.limit_cents(use), _FULL_PCT * use.lost_cents
        if used >= _FULL_PCT * limit_cents:
            state = TradingState.KILLED
        elif used >= self._settings.reduce_only_pct * limit_cents:
            state = TradingState.REDUCE_ONLY
        elif used >= self._settings.reduced_pct * limit_cents:
            state = TradingState.REDUCED
        else:
            return None
        end_ns, raising = budget.end_ns(use.start_ns), "`bot budget --raise`"
        return Restriction(
            source=Source.LOSS_BUDGET,
            state=state,
            why=f"lost {dollars(use.lost_cents)} of {dollars(limit_cents)} {_when(budget)}",
            ends=raising if end_ns is None else f"the {budget.period} ends, or {raising}",
            until_ns=end_ns,
            divisor=self._settings.size_divisor if state is TradingState.REDUCED else 1,
            of_account=True,
        )


def _when(budget: LossBudget) -> str:
    """Its period, at the end of a sentence."""
    if budget.period is BudgetPeriod.SINCE:
        return f"since {second_of(budget.since_ns)}"
    return f"for the {budget.period}"


class ProfitAt(NamedTuple):
    """The profit of a run since its start, at an instant."""

    at_ns: int
    started_ns: int
    cents: int


def rebuilt(
    settings: LossBudgetSettings, profits: Sequence[ProfitAt], now_ns: int
) -> LossRecord | None:
    """What the profits of earlier runs say of the budgets; None where they say nothing.

    profits: oldest first; of a run that went on at the start of a period, one before that, too.
    What happened between two runs is in none of them.
    """
    uses = []
    for budget in budgets_of(settings):
        start_ns = budget.start_ns(now_ns)
        before: dict[int, int] = {}  # of each run, its profit at the start of the period
        newest: dict[int, int] = {}
        total_cents = high_cents = lost_cents = 0
        for row in profits:
            if row.at_ns < start_ns:
                before[row.started_ns] = row.cents
                continue
            newest[row.started_ns] = row.cents - before.get(row.started_ns, 0)
            total_cents = sum(newest.values())
            high_cents = max(high_cents, total_cents)
            reference_cents = high_cents if settings.from_high_water else 0
            lost_cents = max(lost_cents, reference_cents - total_cents)
        if newest:
            start_cents = -total_cents
            high_cents += start_cents
            uses.append(BudgetUse(budget.period, start_ns, start_cents, high_cents, lost_cents))
    return LossRecord(now_ns, 0, tuple(uses), is_relative=True) if uses else None


def stricter_budgets(wanted: LossBudgetSettings, than: LossBudgetSettings) -> LossBudgetSettings:
    """`wanted` with no budget or threshold above that of `than`, and with every budget of it. The
    very `wanted` where that is so already."""
    cents = {
        name: min(filter(None, (getattr(wanted, name), getattr(than, name))), default=Cents(0))
        for name in ("day_cents", "week_cents", "since_cents")
    }
    stricter = msgspec.structs.replace(
        wanted,
        **cents,
        since=min(filter(None, (wanted.since, than.since)), key=to_ns, default=None),
        from_high_water=wanted.from_high_water or than.from_high_water,
        reduced_pct=min(wanted.reduced_pct, than.reduced_pct),
        reduce_only_pct=min(wanted.reduce_only_pct, than.reduce_only_pct),
        size_divisor=max(wanted.size_divisor, than.size_divisor),
    )
    return wanted if stricter == wanted else stricter
