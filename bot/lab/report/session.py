"""The data of a report about one run.

Money in cents or, where named so, thousandths of one; times by the bot's clock (of a backtest the
recorded one), nanoseconds; prices canonical YES cents; sizes shares.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from bot.core.account.markouts import MILLI
from bot.core.outcome_risk import OutcomeRisk
from bot.core.report import ProfitReport
from bot.io.metrics.profits import plain_profit, row_cents
from bot.lab.backtest.run import Result
from bot.lab.leanings import SPLITS
from venue.wire.instant import from_ns
from venue.wire.money import BookSide


class SeenMarket(msgspec.Struct):
    market_id: str
    ticker: str
    event_ticker: str = ""
    strike: str = ""  # as a person reads it, empty on a binary market


class MarketSample(msgspec.Struct, frozen=True, array_like=True):
    """One rung at one instant. want_bid, want_ask: the best targets; None if there was none, or it
    was not known."""

    rung: int  # its place in `Session.rungs`
    fair_cents: float | None
    sd_cents: float | None
    bid: int | None  # bid, ask: the others' best prices
    ask: int | None
    own_bid: int | None  # own_bid, own_ask: our best that rest, with the shares there
    own_bid_qty: int
    own_ask: int | None
    own_ask_qty: int
    want_bid: int | None
    want_ask: int | None
    net_qty: int  # YES shares less NO shares
    bid_on_target: bool
    ask_on_target: bool


class SessionSample(msgspec.Struct, frozen=True, array_like=True):
    """The account and the ladder at one instant. The sources less the fees are the profit."""

    at_ns: int
    phase: str
    profit_millicents: int
    spread_millicents: int
    adverse_millicents: int
    drift_millicents: int
    settlement_millicents: int
    fees_cents: int
    worst_cents: int  # the most that could be lost then (>= 0), of `limit_cents`
    limit_cents: int
    requests: tuple[int, int, int, int]  # so far, create, amend, cancel and read
    levels: tuple[MarketSample, ...]  # of the rungs of then
    diagnostics: tuple[tuple[str, str, float], ...] = ()  # event, name, value of its strategy


class Value(msgspec.Struct, frozen=True, array_like=True):
    """What a YES share was worth so long after a fill (`bot.core.report.Against`)."""

    against: str
    horizon_s: int
    value_millicents: int


class SessionFill(msgspec.Struct, kw_only=True):
    fill_id: str
    order_id: str
    at_ns: int  # when it could first have been heard of
    created_ns: int  # the venue's time of it
    rung: int
    side: BookSide
    price: int  # canonical
    qty: int
    fee_cents: int
    maker: bool
    fair_millicents: int  # of a YES share then
    level: int
    strategy: str
    reason: str
    values: list[Value] = []

    def markout_cents(self, value: Value) -> float:
        """Cents a share in favour of the fill."""
        sign = 1 if self.side is BookSide.BID else -1
        return sign * (value.value_millicents / 1_000 - self.price)


class Uptime(msgspec.Struct):
    """Of a side of a rung, while its market took orders."""

    on_target_ns: int = 0
    missing_ns: int = 0  # something wanted did not rest
    idle_ns: int = 0  # nothing was wanted

    @property
    def parts(self) -> tuple[int, int, int]:
        return self.on_target_ns, self.missing_ns, self.idle_ns


class Answers(msgspec.Struct):
    sent: int = 0
    done: int = 0
    refused: int = 0
    unknown: int = 0

    @property
    def unanswered(self) -> int:
        return self.sent - self.done - self.refused - self.unknown


class HeldRisk(msgspec.Struct, frozen=True):
    """The risk of what was held, as it was sampled last. name: of an event, or of a company's
    together. shortfall_99_max_cents: the highest expected shortfall at 99 % of all samples."""

    name: str
    risk: OutcomeRisk
    shortfall_99_max_cents: int


class Session(msgspec.Struct, kw_only=True):
    """One run as it was sampled, with its account at the end as the trader has it.

    unsettled_millicents: of a backtest, what the end brought beyond the trader's last belief:
    payouts or the last middle, and fills that had not reached it.
    """

    name: str = ""  # for a person
    series: str = ""
    run: str = ""
    bound: str = ""  # of a backtest, which reading of the queue
    strategy: str = ""
    begun_ns: int = 0
    until_ns: int = 0
    events: int = 0
    rungs: list[SeenMarket] = []
    moments: list[SessionSample] = []
    every_ns: int = 0  # how far apart the moments are: doubled whenever there were too many
    fills: list[SessionFill] = []
    uptime: list[tuple[Uptime, Uptime]] = []  # bid and ask, by rung
    answers: dict[str, Answers] = {}
    refused: dict[str, int] = {}
    prints: dict[int, int] = {}  # digests by ten seconds: equal ones met the same market
    pnl_cents: int = 0  # cash of all fills less fees, and shares at fair
    fees_cents: int = 0
    ledger_difference_cents: int | None = None  # the venue's cash less ours; None unless both known
    worst_max_cents: int = 0
    risks: list[HeldRisk] = []
    decisions: int = 0
    strategy_errors: int = 0
    latched: str = ""
    profit: ProfitReport | None = None
    unsettled_millicents: int = 0
    amends: tuple[int, int] = (0, 0)  # how many kept and lost their place
    limits: list[str] = []  # what this mode cannot show, a line each
    damage: str = ""  # why it ends early, else empty
    ended: bool = True  # False where the journal holds no end of the run
    result: Result | None = None  # of a backtest

    @property
    def is_backtest(self) -> bool:
        return self.result is not None

    @property
    def seconds(self) -> float:
        return (self.until_ns - self.begun_ns) / 1e9


class Saved(msgspec.Struct, kw_only=True):
    """What `bot backtest --save FILE` writes."""

    saved: Literal["laddermaker backtest 2"] = "laddermaker backtest 2"
    whole: bool
    sessions: list[Session]


PARTS: Final = {
    "spread": "captured by trading away from fair",
    "adverse": "moves within ten seconds of a fill",
    "drift": "later moves of the inventory",
    "settlement": "the last move, to what was paid out",
    "fees": "paid",
}

_MINUTE_S: Final = 60
_HOUR_S: Final = 3_600


def final_cents(session: Session) -> dict[str, int]:
    """The profit and its sources in whole cents, fees below zero; they add up, as the drift takes
    the rounding. Empty where no account was kept."""
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
    """Fills and shares, in a backtest also those that never reached the trader."""
    result = session.result
    if result is not None:
        return result.fills, result.maker_qty + result.taker_qty
    return len(session.fills), sum(fill.qty for fill in session.fills)


def moment_dollars(moment: SessionSample) -> dict[str, float]:
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
    """The tickers without the dash-separated words that all of them begin with."""
    words = [rung.ticker.split("-") for rung in rungs]
    most = min((len(each) for each in words), default=1) - 1
    same = 0
    while same < most and len({each[same] for each in words}) == 1:
        same += 1
    return ["-".join(each[same:]) for each in words]


def plain(session: Session) -> dict[str, object]:
    """The totals of a session; `profit` as `bot pnl --json` has it."""
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
        "profit": None if profit is None else plain_profit(profit, ("side", "rung", *SPLITS)),
        "ledger_difference_cents": session.ledger_difference_cents,
        "worst_case_max_cents": session.worst_max_cents,
        "risks": msgspec.to_builtins(session.risks),
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
    errors = session.strategy_errors
    notes = [session.damage] if session.damage else []
    if not (session.ended or session.damage):
        notes.append(
            "the journal holds no end of the run: it goes on, or broke off, as in a crash or on a "
            f"full disk; shown is what there is up to {when(session.until_ns)}"
        )
    if session.latched:
        notes.append(f"latched: {session.latched}")
    if errors:
        counted = "once" if errors == 1 else f"{errors:,} times"
        notes.append(f"the strategy was at fault {counted}: its event was pulled each time")
    return notes
