"""The report of an incident: what rests by bot and venue, the verdict, the runbooks that fit."""

import re
from typing import Final

import msgspec

from bot.core.report import Phase
from bot.io.metrics.states import NO_FEED, NOTHING_QUOTABLE
from bot.io.state.kill_switch_file import CONTRADICTION, LatchRecord
from bot.lab.journal_history import JournalHistory, OpenFinding

NO_BOT: Final = "no bot answers"
STOPPED: Final = "not running, its last run stopped in good order"


class OrderLine(msgspec.Struct, frozen=True):
    """An order that may be live. side, price: of its own outcome at the venue, canonical YES in the
    bot's word; price in cents."""

    order_id: str
    ticker: str
    side: str
    price: int
    qty: int
    state: str


class SharesLine(msgspec.Struct, frozen=True):
    ticker: str
    yes_qty: int
    no_qty: int


class BotPart(msgspec.Struct, frozen=True, kw_only=True):
    """What the bot says. address: of its page, empty if none answers; why: then the reason.
    holds_lock: a process works in the state directory. restricted: what restricts the
    whole series, else empty. refused: by code, since its start."""

    address: str = ""
    why: str = ""
    holds_lock: bool = False
    crashed: bool = False
    last_beat: str = ""
    state: str = ""
    unhealthy: str = ""
    restricted: str = ""
    latched: str = ""
    paper: bool = False
    config_fault: str = ""
    orders: tuple[OrderLine, ...] = ()
    shares: tuple[SharesLine, ...] = ()
    findings: tuple[OpenFinding, ...] = ()
    refused: dict[str, int] = {}
    unanswered: int = 0


class VenuePart(msgspec.Struct, frozen=True, kw_only=True):
    """What the venue says of the account. why: empty if it was read. other_orders: of the account
    in other series. refused_keys: key places that it refused."""

    why: str = ""
    orders: tuple[OrderLine, ...] = ()
    shares: tuple[SharesLine, ...] = ()
    other_orders: int = 0
    refused_keys: tuple[str, ...] = ()


class IncidentCause(msgspec.Struct, frozen=True):
    """runbook: the page of this name in docs/runbooks."""

    runbook: str
    why: str


class IncidentReport(msgspec.Struct, frozen=True, kw_only=True):
    """flat: None while nobody can say. venue: None where there is none apart from the bot's own.
    journal: None where `journal_fault` says why. unread: the parts that could not be read."""

    name: str
    series: str
    at_ns: int
    flat: bool | None
    verdict: str
    bot: BotPart
    venue: VenuePart | None
    latch: LatchRecord | None
    journal: JournalHistory | None
    journal_fault: str = ""
    unread: tuple[str, ...] = ()
    causes: tuple[IncidentCause, ...] = ()


# --- the verdict ----------------------------------------------------------------------------------


def verdict_of(
    bot: BotPart, venue: VenuePart | None, journal: JournalHistory | None
) -> tuple[bool | None, str]:
    """True if nothing rests and nothing is held, None if nobody can say; and that in words."""
    if venue is not None and not venue.why:
        return _counted(len(venue.orders), len(venue.shares), "the venue")
    if bot.address:
        flat, text = _counted(len(bot.orders), len(bot.shares), "the bot")
        if flat and venue is not None:
            return None, f"{text}; the venue could not be asked"
        return flat, text
    if venue is None and bot.holds_lock:
        return None, "a bot runs and does not answer"
    if venue is None:
        return True, "nothing rests at a venue: it was on paper, or the venue ended with the bot"
    if journal is not None and journal.may_rest:
        count = len(journal.may_rest)
        return False, f"{_counting(count, 'order')} may rest, by the journal alone"
    return None, "neither venue nor bot can be asked"


def _counted(orders: int, rungs: int, by: str) -> tuple[bool, str]:
    if not (orders or rungs):
        return True, f"no order rests and no share is held, {by} says"
    held = f"shares are held in {_counting(rungs, 'rung')}" if rungs else "no share is held"
    rest = "no order rests" if not orders else f"{_counting(orders, 'order')} may be live"
    return False, f"{rest} and {held}, {by} says"


def _counting(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


# --- runbooks -------------------------------------------------------------------------------------

_OF_FINDINGS: Final = (
    ("foreign_orders|strangers_found", "ForeignOrders"),
    (".*key_refused", "KeyRefused"),
    ("latched", "BotLatched"),
    ("latched_not_flat", "LatchedNotFlat"),
    ("inconsistency", "BooksContradict"),
    ("unknown_old", "UnknownOrderOld"),
    ("strategy_at_fault", "StrategyFailing"),
    ("journal_failed", "JournalLate"),
    ("foreign_spend", "ForeignRequests"),
    ("outside_value_unused", "OutsideValueUnused"),
    (
        "cash_differs|position_differs|fills_missing|fill_unreadable|profit_unexplained",
        "ReconcileDifference",
    ),
    (".*", "FindingStands"),
)


def runbook_of(finding: str) -> str:
    """The runbook of a finding, as the alerts have it."""
    return next(page for pattern, page in _OF_FINDINGS if re.fullmatch(pattern, finding))


_OF_STATES: Final = {
    Phase.STARTING.value: "BotStarting",
    Phase.PAUSED.value: "BotPausedLong",
    NO_FEED: "FeedStale",
    NOTHING_QUOTABLE: "NothingQuoted",
}


def causes_of(
    bot: BotPart,
    venue: VenuePart | None,
    latch: LatchRecord | None,
    journal: JournalHistory | None,
) -> list[IncidentCause]:
    """The runbooks that fit, each once, the likeliest cause of the others first."""
    found: dict[str, str] = {}
    if venue is not None and venue.why:
        found["KeyRefused" if venue.refused_keys else "VenueDown"] = f"the venue: {venue.why}"
    elif venue is not None and venue.refused_keys:
        found["KeyRefused"] = "; ".join(venue.refused_keys)
    if not bot.address and (bot.crashed or bot.holds_lock):
        text = "it holds its lock and does not answer" if bot.holds_lock else "its run was cut off"
        found["BotDown"] = text
    if latch is not None:
        page = "BooksContradict" if latch.by == CONTRADICTION else "BotLatched"
        found[page] = f"latched by {latch.by}: {latch.reason}"
    elif bot.latched:
        found["BotLatched"] = bot.latched
    open_now = bot.findings if bot.address else (() if journal is None else journal.findings)
    for finding in open_now:
        found.setdefault(runbook_of(finding.name), f"{finding.name}: {finding.text}")
    state = bot.state.partition(",")[0]
    if state in _OF_STATES:
        found.setdefault(_OF_STATES[state], bot.restricted or bot.unhealthy or f"it is {state}")
    if bot.config_fault:
        found["ConfigRefused"] = bot.config_fault
    if journal is not None and journal.starts > 1:
        found["BotRestarting"] = f"{journal.starts} starts"
    return [IncidentCause(page, why) for page, why in found.items()]
