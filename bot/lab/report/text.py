"""Figures of a session as people and programs read them: whole cents that close, times, names."""

from collections.abc import Sequence
from typing import Final

from bot.core.account.markouts import MILLI
from bot.io.metrics.profits import plain_profit, row_cents
from bot.lab.report.session import SeenMarket, Session, SessionSample
from venue.wire.instant import from_ns

PARTS: Final = {
    "spread": "captured by trading away from fair",
    "adverse": "moves within ten seconds of a fill",
    "drift": "later moves of what is held: inventory",
    "settlement": "the last move, to what was paid out",
    "fees": "paid",
}
"""Where profit comes from, and what each source is."""

_MINUTE_S: Final = 60
_HOUR_S: Final = 3_600


def dollars(cents: int) -> str:
    """As -$1.05."""
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100:,}.{abs(cents) % 100:02d}"


def final_cents(session: Session) -> dict[str, int]:
    """The profit and its sources in whole cents, fees below zero: the sources add up to it. What
    rounding leaves, two cents at most, is in the drift. Empty where no account was kept."""
    profit = session.profit
    if profit is None:
        return {}
    row = row_cents(profit.total)
    unsettled = session.unsettled_millicents
    paid = session.moments[-1].settlement_millicents if session.moments else 0
    settlement = round((paid + unsettled) / MILLI)
    whole = round((profit.total.profit_millicents + unsettled) / MILLI)
    drift = whole - row["spread_cents"] - row["adverse_cents"] - settlement + row["fees_cents"]
    return {
        "spread": row["spread_cents"],
        "adverse": row["adverse_cents"],
        "drift": drift,
        "settlement": settlement,
        "fees": -row["fees_cents"],
        "profit": whole,
    }


def filled(session: Session) -> tuple[int, int]:
    """How many fills there were, and of how many shares; a backtest's are those of its result,
    which has those that its trader never heard of."""
    result = session.result
    if result is not None:
        return result.fills, result.maker_qty + result.taker_qty
    return len(session.fills), sum(fill.qty for fill in session.fills)


def moment_dollars(moment: SessionSample) -> dict[str, float]:
    """The same at a moment, dollars."""
    scale = 100 * MILLI
    return {
        "spread": moment.spread_millicents / scale,
        "adverse": moment.adverse_millicents / scale,
        "drift": moment.drift_millicents / scale,
        "settlement": moment.settlement_millicents / scale,
        "fees": -moment.fees_cents / 100,
        "profit": moment.profit_millicents / scale,
    }


def span_text(seconds: float) -> str:
    """How long: 45 s, 12 min, 6 h 5 min."""
    if seconds < 2 * _MINUTE_S:
        return f"{seconds:.0f} s"
    if seconds < 2 * _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    return f"{seconds // _HOUR_S:.0f} h {seconds % _HOUR_S / _MINUTE_S:.0f} min"


def when(at_ns: int) -> str:
    """An instant to the second: 2026-11-22 09:30:05 UTC."""
    return f"{from_ns(at_ns)[:19].replace('T', ' ')} UTC"


def rung_names(rungs: Sequence[SeenMarket]) -> list[str]:
    """Short names: the tickers without what all of them begin with, up to a dash."""
    words = [rung.ticker.split("-") for rung in rungs]
    most = min((len(each) for each in words), default=1) - 1
    same = 0
    while same < most and len({each[same] for each in words}) == 1:
        same += 1
    return ["-".join(each[same:]) for each in words]


# --- for programs ---------------------------------------------------------------------------------


def plain(session: Session) -> dict[str, object]:
    """The totals of a session as plain values; `profit` as `bot pnl --json` has it."""
    profit = session.profit
    return {
        "name": session.name,
        "mode": "backtest" if session.is_backtest else "journal",
        "bound": session.bound,
        "series": session.series,
        "run": session.run,
        "seconds": round(session.seconds, 3),
        "events": session.events,
        "fills": filled(session)[0],
        "pnl_cents": session.pnl_cents,
        "sources_cents": final_cents(session),
        "profit": None if profit is None else plain_profit(profit, ("side", "rung")),
        "ledger_difference_cents": session.ledger_difference_cents,
        "worst_case_max_cents": session.worst_max_cents,
        "requests": {kind: row.sent for kind, row in session.answers.items()},
        "refused": session.refused,
        "amends": {"kept_place": session.amends[0], "lost_place": session.amends[1]},
        "uptime": {
            rung.ticker: {
                side: round(up.on_target_ns / sum(up.parts), 4) if sum(up.parts) else None
                for side, up in zip(("bid", "ask"), pair, strict=True)
            }
            for rung, pair in zip(session.rungs, session.uptime, strict=True)
        },
        "decisions": session.decisions,
        "strategy_errors": session.strategy_errors,
        "limits": session.limits,
        "damage": session.damage,
        "ended": session.ended,
        "begun": "" if session.is_backtest else when(session.begun_ns),
    }


def findings(session: Session) -> list[str]:
    """What a reader has to know before any figure: a session cut short, latched, or at fault."""
    errors, latched = session.strategy_errors, session.latched
    notes = [session.damage] if session.damage else []
    if not (session.ended or session.damage):
        notes.append(
            "the journal holds no end of the run: it goes on, or broke off, as in a crash or on a "
            f"full disk; shown is what there is up to {when(session.until_ns)}"
        )
    notes += [f"latched: {latched}"] if latched else []
    if errors:
        counted = "once" if errors == 1 else f"{errors:,} times"
        notes.append(f"the strategy was at fault {counted}: its event was pulled each time")
    return notes
