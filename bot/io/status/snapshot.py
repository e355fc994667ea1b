"""The data of the status page, metrics and terminal of one series: snapshot, history, log."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.report import EventReport, Phase, Report, RungReport
from bot.core.trading_state import TradingState
from bot.io.logs import LogTail
from bot.io.metrics.metrics import Metrics
from bot.io.metrics.states import is_channel_silent, shown_state, why_unquotable
from bot.io.status.serving import framed
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.names import Ticker

DECIDED_NS_MAX: Final = 2 * NS_PER_SECOND
"""A trader without a decision for so long is unhealthy, whatever its last report shows."""


class Snapshot(msgspec.Struct, frozen=True):
    """decided_ns: the last tick. now_ns: when this was requested. notice: what a person should
    know of how it began."""

    now_ns: int
    decided_ns: int
    report: Report
    notice: str = ""

    @property
    def state(self) -> str:
        """The state for a person, and to what trading is restricted."""
        state = shown_state(self.report, self.now_ns)
        is_restricted = state == Phase.QUOTING and self.report.state is not TradingState.ACTIVE
        return f"{state}, {self.report.state}".replace("_", " ") if is_restricted else state

    @property
    def age_ms(self) -> int:
        """Since the last decision."""
        return (self.now_ns - self.decided_ns) // NS_PER_MS

    def unhealthy(self) -> str:
        """Why this bot does not do its work; empty when it quotes or was paused by request."""
        report = self.report
        if self.now_ns - self.decided_ns > DECIDED_NS_MAX:
            return f"no decision for {self.age_ms} ms"
        if report.phase is Phase.PAUSED:
            return ""
        if report.phase is not Phase.QUOTING:
            return f"{report.phase.value}: {report.latched}" if report.latched else report.phase
        if is_channel_silent(report, self.now_ns):
            return "the channel is silent"
        if why := why_unquotable(report):
            return why
        # Of an event that is over or closed no strategy is asked.
        asked = [each for each in report.events if not all(rung.blocked for rung in each.rungs)]
        if report.resting == 0 and all(event.strategy_fault for event in asked):
            return f"the strategy is at fault everywhere: {asked[0].strategy_fault}"
        return ""

    @property
    def idle(self) -> str:
        """Why a bot that quotes has nothing resting; empty where something rests."""
        report = self.report
        if report.phase is not Phase.QUOTING or report.resting:
            return ""
        reasons = Counter(_why_bare(event, rung) for event in report.events for rung in event.rungs)
        if report.withheld:
            reasons = Counter({f"no new order: {report.withheld}": sum(reasons.values())})
        told = [f"{why} ({count} rungs)" for why, count in reasons.most_common()]
        return f"nothing rests: {'; '.join(told) or 'the series has no rung to quote'}"


def _why_bare(event: EventReport, rung: RungReport) -> str:
    """Why no order of ours rests on a rung."""
    if rung.blocked:
        return rung.blocked
    if event.strategy_fault:
        return f"the strategy is at fault: {event.strategy_fault}"
    if rung.wanted_bids or rung.wanted_asks:
        return "orders are on their way"
    if rung.fair_cents is None:
        return "no fair value"
    if event.cuts:
        return f"limits leave nothing: {', '.join(sorted(event.cuts))}"
    return "the strategy wants no order"


class StatusSource(msgspec.Struct, frozen=True):
    """One series of this process. look: None before the first decision. tell: gives its trader an
    event. state: None when it keeps none. plan: what would be sent now, as JSON can hold it. name:
    of its configuration."""

    look: Callable[[], Snapshot | None]
    metrics: Metrics
    last_notes: Callable[[], list[str]]
    tell: Callable[[m.Event], None]
    state: Path | None = None
    plan: Callable[[], object] | None = None
    name: str = ""


POINTS_MAX: Final = 480
FIRST_STEP_NS: Final = 2 * NS_PER_SECOND


class HistorySample(msgspec.Struct, frozen=True, array_like=True):
    """Thousandths of a cent, but fees and worst case in cents."""

    at_ns: int
    profit_millicents: int
    spread_millicents: int
    adverse_millicents: int
    drift_millicents: int
    fees_cents: int
    worst_case_cents: int


class History:
    """Profit over time, evenly sampled, oldest first. version: changes with every sample.

    When the samples are too many, every second one goes and they are taken half as often: a run of
    months fits.
    """

    def __init__(self, points_max: int = POINTS_MAX, step_ns: int = FIRST_STEP_NS) -> None:
        self._points_max = points_max
        self._step_ns = step_ns
        self._moments: list[HistorySample] = []
        self.version = 0

    @property
    def moments(self) -> tuple[HistorySample, ...]:
        return tuple(self._moments)

    def add_sample(self, report: Report) -> None:
        if report.profit is None:
            return
        if self._moments and report.now_ns - self._moments[-1].at_ns < self._step_ns:
            return
        total = report.profit.total
        self._moments.append(
            HistorySample(
                report.now_ns,
                total.profit_millicents,
                total.spread_millicents,
                total.adverse_millicents,
                total.drift_millicents,
                total.fees_cents,
                report.worst_case_cents,
            )
        )
        self.version += 1
        if len(self._moments) > self._points_max:
            # The first stays: it is where the curves begin.
            del self._moments[1::2]
            self._step_ns *= 2


class Overview:
    """The status page of one series. `take` is called every second, whether anybody
    looks or not."""

    def __init__(
        self,
        shown: StatusSource,
        tail: LogTail | None,
        names: Mapping[Ticker, str],
        *,
        control: bool,
    ) -> None:
        """names: of the configurations of this process, by series. control: True if its controls
        are open."""
        self._shown = shown
        self._tail = tail
        self._names = names
        self._control = control
        self._history = History()

    def sample_history(self) -> None:
        snapshot = self._shown.look()
        if snapshot is not None:
            self._history.add_sample(snapshot.report)

    def status(self) -> dict[str, object]:
        """The newest snapshot as JSON. age_ms: since the last decision; unhealthy, paused, idle:
        reasons, empty when it is not so. state: for a person."""
        now = self._shown.look()
        return {
            "age_ms": None if now is None else now.age_ms,
            "unhealthy": "starting" if now is None else now.unhealthy(),
            "report": None if now is None else now.report,
            "state": "starting" if now is None else now.state,
            "restricted": [] if now is None else [r.text() for r in now.report.restrictions],
            "idle": "" if now is None else now.idle,
            "notice": "" if now is None else now.notice,
            "control": self._control,
            "series": tuple(self._names),
            "names": tuple(self._names.values()),
        }

    def reader(self) -> "Reader":
        return Reader(self, self._history, self._tail)


class Reader:
    def __init__(self, overview: Overview, history: History, tail: LogTail | None) -> None:
        self._overview = overview
        self._history = history
        self._tail = tail
        self._version = 0
        self._line = 0

    def news(self) -> bytes:
        """The snapshot, and profit over time and log lines where there are new ones."""
        parts = [framed("status", self._overview.status())]
        if self._history.version != self._version:
            self._version = self._history.version
            parts.append(framed("history", self._history.moments))
        if self._tail is not None:
            lines = self._tail.since(self._line)
            alerts = self._tail.alerts_since(self._line)
            if lines:
                self._line = lines[-1].number
                parts.append(framed("log", {"lines": lines, "alerts": alerts}))
        return b"".join(parts)
