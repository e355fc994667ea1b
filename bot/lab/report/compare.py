"""Two runs beside each other: their figures, the differences, and what chance allows of them."""

from bot.lab.report.intervals import Paired, paired, same_market
from bot.lab.report.session import Session
from bot.lab.report.shown import dollars, filled, final_cents, plain, span_text
from bot.page.skeleton import table


def differences(first: Session, second: Session) -> str:
    """The table of A, B and B less A, and what is known of the difference in profit."""
    rows = [
        ("profit", *_cents("profit", first, second)),
        *((name, *_cents(name, first, second))
          for name in ("spread", "adverse", "drift", "settlement", "fees")),
        ("fills", *_counts(filled(first)[0], filled(second)[0])),
        ("shares", *_counts(filled(first)[1], filled(second)[1])),
        ("worst case at most", *_dollars(first.closing.worst_max_cents,
                                         second.closing.worst_max_cents)),
        *(("requests: " + kind, *_counts(_sent(first, kind), _sent(second, kind)))
          for kind in ("create", "amend", "cancel", "read")),
        ("refused", *_counts(sum(first.refused.values()), sum(second.refused.values()))),
        ("strategy errors", *_counts(first.closing.strategy_errors,
                                     second.closing.strategy_errors)),
        ("uptime on target", *_uptimes(first, second)),
    ]  # fmt: skip
    head = ("figure", "A", "B", "B less A")
    return table("A, B and B less A", head, rows) + f"<p>{said(first, second)}</p>"


def said(first: Session, second: Session) -> str:
    """In words what the pairing comes to."""
    why = same_market(first, second)
    if why:
        return f"No paired interval: {why}. The differences above are of two different worlds."
    if not first.moments or not second.moments:
        return "No paired interval: it needs samples over time, and of one totals alone were kept."
    found = paired(first, second)
    if found is None:
        return "No paired interval: the two have no time in common."
    return _paired(found)


def _paired(found: Paired) -> str:
    both = f"In the {span_text(found.seconds)} that both lived, in the same market, B earned "
    gain = f"{_gain(found.difference_dollars)} against A"
    if found.interval is None:
        return f"{both}{gain}. Too few blocks of time for an interval: {found.blocks}."
    low, high = found.interval.low, found.interval.high
    word = "does not exclude" if low <= 0 <= high else "excludes"
    return (
        f"{both}{gain}, 95 % interval {_gain(low)} to {_gain(high)}: it {word} no difference. "
        f"{found.blocks} blocks of {found.block_s:.0f} s were drawn again in pairs, profit as "
        "marked at fair; blocks are taken to be independent."
    )


def _gain(amount: float) -> str:
    """Dollars with their sign."""
    return ("+" if amount > 0 else "") + dollars(round(100 * amount))


def plain_pair(first: Session, second: Session) -> dict[str, object]:
    """The comparison as plain values; dollars in the interval."""
    why = same_market(first, second)
    found = None if why else paired(first, second)
    return {
        "a": plain(first),
        "b": plain(second),
        "unpaired": why,
        "paired": None
        if found is None
        else {
            "seconds": round(found.seconds, 3),
            "blocks": found.blocks,
            "difference_cents": round(100 * found.difference_dollars),
            "low_cents": None if found.interval is None else round(100 * found.interval.low),
            "high_cents": None if found.interval is None else round(100 * found.interval.high),
        },
    }


def _cents(name: str, first: Session, second: Session) -> tuple[str, str, str]:
    one, other = (_source(each, name) for each in (first, second))
    if one is None or other is None:
        told = ["-" if each is None else dollars(each) for each in (one, other)]
        return told[0], told[1], "-"
    return _dollars(one, other)


def _source(session: Session, name: str) -> int | None:
    if name == "profit" and session.result is not None:
        return round(session.result.net_millicents / 1000)
    return final_cents(session).get(name)


def _dollars(one: int, other: int) -> tuple[str, str, str]:
    return dollars(one), dollars(other), dollars(other - one)


def _counts(one: int, other: int) -> tuple[str, str, str]:
    return f"{one:,}", f"{other:,}", f"{other - one:+,}"


def _sent(session: Session, kind: str) -> int:
    row = session.answers.get(kind)
    return 0 if row is None else row.sent


def _uptimes(first: Session, second: Session) -> tuple[str, str, str]:
    shares = []
    for session in (first, second):
        ups = [up for pair in session.uptime for up in pair]
        whole = sum(up.on_target_ns + up.missing_ns + up.idle_ns for up in ups)
        shares.append(100 * sum(up.on_target_ns for up in ups) / whole if whole else None)
    one, other = shares
    if one is None or other is None:
        return "-", "-", "-"
    return f"{one:.1f} %", f"{other:.1f} %", f"{other - one:+.1f}"
