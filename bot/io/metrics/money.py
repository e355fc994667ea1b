"""The table of metrics that are read off a report: what is held, what it may lose, what it
earned.
"""

from typing import Final

from bot.core.report import Report, RungReport
from bot.core.risk.effective_limits import series_loss_cents
from bot.io.metrics import profits
from bot.io.metrics.profits import MILLI
from bot.io.metrics.table import Family, Sample, levels, one, per_rung, rungs
from venue.wire.money import BookSide


def _held(report: Report) -> list[Sample]:
    def both(rung: RungReport) -> list[Sample]:
        return [
            ((rung.ticker, "yes"), float(rung.yes_qty)),
            ((rung.ticker, "no"), float(rung.no_qty)),
        ]

    return [sample for rung in rungs(report) for sample in both(rung)]


def _stages(report: Report) -> list[Sample]:
    """Realised, settled and open profit, and the fees: they too add up to the profit."""
    profit = report.profit
    if profit is None:
        return []
    return [
        (("realised",), profit.realised_millicents / MILLI),
        (("settled",), profit.settled_millicents / MILLI),
        (("open",), profit.open_millicents / MILLI),
        (("fees",), float(-profit.total.fees_cents)),
    ]


def _rung_fills(report: Report) -> list[Sample]:
    """Fills of every rung that the report shows."""
    if report.profit is None:
        return []
    filled = {row.name: row.fills for row in report.profit.by["rung"]}
    return [((rung.ticker,), float(filled.get(rung.ticker, 0))) for rung in rungs(report)]


def _side_shares(report: Report) -> list[Sample]:
    """Shares filled on either side."""
    if report.profit is None:
        return []
    shares = {row.name: row.qty for row in report.profit.by["side"]}
    return [((side.value,), float(shares.get(side.value, 0))) for side in BookSide]


RISK: Final[tuple[Family[Report], ...]] = (
    Family(
        "cash_available_cents",
        "Cash at the venue that is not reserved.",
        (),
        lambda r: one(r.cash_available_cents),
    ),
    Family(
        "cash_reserved_cents",
        "Cash at the venue that resting orders lock.",
        (),
        lambda r: one(r.cash_reserved_cents),
    ),
    Family(
        "rung_net_shares",
        "YES less NO shares held.",
        ("rung",),
        per_rung(lambda g: g.yes_qty - g.no_qty),
    ),
    Family("rung_held_shares", "Shares held.", ("rung", "outcome"), _held),
    Family(
        "worst_case_cents",
        "Loss in the worst outcomes over every subset of fills.",
        (),
        lambda r: one(r.worst_case_cents),
    ),
    Family(
        "worst_case_max_cents",
        "The highest worst case so far.",
        (),
        lambda r: one(r.worst_case_max_cents),
    ),
    Family(
        "held_worst_case_cents",
        "Loss in the worst outcomes if nothing more fills.",
        (),
        lambda r: one(series_loss_cents([min(e.outcome_cents) for e in r.events])),
    ),
    Family(
        "worst_case_limit_cents",
        "What the worst case may not pass.",
        (),
        lambda r: one(r.worst_case_limit_cents),
    ),
    Family(
        "event_worst_case_cents",
        "Loss in the worst outcome of an event.",
        ("event",),
        lambda r: [((e.event_ticker,), float(e.worst_case_cents)) for e in r.events],
    ),
    Family(
        "event_limit_used",
        "How much of a limit of an event is used up, in the unit of its name.",
        ("event", "limit"),
        levels(lambda each: each.used),
    ),
    Family(
        "event_limit",
        "The limit of an event as it stands beside the other events, in the unit of its name.",
        ("event", "limit"),
        levels(lambda each: each.limit),
    ),
    Family(
        "ledger_difference_cents",
        "The venue's cash less ours at the newest audit; absent before the books are open.",
        (),
        lambda r: one(r.ledger_difference_cents),
    ),
    Family(
        "unallocated_settlement_cents",
        "Settlements of the run that fit no outcome of their event.",
        (),
        lambda r: one(r.unallocated_cents),
    ),
)

PROFIT: Final[tuple[Family[Report], ...]] = (
    Family("fills", "Fills booked.", (), lambda r: one(r.counters.fills), True),
    Family("rung_fills", "Fills booked, by rung.", ("rung",), _rung_fills, True),
    Family("filled_shares", "Shares of the fills booked.", ("side",), _side_shares, True),
    Family("pnl_cents", "Cash of all fills and marked shares.", (), lambda r: one(r.pnl_cents)),
    Family("fees_cents", "Fees paid.", (), lambda r: one(r.fees_cents)),
    Family(
        "profit_part_cents",
        "Where the profit of this run comes from: spread captured, adverse drift in the ten "
        "seconds after fills, drift of the inventory since, fees; the parts add up to it.",
        ("part",),
        profits.part_samples,
    ),
    Family(
        "profit_stage_cents",
        "The same profit by how sure it is: realised by selling again, settled by a payout, open "
        "at fair, fees; the stages add up to it.",
        ("stage",),
        _stages,
    ),
    Family(
        "rung_profit_part_cents",
        "Where the profit of this run comes from, by rung.",
        ("rung", "part"),
        profits.rung_samples,
    ),
    Family(
        "markout_cents",
        "How far values had moved for fills so long after them: cents a share, weighted by shares.",
        ("side", "against", "horizon_s"),
        profits.side_markout_samples,
    ),
    Family(
        "rung_markout_cents",
        "The same against fair, by rung.",
        ("rung", "horizon_s"),
        profits.rung_markout_samples,
    ),
    Family(
        "shadow_profit_part_cents",
        "Where the profit of a candidate would have come from.",
        ("shadow", "bound", "part"),
        profits.shadow_part_samples,
    ),
    Family(
        "shadow_markout_cents",
        "Markouts of the fills that a candidate would have had.",
        ("shadow", "bound", "against", "horizon_s"),
        profits.shadow_markout_samples,
    ),
    Family(
        "shadow_stopped",
        "1 for a candidate that failed and is asked no more.",
        ("shadow", "bound"),
        lambda r: [((s.name, s.bound), float(bool(s.stopped))) for s in r.shadows],
    ),
    Family(
        "shadow_fills",
        "Fills that a candidate would have had.",
        ("shadow", "bound"),
        lambda r: [((s.name, s.bound), float(s.profit.total.fills)) for s in r.shadows],
        True,
    ),
)
