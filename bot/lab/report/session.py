"""What a report knows of one run: plain values, sampled at bounded times while it is lived again.

Money in cents or, where named so, thousandths of one; times in nanoseconds since 1970 by the bot's
clock, of a backtest by the recorded one; prices canonical YES cents; sizes shares.
"""

import enum
from typing import Literal

import msgspec

from bot.core.report import ProfitReport
from bot.lab.backtest.run import Result
from venue.wire.money import BookSide


class Mode(enum.StrEnum):
    """Where a run lived."""

    JOURNAL = "journal"  # live, paper or embedded: its journal was lived again
    BACKTEST = "backtest"


class Rung(msgspec.Struct):
    """A rung that the run saw. strike: as a person reads it, empty on a binary market."""

    market_id: str
    ticker: str
    event_ticker: str = ""
    strike: str = ""


class Moment(msgspec.Struct, frozen=True, array_like=True):
    """The account at one instant. The first five parts, less the fees, add up to the profit.

    worst_cents: the most that could be lost then (>= 0), of `limit_cents`. net: YES shares less NO
    shares by rung, in the order of `Session.rungs`; rungs that came later are missing at its end.
    kept, lost: amends so far that kept and lost their place. requests: so far, create, amend,
    cancel and read.
    """

    at_ns: int
    profit_millicents: int
    spread_millicents: int
    adverse_millicents: int
    drift_millicents: int
    settlement_millicents: int
    fees_cents: int
    worst_cents: int
    limit_cents: int
    net: tuple[int, ...]
    kept: int
    lost: int
    requests: tuple[int, int, int, int]
    refused: int
    fills: int


class Level(msgspec.Struct, frozen=True, array_like=True):
    """One rung in a picture. rung: its place in `Session.rungs`. bid, ask: the others' best prices;
    own_bid, own_ask: our best that rest, with the shares there; want_bid, want_ask: the best that
    orders were steered to. None: there is none, or it was not known."""

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


class Picture(msgspec.Struct, frozen=True, array_like=True):
    """The whole ladder at one instant."""

    at_ns: int
    phase: str
    levels: tuple[Level, ...]


class Value(msgspec.Struct, frozen=True, array_like=True):
    """What a YES share was worth so long after a fill, against the fair value or the others' mid
    (`bot.core.report.Against`)."""

    against: str
    horizon_s: int
    value_millicents: int


class Fill(msgspec.Struct, kw_only=True):
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

    @property
    def sign(self) -> int:
        """+1 when it made us longer YES."""
        return 1 if self.side is BookSide.BID else -1


class Uptime(msgspec.Struct):
    """How long a side of a rung was on target, had quotes wanted that did not all rest, and had
    nothing wanted, while the run was looked at and the rung's market took orders; nanoseconds."""

    on_target_ns: int = 0
    missing_ns: int = 0
    idle_ns: int = 0


class Stay(msgspec.Struct):
    """Orders that stood behind so many shares: how many stays of a minute at most there were, what
    was expected to fill of them by the estimate at their beginning, and what did; shares."""

    stays: int = 0
    qty: int = 0
    expected_qty: float = 0.0
    filled_qty: int = 0


AHEAD_FROM = (0, 1, 11, 51, 201)
"""The least shares ahead of each group of stays."""


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


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """The account at the end of the run, each figure as the trader has it.

    pnl_cents: cash of all fills less fees, and shares at fair. ledger_difference_cents: the venue's
    cash less ours, None unless both were read. unsettled_millicents: of a backtest, what the end
    brought beyond the trader's last belief: payouts or the last middle, and fills that had not
    reached it.
    """

    phase: str
    pnl_cents: int
    fees_cents: int
    ledger_difference_cents: int | None
    worst_max_cents: int
    decisions: int
    strategy_errors: int
    self_trades: int
    latched: str
    profit: ProfitReport | None
    unsettled_millicents: int = 0


class Session(msgspec.Struct, kw_only=True):
    """One run as it was sampled.

    name: for a person; bound: of a backtest, which reading of the queue. settings: what it was
    configured with, as text. limits: what this mode cannot show, a line each. every_ns: how far
    apart the moments are, picture_ns the pictures: doubled whenever there were too many. prints:
    a digest of the prints of every ten seconds, by which two runs are known to have met the same
    market. stays: by `AHEAD_FROM`. damage: why it ends early, else empty. ended: False where the
    journal holds no end of the run.
    """

    name: str
    mode: Mode
    series: str
    run: str
    bound: str = ""
    strategy: str = ""
    begun_ns: int
    until_ns: int
    events: int
    rungs: list[Rung]
    moments: list[Moment]
    pictures: list[Picture]
    every_ns: int
    picture_ns: int
    fills: list[Fill]
    uptime: list[tuple[Uptime, Uptime]]
    stays: list[Stay]
    answers: dict[str, Answers]
    refused: dict[str, int]
    unsampled: int
    prints: dict[int, int]
    closing: Closing
    limits: list[str] = []
    damage: str = ""
    ended: bool = True
    result: Result | None = None

    @property
    def seconds(self) -> float:
        """How long it lived."""
        return (self.until_ns - self.begun_ns) / 1e9


class Saved(msgspec.Struct, kw_only=True):
    """What `bot backtest --save FILE` writes: the results, and the sessions they came of."""

    saved: Literal["laddermaker backtest 1"] = "laddermaker backtest 1"
    whole: bool
    results: list[Result]
    sessions: list[Session]
