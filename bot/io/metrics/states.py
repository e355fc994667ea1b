"""The state of a bot as people are shown it: on the page, by `bot status`, in logs and metrics."""

from typing import Final

from bot.core.report import Phase, Report

NO_FEED: Final = "no feed"
NOTHING_QUOTABLE: Final = "nothing quotable"
STATES: Final = (*(phase.value for phase in Phase), NO_FEED, NOTHING_QUOTABLE)


def shown_state(report: Report, now_ns: int) -> str:
    """One of `STATES`: the phase, but `quoting` only while a new order could leave."""
    if report.phase is not Phase.QUOTING:
        return report.phase.value
    if is_channel_silent(report, now_ns):
        return NO_FEED
    return NOTHING_QUOTABLE if why_unquotable(report) else report.phase.value


def is_channel_silent(report: Report, now_ns: int) -> bool:
    heard_ns = report.feed_heard_ns
    return heard_ns is None or now_ns - heard_ns > report.feed_silent_after_ns


def why_unquotable(report: Report) -> str:
    """Why no new order may leave for any rung, apart from phase and channel; empty if one may."""
    if report.withheld:
        return f"no new order: {report.withheld}"
    rungs = [rung for event in report.events for rung in event.rungs]
    if all(rung.blocked for rung in rungs):
        return f"no rung can be quoted: {rungs[0].blocked}" if rungs else "no rung at all"
    return ""
