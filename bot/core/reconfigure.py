"""Another configuration while the trader runs: all of it from one decision to the next, or nothing.

The trader takes one event after the other and decides on a Beat, so what one event changes is never
seen half done. Everything that can fail comes first: which settings may change at all, and one
fresh strategy for every event where the strategy is another one. Then every part that holds to the
settings is given the new ones, and nothing of that can fail.

A change has to prove itself for a minute of quoting (`trial`). When quotes break, what had proven
itself last comes back, except that no limit becomes looser by that (`limits`); where nothing would
come back, there is no trial. A change that comes within the minute begins it anew, and what would
come back stays the same.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bot.core.desk.desk import Desk
from bot.core.desk.outbox import Outbox
from bot.core.fault_text import fault_text
from bot.core.limits.inforce import no_looser
from bot.core.messages import ConfigRefused, Configuration, Reconfigured, StrategyChoice
from bot.core.report import ConfigReport
from bot.core.sending.guard import Guard
from bot.core.sending.sending import Sending
from bot.core.series.quoting import Quoting
from bot.core.settings import TraderSettings
from bot.core.strategy import Strategy
from bot.core.trial import Trial
from venue.wire.instant import NS_PER_SECOND

MakeStrategy = Callable[[], Strategy]

Remake = Callable[[StrategyChoice], MakeStrategy]
"""What makes the strategies of a choice; raises whatever importing or checking one raises."""

LIVE: Final = ("risk", "pace", "news", "curfew", "breakers")
"""The parts of the settings that may change while the trader runs."""

FIXED_PACE: Final = ("requests_in_flight", "queue_power_pct")
"""What of the pace may not: a connection pool has the size of the first, and what was learned of
the queues has been learned under the second."""

TIGHTER: Final = "+tighter"
"""Ends the digest of what a rollback brought back with tighter limits than it had."""

_WHY_MAX: Final = 2_000


class _InForce(msgspec.Struct, frozen=True):
    """A configuration with what makes its strategies."""

    configured: Configuration
    make_strategy: MakeStrategy


class Reconfiguration:
    """What configuration is in force, and how it becomes another one.

    trial: of the newest change, None once it has proven itself. heard: events of this kind so far.
    """

    def __init__(
        self,
        settings: TraderSettings,
        make_strategy: MakeStrategy,
        remake: Remake | None,
        quoting: Quoting,
        sending: Sending,
        guard: Guard,
        desk: Desk,
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
        self.trial: Trial | None = None
        self._number = self._applied = self._refused = self._rolled_back = 0
        self._fault = ""
        self.heard = 0

    @property
    def settings(self) -> TraderSettings:
        """The settings in force."""
        return self._in_force.configured.settings

    @property
    def configured(self) -> Configuration:
        """The configuration in force."""
        return self._in_force.configured

    @property
    def is_at_fault(self) -> bool:
        """Whether the newest change of the file was refused or rolled back."""
        return bool(self._fault)

    @property
    def proven(self) -> Configuration:
        """What a rollback would bring back, but for the limits that it keeps tighter."""
        return self._proven.configured

    def began(self, configured: Configuration | None) -> None:
        """What the trader was made with has a name, as far as anybody knows it."""
        if configured is not None:
            settings = self.settings
            named = msgspec.structs.replace(configured, settings=settings)
            self._in_force = self._proven = _InForce(named, self._in_force.make_strategy)

    def apply(self, event: Reconfigured, now_ns: int) -> None:
        """Put a configuration in force, or say why not and change nothing."""
        self.heard += 1
        wanted = event.configured
        why = barred(self.settings, wanted.settings)
        if why:
            self._refuse(f"only a restart can change {why}")
            return
        before = self._in_force
        try:
            make_strategy, fresh = self._strategies(wanted.strategy)
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: the old one goes on
            self._refuse(f"strategy: {fault_text(fault)}")
            return
        self._fault, self._number = "", event.number
        self._applied += 1
        # What quotes were like is looked at before anything is other than it was.
        trial = self._trial_of(wanted, before, now_ns)
        self._put(_InForce(wanted, make_strategy), fresh, now_ns)
        self.trial = trial
        if trial is None:
            self._proven = self._in_force
        self._out.note(
            "info",
            "config_applied",
            number=event.number,
            digest=wanted.digest,
            changed=", ".join(event.changed)[:_WHY_MAX],
            on_trial=int(trial is not None),
        )

    def refuse(self, event: ConfigRefused) -> None:
        """A change of the file holds nothing: say so, and go on as before."""
        self.heard += 1
        self._refuse(event.why)

    def _refuse(self, why: str) -> None:
        self._refused += 1
        self._fault = why[:_WHY_MAX]
        self._out.note("error", "config_refused", why=self._fault)

    def judge(self, now_ns: int, *, quoting: bool) -> None:
        """Look at the change on trial: it may have proven itself, or broken quotes.

        quoting: whether both sides may be quoted now.
        """
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
        """The state of the configuration, for people and metrics."""
        return ConfigReport(
            number=self._number,
            digest=self._in_force.configured.digest,
            trial_left_s=0 if self.trial is None else -(-self.trial.left_ns // NS_PER_SECOND),
            applied=self._applied,
            refused=self._refused,
            rolled_back=self._rolled_back,
            fault=self._fault,
        )

    # --- how --------------------------------------------------------------------------------------

    def _strategies(self, choice: StrategyChoice) -> tuple[MakeStrategy, Sequence[Strategy] | None]:
        """What makes the strategies of a choice, and a fresh one for each event there is; None for
        these where it is the choice in force. Raises what a plugin raises."""
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
        self._quoting.reconfigure(settings, wanted.make_strategy)
        for place, ladder in enumerate(self._quoting.ladders):
            ladder.reconfigure(settings, None if fresh is None else fresh[place])
        self._quoting.supervision.replaced()
        self._quoting.scoring.reconfigure(settings)
        self._sending.reconfigure(settings, now_ns)
        self._guard.reconfigure(settings, now_ns)

    def _trial_of(self, wanted: Configuration, before: _InForce, now_ns: int) -> Trial | None:
        """The watch over a change that is about to be made; None if it could not be undone."""
        if self._fallback(wanted) == wanted:
            return None
        news_changed = wanted.settings.news != before.configured.settings.news
        if self.trial is not None:
            self.trial.begin_anew(now_ns, news_changed=news_changed)
            return self.trial
        return Trial(
            self._quoting.ladders,
            self._desk,
            self._guard.breakers.tripped,
            now_ns,
            news_changed=news_changed,
        )

    def _fallback(self, from_: Configuration) -> Configuration:
        """What a rollback would put in force; digests of the same content are the same."""
        proven = self._proven.configured
        settings = no_looser(proven.settings, from_.settings)
        if settings == from_.settings and proven.strategy == from_.strategy:
            return from_
        if settings == proven.settings:
            return proven
        digest = proven.digest.removesuffix(TIGHTER) + TIGHTER
        return Configuration(settings, proven.strategy, digest)

    def _roll_back(self, why: str, now_ns: int) -> None:
        """What had proven itself last comes back."""
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
        self._fault = f"change {self._number} was rolled back: {why}"[:_WHY_MAX]
        self._out.note(
            "error", "config_rolled_back", number=self._number, why=why, digest=fallback.digest
        )


def barred(old: TraderSettings, new: TraderSettings) -> str:
    """The first setting that differs and only a restart can change; empty where there is none."""
    for part in old.__struct_fields__:
        if part not in LIVE and getattr(old, part) != getattr(new, part):
            return part
    for name in FIXED_PACE:
        if getattr(old.pace, name) != getattr(new.pace, name):
            return f"pace.{name}"
    return ""
