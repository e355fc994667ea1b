"""What a report knows of one run: plain values, sampled while the run goes on or is replayed.

Money in cents or, where named so, thousandths of one; times in nanoseconds since 1970 by the bot's
clock, of a backtest by the recorded one; prices canonical YES cents; sizes shares.
"""

from typing import Literal

import msgspec

from bot.core.report import ProfitReport
from bot.lab.backtest.run import Result
from venue.wire.money import BookSide


class SeenMarket(msgspec.Struct):
    """A rung that the run saw. strike: as a person reads it, empty on a binary market."""

    market_id: str
    ticker: str
    event_ticker: str = ""
    strike: str = ""


class MarketSample(msgspec.Struct, frozen=True, array_like=True):
    """One rung at one instant. rung: its place in `Session.rungs`. bid, ask: the others' best
    prices; own_bid, own_ask: our best that rest, with the shares there; want_bid, want_ask: the
    best that orders were steered to; None: there is none, or it was not known. net_qty: YES shares
    less NO shares."""

    rung: int
    fair_cents: float | None
    sd_cents: float | None
    bid: int | None
    ask: int | None
    own_bid: int | None
    own_bid_qty: int
    own_ask: int | None
    own_ask_qty: int
    want_bid: int | None
    want_ask: int | None
    net_qty: int
    bid_on_target: bool
    ask_on_target: bool


class SessionSample(msgspec.Struct, frozen=True, array_like=True):
    """The account and the ladder at one instant. The four sources less the fees add up to the
    profit. worst_cents: the most that could be lost then (>= 0), of `limit_cents`. requests: so
    far, create, amend, cancel and read. levels: of the rungs of then."""

    at_ns: int
    phase: str
    profit_millicents: int
    spread_millicents: int
    adverse_millicents: int
    drift_millicents: int
    settlement_millicents: int
    fees_cents: int
    worst_cents: int
    limit_cents: int
    requests: tuple[int, int, int, int]
    levels: tuple[MarketSample, ...]


class Value(msgspec.Struct, frozen=True, array_like=True):
    """What a YES share was worth so long after a fill, against the fair value or the others' mid
    (`bot.core.report.Against`)."""

    against: str
    horizon_s: int
    value_millicents: int


class SessionFill(msgspec.Struct, kw_only=True):
    """One booked fill. at_ns: when it could first have been heard of; created_ns: the venue's time
    of it. price: canonical. fair_millicents: of a YES share then."""

    fill_id: str
    order_id: str
    at_ns: int
    created_ns: int
    rung: int
    side: BookSide
    price: int
    qty: int
    fee_cents: int
    maker: bool
    fair_millicents: int
    level: int
    strategy: str
    reason: str
    values: list[Value] = []

    def markout_cents(self, value: Value) -> float:
        """How far a value lies in favour of the fill, cents a share."""
        sign = 1 if self.side is BookSide.BID else -1
        return sign * (value.value_millicents / 1_000 - self.price)


class Uptime(msgspec.Struct):
    """How long a side of a rung was on target, had quotes wanted that did not all rest, and had
    nothing wanted, while the run was looked at and the rung's market took orders; nanoseconds."""

    on_target_ns: int = 0
    missing_ns: int = 0
    idle_ns: int = 0

    @property
    def parts(self) -> tuple[int, int, int]:
        """The three of them."""
        return self.on_target_ns, self.missing_ns, self.idle_ns


class Answers(msgspec.Struct):
    """What became of the requests of one kind."""

    sent: int = 0
    done: int = 0
    refused: int = 0
    unknown: int = 0

    @property
    def unanswered(self) -> int:
        """Those without any answer in the run."""
        return self.sent - self.done - self.refused - self.unknown


class Session(msgspec.Struct, kw_only=True):
    """One run as it was sampled, with its account at the end as the trader has it.

    name: for a person; bound: of a backtest, which reading of the queue. every_ns: how far apart
    the moments are: doubled whenever there were too many. uptime: bid and ask, by rung. prints: a
    digest of the prints of every ten seconds, by which two runs are known to have met the same
    market. pnl_cents: cash of all fills less fees, and shares at fair. ledger_difference_cents: the
    venue's cash less ours, None unless both were read. unsettled_millicents: of a backtest, what
    the end brought beyond the trader's last belief: payouts or the last middle, and fills that had
    not reached it. amends: how many kept and lost their place.
    limits: what this mode cannot show, a line each. damage: why it ends early, else empty. ended:
    False where the journal holds no end of the run. result: of a backtest.
    """

    name: str = ""
    series: str = ""
    run: str = ""
    bound: str = ""
    strategy: str = ""
    begun_ns: int = 0
    until_ns: int = 0
    events: int = 0
    rungs: list[SeenMarket] = []
    moments: list[SessionSample] = []
    every_ns: int = 0
    fills: list[SessionFill] = []
    uptime: list[tuple[Uptime, Uptime]] = []
    answers: dict[str, Answers] = {}
    refused: dict[str, int] = {}
    prints: dict[int, int] = {}
    pnl_cents: int = 0
    fees_cents: int = 0
    ledger_difference_cents: int | None = None
    worst_max_cents: int = 0
    decisions: int = 0
    strategy_errors: int = 0
    latched: str = ""
    profit: ProfitReport | None = None
    unsettled_millicents: int = 0
    amends: tuple[int, int] = (0, 0)
    limits: list[str] = []
    damage: str = ""
    ended: bool = True
    result: Result | None = None

    @property
    def is_backtest(self) -> bool:
        """False for a live, paper or embedded run, whose journal was replayed."""
        return self.result is not None

    @property
    def seconds(self) -> float:
        """How long it lived."""
        return (self.until_ns - self.begun_ns) / 1e9


class Saved(msgspec.Struct, kw_only=True):
    """What `bot backtest --save FILE` writes."""

    saved: Literal["laddermaker backtest 2"] = "laddermaker backtest 2"
    whole: bool
    sessions: list[Session]
