"""Two runs side by side: their figures, the differences, and what chance allows of them.

Profits of blocks of time that both lived are drawn again in pairs. Drawing is seeded: the same
sessions give the same page.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np

from bot.core.account.markouts import MILLI
from bot.lab.evaluate.statistics import mean_difference, resamples
from bot.lab.report.session import Session, SessionSample
from bot.lab.report.sources import ReportFault
from bot.lab.report.text import dollars, filled, final_cents, plain, span_text
from bot.page.skeleton import table
from venue.wire.instant import NS_PER_SECOND

_BLOCKS_MIN, _BLOCKS_MAX = 8, 60
_BLOCK_NS: Final = 10 * NS_PER_SECOND
"""No block of a comparison is shorter: quotes live longer than that."""

_SAME_SHARE: Final = 0.9
_STRETCHES_MIN: Final = 3


class PairedDifference(msgspec.Struct, frozen=True):
    """What the second run earned more than the first in the time that both lived. blocks: equal
    stretches of that time, drawn again for the 95 % interval; low_cents, high_cents: None with too
    few of them."""

    seconds: float
    blocks: int
    difference_cents: int
    low_cents: int | None = None
    high_cents: int | None = None


def pairs(
    first: Sequence[Session], second: Sequence[Session]
) -> list[tuple[str, Session, Session]]:
    """Sessions that belong together: of backtests those of one event and bound, else the two that
    there are. Raises ReportFault when there are none."""
    if len(first) == len(second) == 1:
        return [("A and B", first[0], second[0])]
    others = {(each.name, each.bound): each for each in second}
    found = [
        (f"{each.name}, queue {each.bound}", each, others[each.name, each.bound])
        for each in first
        if (each.name, each.bound) in others
    ]
    if not found:
        raise ReportFault("--compare: the two have no event under one bound in common")
    return found


def same_market(first: Session, second: Session) -> str:
    """Why two runs cannot be paired; empty when both met the same market: the same tape under the
    same bound, or the same prints in nine of ten stretches of ten seconds that both saw whole."""
    one, other = first.result, second.result
    if one is not None and other is not None:
        if (one.tape, one.event, one.bound) != (other.tape, other.event, other.bound):
            return "they are of different tapes, or under different bounds"
        return ""
    if one is not other:
        return "one is a journal and the other a backtest"
    if first.run == second.run:
        return ""
    both = sorted(first.prints.keys() & second.prints.keys())[1:-1]
    if len(both) < _STRETCHES_MIN:
        return "they have no time with prints in common"
    same = sum(first.prints[each] == second.prints[each] for each in both)
    if same < _SAME_SHARE * len(both):
        return f"in {len(both) - same} of {len(both)} stretches of time they saw other prints"
    return ""


def paired(first: Session, second: Session) -> PairedDifference | None:
    """The difference of two runs that met the same market; None where they have no time in
    common, or no moments."""
    begun_ns = max(first.begun_ns, second.begun_ns)
    until_ns = min(first.until_ns, second.until_ns)
    if until_ns <= begun_ns or not first.moments or not second.moments:
        return None
    apart_ns = max(_BLOCK_NS, first.every_ns, second.every_ns)
    blocks = max(1, min(_BLOCKS_MAX, (until_ns - begun_ns) // apart_ns))
    edges = [begun_ns + (until_ns - begun_ns) * n // blocks for n in range(blocks + 1)]
    gains = [np.diff([_profit(each.moments, at) for at in edges]) for each in (second, first)]
    difference = round(float(gains[0].sum() - gains[1].sum()))
    seconds = round((until_ns - begun_ns) / NS_PER_SECOND, 3)
    if blocks < _BLOCKS_MIN:
        return PairedDifference(seconds, blocks, difference)
    mean = mean_difference(gains[0], gains[1], resamples(blocks))
    low, high = (round(each * blocks) for each in (mean.low, mean.high))
    return PairedDifference(seconds, blocks, difference, low, high)


def _profit(moments: Sequence[SessionSample], at_ns: int) -> float:
    """The profit at the newest moment that is not later, cents; 0 before the first."""
    place = bisect_right(moments, at_ns, key=lambda moment: moment.at_ns) - 1
    return moments[place].profit_millicents / MILLI if place >= 0 else 0.0


# --- what is said ---------------------------------------------------------------------------------


def differences(first: Session, second: Session) -> str:
    """The table of A, B and B less A, and what is known of the difference in profit."""
    both = (first, second)
    rows = [
        *(_row(name, [_source(each, name) for each in both], dollars)
          for name in ("profit", "spread", "adverse", "drift", "settlement", "fees")),
        _row("fills", [filled(each)[0] for each in both]),
        _row("shares", [filled(each)[1] for each in both]),
        _row("worst case at most", [each.worst_max_cents for each in both], dollars),
        *(_row(f"requests: {kind}", [_sent(each, kind) for each in both])
          for kind in ("create", "amend", "cancel", "read")),
        _row("refused", [sum(each.refused.values()) for each in both]),
        _row("strategy errors", [each.strategy_errors for each in both]),
        _row("uptime on target, %", [_uptime(each) for each in both], "{:.1f}".format),
    ]  # fmt: skip
    head = ("figure", "A", "B", "B less A")
    return table("A, B and B less A", head, rows) + f"<p>{said(first, second)}</p>"


def said(first: Session, second: Session) -> str:
    """In words what the pairing comes to."""
    why = same_market(first, second)
    if why:
        return f"No paired interval: {why}. The differences above are of two different worlds."
    found = paired(first, second)
    if found is None:
        return "No paired interval: the two have no time in common."
    both = f"In the {span_text(found.seconds)} that both lived, in the same market, B earned "
    gain = f"{_gain(found.difference_cents)} against A"
    low, high = found.low_cents, found.high_cents
    if low is None or high is None:
        return f"{both}{gain}. Too few blocks of time for an interval: {found.blocks}."
    word = "does not exclude" if low <= 0 <= high else "excludes"
    return (
        f"{both}{gain}, 95 % interval {_gain(low)} to {_gain(high)}: it {word} no difference. "
        f"{found.blocks} blocks of {found.seconds / found.blocks:.0f} s were drawn again in pairs, "
        "profit as marked at fair; blocks are taken to be independent."
    )


def _gain(cents: int) -> str:
    """Dollars with their sign."""
    return ("+" if cents > 0 else "") + dollars(cents)


def plain_pair(first: Session, second: Session) -> dict[str, object]:
    """The comparison as plain values."""
    why = same_market(first, second)
    found = None if why else paired(first, second)
    return {
        "a": plain(first),
        "b": plain(second),
        "unpaired": why,
        "paired": None if found is None else msgspec.to_builtins(found),
    }


def _row(
    name: str, values: Sequence[float | None], write: Callable[..., str] | None = None
) -> tuple[str, ...]:
    """A figure of both and its difference. write: as text; None: they are counts."""
    one, other = values
    cells = ["-" if each is None else (write or "{:,}".format)(each) for each in values]
    if one is None or other is None:
        return name, *cells, "-"
    return name, *cells, (write or "{:+,}".format)(other - one)


def _source(session: Session, name: str) -> int | None:
    if name == "profit" and session.result is not None:
        return round(session.result.net_millicents / 1000)
    return final_cents(session).get(name)


def _sent(session: Session, kind: str) -> int:
    row = session.answers.get(kind)
    return 0 if row is None else row.sent


def _uptime(session: Session) -> float | None:
    """The part of the time on target over all rungs and sides, in a hundred."""
    parts = [up.parts for pair in session.uptime for up in pair]
    whole = sum(map(sum, parts))
    return 100 * sum(on_target for on_target, _, _ in parts) / whole if whole else None
