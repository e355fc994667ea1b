"""Another configuration while the trader runs: all of it from one decision to the next, or nothing.

The trader takes one event after the other and decides on a Beat, so what one event changes is never
seen half done. Everything that can fail comes first: which settings may change at all, and one
fresh strategy for every event where the strategy is another one.

A change is on trial for a minute of quoting. When quotes break, what had proven itself last comes
back, except that no limit becomes looser by that; where nothing would come back, there is no trial.
A change within the minute starts it again; the configuration to fall back on stays the same.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bot.core.execution.executor import OrderExecutor
from bot.core.execution.kill_switch import KillSwitch
from bot.core.fault_text import fault_text
from bot.core.messages import ConfigRefused, Configuration, Reconfigured, StrategyChoice
from bot.core.orders.manager import OrderManager
from bot.core.orders.outbox import Outbox
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.report import ConfigReport
from bot.core.risk.limits import no_looser
from bot.core.settings import JOURNAL_NAMES, TraderSettings
from bot.core.trading_state import Source, TradingState
from bot.strategy.api import Strategy
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.names import Ticker

MakeStrategy = Callable[[], Strategy]

Remake = Callable[[StrategyChoice], MakeStrategy]
"""Makes the strategies of a choice; raises any exception of importing or checking one."""

LIVE: Final = (
    *("risk", "pace", "news", "curfew", "calendar", "breakers", "loss_budgets"),
    "outside_sources",
)
"""The parts of the settings that may change while the trader runs."""

FIXED_PACE: Final = ("requests_in_flight", "queue_power_pct")
"""What of the pace may not: a connection pool has the size of the first, and the queues have been
learned under the second."""

TIGHTER: Final = "+tighter"
"""Suffix of the digest of a rollback with tighter limits than the original."""

LOOK_NS: Final = 250 * NS_PER_MS
"""Between two looks at a change on trial."""

_TRIAL_NS: Final = 60 * NS_PER_SECOND
_COLLAPSED_NS: Final = 10 * NS_PER_SECOND

_STEP_NS: Final = NS_PER_SECOND
"""A pause of the process longer than this says nothing of how quotes have fared."""

_WHY_MAX: Final = 2_000


class _InForce(msgspec.Struct, frozen=True):
    """A configuration and the maker of its strategies."""

    configured: Configuration
    make_strategy: MakeStrategy


class ConfigCanary:
    """A change's first minute of quoting. Quotes have broken when

    - the strategy of an event is at fault that was not when the change came; or
    - a breaker has tripped that had not; or
    - the share of rungs with orders of ours on both sides stays below half of what it was for ten
      seconds. Only rungs count that could be quoted on both sides: of an event not near its end,
      and not pulled by news unless the change was of the news settings.

    Time in which nothing may be quoted, or positions may only shrink, does not count.
    left_ns: the rest of the minute.
    """

    def __init__(
        self,
        ladders: Sequence[EventQuoter],
        desk: OrderManager,
        tripped: str,
        now_ns: int,
        *,
        news_changed: bool,
    ) -> None:
        """tripped: the breaker that has tripped already; empty when none has."""
        self.left_ns = _TRIAL_NS
        self._ladders = ladders
        self._desk = desk
        self._tripped_before = tripped
        self._news_changed = news_changed
        self._at_fault_before = frozenset(_at_fault(ladders))
        self._before = self._two_sided(now_ns)
        self._looked_ns = now_ns
        self._sound_ns = now_ns

    def judge(self, tripped: str, now_ns: int, *, quoting: bool) -> str:
        """Why quotes have broken; empty while they have not. quoting: both sides may be quoted."""
        # A breaker that is reset within the minute and trips again counts as another trip.
        before, self._tripped_before = self._tripped_before, tripped
        if tripped and not before:
            return f"a breaker tripped: {tripped}"
        passed_ns = now_ns - self._looked_ns
        if passed_ns < LOOK_NS:
            return ""
        self._looked_ns = now_ns
        if not quoting or passed_ns > _STEP_NS:
            self._sound_ns = now_ns
            return ""
        self.left_ns -= passed_ns
        for ticker, fault in _at_fault(self._ladders).items():
            if ticker not in self._at_fault_before:
                return f"{ticker}: {fault}"
        return self._collapse(now_ns)

    def begin_anew(self, now_ns: int, *, news_changed: bool) -> None:
        """Another change came within the minute: it is judged against the same state of before."""
        self.left_ns = _TRIAL_NS
        self._sound_ns = now_ns
        self._news_changed |= news_changed

    def _collapse(self, now_ns: int) -> str:
        """Why the share of two-sided rungs has collapsed; empty while it has not."""
        both_before, of_before = self._before
        both, of = self._two_sided(now_ns)
        if not both_before or not of or 2 * both * of_before >= both_before * of:
            self._sound_ns = now_ns
        elif now_ns - self._sound_ns >= _COLLAPSED_NS:
            return (
                f"two-sided on {both} of {of} rungs, {both_before} of {of_before} before the "
                f"change, for {_COLLAPSED_NS // NS_PER_SECOND} s"
            )
        return ""

    def _two_sided(self, now_ns: int) -> tuple[int, int]:
        """Of the rungs that could be quoted on both sides: how many are, and how many there are."""
        rungs = [
            rung
            for ladder in self._ladders
            if self._counts(ladder, now_ns)
            for rung in ladder.rungs
            if rung.is_active
            if not rung.blocked
        ]
        return sum(rung.is_two_sided(self._desk) for rung in rungs), len(rungs)

    def _counts(self, ladder: EventQuoter, now_ns: int) -> bool:
        """True if nothing keeps an event from both sides but what the change may have broken."""
        broken = (Source.STRATEGY, Source.JUMP_GUARD) if self._news_changed else (Source.STRATEGY,)
        return all(
            each.source in broken or each.state.level <= TradingState.REDUCED.level
            for each in ladder.restrictions(now_ns)
        )


def _at_fault(ladders: Sequence[EventQuoter]) -> dict[Ticker, str]:
    """The faults of strategies, by event."""
    return {
        ladder.event.event_ticker: ladder.health.fault for ladder in ladders if ladder.health.fault
    }


class Reconfiguration:
    """The configuration in force, its trial and its rollback.

    trial: of the newest change, None once it has proven itself. heard: events of this kind so far.
    fault: why the newest change of the file was refused or rolled back; empty when it holds.
    """

    def __init__(
        self,
        settings: TraderSettings,
        make_strategy: MakeStrategy,
        remake: Remake | None,
        quoting: QuotingEngine,
        sending: OrderExecutor,
        guard: KillSwitch,
        desk: OrderManager,
        out: Outbox,
    ) -> None:
        """remake: None where the strategy can never be another one."""
        unnamed = Configuration(settings, StrategyChoice("", ""), "")
        self._in_force = self._proven = _InForce(unnamed, make_strategy)
        self._remake = remake
        self._quoting = quoting
        self._sending = sending
        self._guard = guard
        self._desk = desk
        self._out = out
        self.trial: ConfigCanary | None = None
        self._number = self._applied = self._refused = self._rolled_back = 0
        self.fault = ""
        self.heard = 0

    @property
    def settings(self) -> TraderSettings:
        return self._in_force.configured.settings

    @property
    def configured(self) -> Configuration:
        return self._in_force.configured

    @property
    def proven(self) -> Configuration:
        """The target of a rollback, but for the limits that it keeps tighter."""
        return self._proven.configured

    def began(self, configured: Configuration | None) -> None:
        """Name the first configuration; None: unknown."""
        if configured is not None:
            named = msgspec.structs.replace(configured, settings=self.settings)
            self._in_force = self._proven = _InForce(named, self._in_force.make_strategy)

    def on_reconfigured(self, event: Reconfigured, now_ns: int) -> None:
        """Put a configuration in force, or say why not and change nothing."""
        self.heard += 1
        wanted = event.configured
        why = barred(self.settings, wanted.settings)
        if why:
            self._refuse(f"only a restart can change {why}")
            return
        try:
            make_strategy, fresh = self._strategies(wanted.strategy)
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: the old one goes on
            self._refuse(f"strategy: {fault_text(fault)}")
            return
        self.fault, self._number = "", event.number
        self._applied += 1
        self.trial = self._trial_of(wanted, now_ns)  # quotes are counted as they are before it
        self._put(_InForce(wanted, make_strategy), fresh, now_ns)
        if self.trial is None:
            self._proven = self._in_force
        self._out.note(
            "info",
            "config_applied",
            number=event.number,
            digest=wanted.digest,
            changed=", ".join(event.changed)[:_WHY_MAX],
            on_trial=int(self.trial is not None),
        )

    def refuse(self, event: ConfigRefused) -> None:
        """Say that a change of the file holds nothing, and go on as before."""
        self.heard += 1
        self._refuse(event.why)

    def _refuse(self, why: str) -> None:
        self._refused += 1
        self.fault = why[:_WHY_MAX]
        self._out.note("error", "config_refused", why=self.fault)

    def judge(self, now_ns: int, *, quoting: bool) -> None:
        """Look at the change on trial. quoting: True while both sides may be quoted."""
        if self.trial is None:
            return
        why = self.trial.judge(self._guard.breakers.tripped, now_ns, quoting=quoting)
        if why:
            self._roll_back(why, now_ns)
        elif self.trial.left_ns <= 0:
            self.trial = None
            self._proven = self._in_force
            self._out.note("info", "config_proven", number=self._number)

    def report(self) -> ConfigReport:
        """Its state, for people and metrics."""
        return ConfigReport(
            number=self._number,
            digest=self._in_force.configured.digest,
            applied=self._applied,
            refused=self._refused,
            rolled_back=self._rolled_back,
            fault=self.fault,
        )

    def _strategies(self, choice: StrategyChoice) -> tuple[MakeStrategy, Sequence[Strategy] | None]:
        """What makes the strategies of a choice, and a fresh one for each event, None where it is
        the choice in force. Raises what a plugin raises."""
        if choice == self._in_force.configured.strategy:
            return self._in_force.make_strategy, None
        if choice == self._proven.configured.strategy:
            make_strategy = self._proven.make_strategy
        elif self._remake is None:
            raise ValueError("this trader has one strategy only")
        else:
            make_strategy = self._remake(choice)
        return make_strategy, [make_strategy() for _ in self._quoting.ladders]

    def _put(self, wanted: _InForce, fresh: Sequence[Strategy] | None, now_ns: int) -> None:
        """Give every part that holds to the settings the new ones. Nothing here can fail."""
        settings = wanted.configured.settings
        self._in_force = wanted
        self._quoting.use_settings(settings, wanted.make_strategy)
        for place, ladder in enumerate(self._quoting.ladders):
            ladder.use_settings(settings, None if fresh is None else fresh[place])
        self._quoting.supervisor.report_faults()
        self._sending.reconfigure(settings, now_ns)
        self._guard.reconfigure(settings, now_ns)

    def _trial_of(self, wanted: Configuration, now_ns: int) -> ConfigCanary | None:
        """The watch over a change that is about to be made; None if it could not be undone."""
        if self._fallback(wanted) == wanted:
            return None
        news_changed = wanted.settings.news != self.settings.news
        if self.trial is not None:
            self.trial.begin_anew(now_ns, news_changed=news_changed)
            return self.trial
        return ConfigCanary(
            self._quoting.ladders,
            self._desk,
            self._guard.breakers.tripped,
            now_ns,
            news_changed=news_changed,
        )

    def _fallback(self, from_: Configuration) -> Configuration:
        """The configuration after a rollback; digests of the same content are the same."""
        proven = self._proven.configured
        settings = no_looser(proven.settings, from_.settings)
        if settings == from_.settings and proven.strategy == from_.strategy:
            return from_
        if settings == proven.settings:
            return proven
        digest = proven.digest.removesuffix(TIGHTER) + TIGHTER
        return Configuration(settings, proven.strategy, digest)

    def _roll_back(self, why: str, now_ns: int) -> None:
        self.trial = None
        fallback = self._fallback(self._in_force.configured)
        try:
            make_strategy, fresh = self._strategies(fallback.strategy)
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: the new one goes on
            self._proven = self._in_force
            self._out.note("error", "config_rollback_failed", why=why, fault=fault_text(fault))
            return
        self._put(_InForce(fallback, make_strategy), fresh, now_ns)
        self._proven = self._in_force
        self._rolled_back += 1
        self.fault = f"change {self._number} was rolled back: {why}"[:_WHY_MAX]
        self._out.note(
            "error", "config_rolled_back", number=self._number, why=why, digest=fallback.digest
        )


def barred(old: TraderSettings, new: TraderSettings) -> str:
    """The first setting that differs and only a restart can change; empty where there is none."""
    for part in old.__struct_fields__:
        if part not in LIVE and getattr(old, part) != getattr(new, part):
            return JOURNAL_NAMES.get(part, part)
    for name in FIXED_PACE:
        if getattr(old.pace, name) != getattr(new.pace, name):
            return f"pace.{name}"
    return ""
