"""The report of `bot incident` as text for a terminal."""

from collections.abc import Iterator, Sequence
from typing import Final

from bot.io.client.answers import plain
from bot.lab.incident import BotPart, IncidentReport, OrderLine, SharesLine, VenuePart
from bot.lab.journal_history import JournalHistory
from venue.wire import instant
from venue.wire.instant import NS_PER_SECOND

_ROWS_MAX: Final = 20
"""Rows of a list; of a longer one the newest, or the first of orders, are shown."""

_TEXT_MAX: Final = 200


def incident_text(report: IncidentReport) -> str:
    answer = {True: "yes", False: "NO", None: "NOT KNOWN"}[report.flat]
    lines = [
        f"incident report of {report.name} ({report.series}), {_moment(report.at_ns)}",
        *(f"not read: {plain(each, _TEXT_MAX)}" for each in report.unread),
        "",
        f"Is everything flat? {answer}: {report.verdict}",
        *_bot(report.bot, in_full=report.venue is None or bool(report.venue.why)),
        *([] if report.venue is None else _venue(report.venue)),
    ]
    journal = report.journal
    is_alone = report.venue is not None and report.venue.why and not report.bot.address
    if is_alone and journal is not None and journal.may_rest:
        lines.append(_may_rest(journal.may_rest))
    if report.latch is not None:
        since = f" since {report.latch.at}" if report.latch.at else ""
        lines.append(f"  latched{since} by {report.latch.by}: {plain(report.latch.reason, None)}")
    if journal is not None:
        lines += _journal(journal)
    else:
        lines += ["", "Who did what, and what was seen: not known without the journal"]
    lines += ["", "What to do", *_advice(report)]
    return "\n".join(lines)


def _bot(bot: BotPart, *, in_full: bool) -> Iterator[str]:
    """in_full: with its orders, for the venue cannot list them."""
    if not bot.address:
        where = "; a process holds its state directory" if bot.holds_lock else ""
        beat = f"; last heartbeat {bot.last_beat[:19]}Z" if bot.last_beat else ""
        yield f"  bot: {bot.why}{where}{beat}{'; its run was cut off' if bot.crashed else ''}"
        return
    why = plain(bot.restricted or bot.unhealthy, _TEXT_MAX)
    paper = "PAPER " if bot.paper else ""
    yield f"  bot: {paper}{bot.state} at {bot.address}{f': {why}' if why else ''}"
    yield f"    {len(bot.orders)} orders may be live{_shares(bot.shares)}"
    if in_full:
        yield from _orders(bot.orders)


def _venue(venue: VenuePart) -> Iterator[str]:
    if venue.why:
        yield f"  venue: not read: {plain(venue.why, _TEXT_MAX)}"
    else:
        others = f", {venue.other_orders} of other series" if venue.other_orders else ""
        yield f"  venue: {len(venue.orders)} orders rest{others}{_shares(venue.shares)}"
        yield from _orders(venue.orders)
    for refused in venue.refused_keys:
        yield f"    refused: {plain(refused, _TEXT_MAX)}"


def _orders(orders: Sequence[OrderLine]) -> Iterator[str]:
    for order in orders[:_ROWS_MAX]:
        yield (
            f"    {order.ticker} {order.side} {order.price}c x {order.qty}, {order.state}, "
            f"{plain(order.order_id, _TEXT_MAX)}"
        )
    if len(orders) > _ROWS_MAX:
        yield f"    and {len(orders) - _ROWS_MAX} more: --json has all"


def _shares(shares: Sequence[SharesLine]) -> str:
    if not shares:
        return "; no shares"
    held = ", ".join(f"{each.ticker} {each.yes_qty}/{each.no_qty}" for each in shares)
    return f"; shares YES/NO: {held}"


def _may_rest(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _ROWS_MAX} more: --json has all" if len(ids) > _ROWS_MAX else ""
    return f"    by the journal: {', '.join(ids[:_ROWS_MAX])}{more}"


def _journal(journal: JournalHistory) -> Iterator[str]:
    yield from ("", f"Who did what, from {_moment(journal.since_ns)}")
    if journal.until_ns and not journal.timeline:
        yield "  nobody did anything"
    yield from _newest(
        [
            f"  {_moment(each.at_ns)}  {each.who:<8}  {plain(each.what, _TEXT_MAX)}"
            for each in journal.timeline
        ]
    )
    yield f"  {_moment(journal.until_ns)}  the journal ends"
    yield from ("", "What was seen")
    yield from _newest(
        [
            f"  {_moment(note.last_ns)}  {note.level:<8}  {note.name}"
            f"{f' ({note.count} times)' if note.count > 1 else ''}: {plain(note.text, _TEXT_MAX)}"
            for note in journal.notes
        ]
    )
    for finding in journal.findings:
        text = plain(finding.text, _TEXT_MAX)
        yield f"  open since {_moment(finding.since_ns)}: {finding.name}: {text}"
    for gap in journal.silent:
        seconds = (gap.until_ns - gap.from_ns) // NS_PER_SECOND
        how = "silent" if gap.what == "channel" else "down"
        yield f"  {gap.what} {how} for {seconds} s from {_moment(gap.from_ns)}"
    refused = sorted(journal.refused.items(), key=lambda row: -row[1])
    codes = ", ".join(f"{plain(code, _TEXT_MAX)} {count}" for code, count in refused)
    yield f"  requests refused: {codes or 'none'}; without a definite answer: {journal.unanswered}"


def _newest(lines: list[str]) -> Iterator[str]:
    if len(lines) > _ROWS_MAX:
        yield f"  {len(lines) - _ROWS_MAX} earlier ones: --json has all"
    yield from lines[-_ROWS_MAX:]


def _advice(report: IncidentReport) -> Iterator[str]:
    lasts = report.bot.address and not report.bot.unhealthy and not report.bot.restricted
    if report.flat is not True and not lasts:
        yield "  bot cancel-all CONFIG --verify, with --reaper-key if the bot's key is refused"
    for cause in report.causes:
        why = plain(cause.why, _TEXT_MAX)
        yield f"  docs/runbooks/{cause.runbook}.md: {why}"
    if not report.causes:
        yield "  nothing fits a runbook"


def _moment(at_ns: int) -> str:
    return instant.second_of(at_ns) if at_ns else "the beginning"
