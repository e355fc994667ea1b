"""The newest picture of the trader with its age, and whether it may be called healthy."""

from collections import Counter
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.report import EventReport, Phase, Report, RungReport
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

DECIDED_NS_MAX: Final = 2 * NS_PER_SECOND
"""A trader that has not decided for so long is not alive, whatever its last picture shows."""


class Snapshot(msgspec.Struct, frozen=True):
    """decided_ns: when the trader last had a Beat; now_ns: when this was asked for. paused: why it
    was last paused, empty when it never was. notice: what a person should know of how it began."""

    now_ns: int
    decided_ns: int
    report: Report
    paused: str = ""
    notice: str = ""

    @property
    def stands_still(self) -> str:
        """Why it quotes nothing at all by somebody's wish; empty when it is not paused."""
        if self.report.phase is not Phase.PAUSED:
            return ""
        return self.paused or "asked for"

    @property
    def age_ms(self) -> int:
        """Since the trader last decided."""
        return (self.now_ns - self.decided_ns) // NS_PER_MS

    def unhealthy(self) -> str:
        """Why this bot is not doing its work; empty when it quotes or was told to pause."""
        report = self.report
        if self.now_ns - self.decided_ns > DECIDED_NS_MAX:
            return f"no decision for {self.age_ms} ms"
        if report.phase is Phase.PAUSED:
            return ""
        if report.phase is not Phase.QUOTING:
            return f"{report.phase.value}: {report.latched}" if report.latched else report.phase
        heard_ns, silent_ns = report.feed_heard_ns, report.feed_silent_after_ns
        if heard_ns is None or self.now_ns - heard_ns > silent_ns:
            return "the channel is silent"
        if report.withheld:
            return f"no new order: {report.withheld}"
        rungs = [rung for event in report.events for rung in event.rungs]
        if all(rung.blocked for rung in rungs):
            return f"no rung can be quoted: {rungs[0].blocked}" if rungs else "no rung at all"
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
    """Why no order of ours rests on a rung of an event."""
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


def why_paused(noted: m.Noted) -> str:
    """The reason of a pause that the trader tells of; empty for whatever else it tells."""
    if noted.name == "flat":
        return "everything is flat"
    return str(noted.fields.get("reason", "")) if noted.name == "paused" else ""
