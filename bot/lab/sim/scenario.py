"""What one seed draws: the shape of its world, and the rate of each fault.

Every fault has a stream of its own, so that leaving one out (`without`) shifts no other.
"""

import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from bot.lab.exchange.assumptions import BEFALLING
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.names import Ticker

MS: Final = NS_PER_MS
SECOND: Final = NS_PER_SECOND
HOUR: Final = 3600 * NS_PER_SECOND
DAY_NS: Final = 24 * HOUR

_RUNGS_MAX: Final = 100

REQUEST_FAULTS: Final = (
    "not_connected",  # it never left: refused with status 0
    "late_commit",  # carried out after the client gave up waiting
    "delayed",  # slow in flight out or back; later ones overtake it
    "garbled_reply",  # carried out, and the reply is cut, no JSON, or a gateway's page
    "headers_odd",  # X-RateLimit-Remaining is absent, or a thousand million
    *BEFALLING,  # refused by the venue, failed, or lost (`bot.lab.exchange.assumptions`)
)
WRITE_FAULTS: Final = (
    "duplicated",  # delivered twice
    "invalid_request",  # 422 with no more specific code, or one of a later version
    "not_found",  # 404 of an order that is there
    "says_duplicate",  # duplicate_order_id to an identical re-send of one that exists
)
READ_FAULTS: Final = (
    "book_unavailable",
    "book_emptied",  # a degraded book: no levels
    "row_repeated",
    "odd_status",  # a status of a later version, or `accepted`
    "cursor_refused",
    "cursor_repeated",
    "garbled_list",
)
FRAME_FAULTS: Final = (
    "frame_dropped",
    "frame_duplicated",
    "frame_delayed",
    "frame_garbled",  # cut, or of a type of a later version
    "frame_crossed",
    "frame_stale",  # an older book of the rung once more
)
TIMED_FAULTS: Final = {
    "feed_stall": "channel",
    "feed_close": "channel",
    "half_open": "channel",  # the channel falls silent and is closed after the pong deadline
    "rung_silent": "channel",  # one rung's frames do not come
    "subscribe_refused": "channel",
    "feed_late": "channel",  # every frame comes a second or two after its time
    "process_pause": "process",
    "crash": "process account",
    "crash_at_effect": "process",
    "lost_journal": "process",  # crash, and the state directory is gone
    "disk_fault": "process",
    "operator_pause": "",
    "operator_restart": "process",
    "operator_reduce": "",  # the operator divides the sizes of an event, the series, the account
    "flatten": "",  # the operator wants everything flat, and then to quote again
    "exit": "",  # the operator wants out of an event in some seconds, at some cost
    "reload": "",  # the operator changes the configuration of the running bot
    "calendar": "",  # the operator adds dates near at hand to the running bot's calendar
    "tantrum": "",  # the strategy raises, or returns nonsense
    "fat_finger": "",  # the strategy wants absurd sizes
    "mad_strategy": "",  # the strategy wants something else at every turn
    "greed": "",  # the strategy takes what others offer, on every rung and in every answer
    "venue_halted": "venue",
    "venue_cancel_only": "venue",
    "market_halt": "venue readings",
    "market_resolve": "venue",
    "event_ends": "venue",  # every rung of an event resolves and pays; another event goes on
    "rung_listed": "venue",  # the venue lists one more rung of an event
    "event_listed": "venue",  # the venue lists one more event of the series
    "maintenance": "venue",  # ten minutes to an hour without writes, or without a connection
    "outage": "requests",  # nothing connects
    "key_revoked": "venue",
    "resend_barred": "requests",  # every create retried is refused, whatever became of it
    "foreign_reply": "requests",  # one response to a write is about another order
    "read_lag": "reads",  # the slow replica falls further behind
    "flicker": "market",  # the best price goes a tick up and down, twenty times a second
    "taken": "market",  # others take of the bot's orders, one after the other
    "crowd_leaves": "market",  # nobody else quotes a rung
    "jump": "market",  # the value of a rung moves by 15 to 30 cents at once
    "twin_orders": "account",  # somebody else's orders on the account
    "twin_stp": "account",  # somebody else's order on the account meets ours
    "twin_trades": "account",  # somebody else buys a share on the account
    "begun_amid": "account",  # somebody else trades on the account just as a life begins
    "foreign_spend": "account",  # somebody else spends tokens of the key
    "transfer": "account",  # a deposit or a withdrawal of 2,000 dollars or more
}
"""What befalls a world for a while, and the rows of model A that have it."""

RANGES: Final[dict[str, tuple[float, float]]] = {
    **dict.fromkeys((*REQUEST_FAULTS, *WRITE_FAULTS), (0.004, 0.06)),
    **dict.fromkeys(READ_FAULTS, (0.02, 0.4)),
    **dict.fromkeys(FRAME_FAULTS, (0.005, 0.1)),
    **dict.fromkeys(TIMED_FAULTS, (0.5, 2.5)),
}
"""The lowest and highest rate of each fault: the chance for a request or frame, or the expected
number of an episode in a safety phase."""

VARIANTS: Final[dict[str, tuple[str, ...]]] = {
    "maker_fee": ("0", "0.0007", "0.0175", "0.0700"),  # its rate, whatever the taker's is
    "strangers": ("adopt", "adopt", "refuse"),  # what a start does with what rests already
    "resting_orders": ("5", "9", "16"),  # the most orders that may be live at once
    "flat_ms": ("0", "100", "400"),  # the longest that cancelling all of them may take
    "ticks_through": ("0", "1", "3"),  # how far a price may reach through the best of others
    "second_series": ("0", "60", "60"),  # one more on the account; pct of both limits that bind it
    "loss_budget": ("1", "10", "100"),  # cents that a day may lose
    "second_setting": ("time", "rungs"),  # of the strategy, split in blocks of 20 s
    "standby": ("yes",),  # there is a second key, which cancels while the first one is refused
    "amend_ids": ("change",),  # S13: an amended order goes on under another id
    "amend_qty": ("total",),  # S13: qty of an amend counts what has filled
    "fill_fees": ("each",),  # S16: the fee is rounded up for each fill, and fills show none
    "halted_cancels": ("refused",),  # S23: a halted market takes no cancels
    "second_cancel": ("refused", "accepted"),  # S31: the other answer to a cancel of a closed order
    "ended_amend": ("404", "409"),  # S43: the answer to an amend of a closed order
    "success_status": ("202", "206"),  # S1: the status of every success
}
"""Shapes of a world that are no fault, with their values; each in a part of the seeds."""

READINGS: Final = (
    *("amend_ids", "amend_qty", "fill_fees", "halted_cancels"),
    *("second_cancel", "ended_amend", "success_status"),
)
"""Variants in which the venue reads a gap of the interface otherwise than ours."""

_OTHERS_OF_ROWS: Final[dict[str, tuple[str, ...]]] = {
    "process": (),
    "requests": (*REQUEST_FAULTS, "duplicated", "invalid_request", "not_found"),
    "reads": READ_FAULTS,
    "channel": FRAME_FAULTS,
    "venue": ("standby",),
    "market": (),
    "account": ("strangers", "second_series"),
    "readings": (*READINGS, "says_duplicate", "lost_after"),
}
ROWS: Final[dict[str, tuple[str, ...]]] = {
    row: (*others, *(name for name, its in TIMED_FAULTS.items() if row in its.split()))
    for row, others in _OTHERS_OF_ROWS.items()
}
"""A profile for each row of A of docs/fault-model.md, in its order, with its faults."""

CONTRADICTIONS: Final[dict[str, str]] = {
    "b1_fill_missing": "fill_missing",
    "b1_id_reused": "order_id_reused",
    "b1_closed_working": "closed_order_working",
    "b1_filled_fell": "filled_qty_fell",
    "b1_fill_contradicts": "fill_contradicts_itself",
    "b2_shares": "shares_differ",
    "b2_cash": "cash_differs",
    "b3_foreign_response": "foreign_response",
    "b4_stamps": "stamps_run_backwards",
}
"""A profile for each kind of contradiction: calm until one begins, which stays."""

LAG: Final = "lag"  # reads lag up to 5 s and come from a stale replica
NEAR: Final = ("net", "gross", "apart", "resting")
"""Limits that do not hang on the outcome: shares of all rungs, without their signs, cents lost if
every rung went the worse way by itself, cents at risk in orders."""

PROFILES: Final = ("calm", "swarm", "brutal", *ROWS, LAG, *CONTRADICTIONS)

_VARIANT: Final = 0.35
_RARER: Final = dict.fromkeys((*READINGS, "second_series", "loss_budget", "second_setting"), 0.1)
"""The part of the seeds that has a variant."""


@dataclass(frozen=True)
class SimScenario:
    """Everything drawn for a seed. near: limits of `NEAR` that are as near as those of one rung and
    one outcome. first: in the scenario of an account's second series, that of the first."""

    seed: int
    strategy: str
    rungs: tuple[int, ...]
    safety_ns: int
    one_way_ns: tuple[int, int]
    timeout_ns: int
    late_ns: int
    fast_lag_ns: int
    slow_lag_ns: int
    slow_read: float
    trust_lag_ns: int
    page_limit: int
    crowd_per_second: float
    fee_rate: str
    event_loss_cents: int
    rung_position_qty: int
    order_qty: int
    lot_qty: int
    tolerance_ticks: int
    dwell_ns: int
    cash_cents: int
    shock: float
    rates: dict[str, float] = field(default_factory=dict)  # of faults, as `RANGES` counts them
    profile: str = "swarm"
    burst: int = 4
    turn_ns: int = MS  # a turn of the process's loop
    sync_ns: int = 0  # until a record is on disk
    skew_ns: int = 0  # skew_ns, drift_ppm: the host's clock against the world's
    drift_ppm: int = 0
    acks: bool = True  # whether a subscribe is answered and followed by books
    dead_rung: bool = False
    budget: tuple[int, int, int] = (200, 400, 60)
    series_loss_cents: int = 0
    creates_per_minute: int = 0  # at which a breaker trips; 0 for its own measure
    resize_pct: int = 50
    near: tuple[str, ...] = ()
    variants: dict[str, str] = field(default_factory=dict)  # of `VARIANTS`, the values drawn
    without: tuple[str, ...] = ()  # faults and variants left out though drawn
    events: int = 0  # go on until so many events
    first: "SimScenario | None" = None

    def lines(self) -> str:
        return "\n".join(f"  {name} = {value}" for name, value in asdict(self).items())

    @property
    def has_new_events(self) -> bool:
        return self.has("event_listed") or self.has("event_ends")

    @property
    def maker_fee_rate(self) -> str:
        return self.variant("maker_fee", self.fee_rate)

    @property
    def strangers(self) -> str:
        return self.variant("strangers", "cancel")

    @property
    def contradiction(self) -> str:
        return CONTRADICTIONS.get(self.profile, "")

    @property
    def second_series(self) -> int | None:
        """None if the account trades one series; else the account's loss limit in percent of both
        series' together, 0 for none."""
        pct = self.variant("second_series")
        return int(pct) if pct else None

    def variant(self, name: str, usual: str = "") -> str:
        return usual if name in self.without else self.variants.get(name, usual)

    def has_faults(self) -> bool:
        return bool(self.rates.keys() - set(self.without))

    def has(self, name: str) -> bool:
        return name in self.rates and name not in self.without

    @property
    def loss_limit_cents(self) -> int:
        """The limit of loss of the series."""
        return self.series_loss_cents or self.event_loss_cents * len(self.rungs)

    def rates_of(self, names: Iterable[str], times: float = 1.0) -> dict[str, float]:
        """The rates of those of these faults that the seed has, so many times as high."""
        return {name: times * self.rates[name] for name in names if name in self.rates}


def draw(seed: int, profile: str = "swarm") -> SimScenario:
    """The scenario of one seed under a profile, always the same. Raises ValueError for an unknown
    profile."""
    if profile not in PROFILES:
        raise ValueError(f"profile {profile!r}: one of {', '.join(PROFILES)}")
    shape = _shape(seed, profile)
    if profile in CONTRADICTIONS:
        calm = _calm_enough(shape)
        # Of orders of a single share none is ever filled in part.
        whole = CONTRADICTIONS[profile] == "filled_qty_fell"
        return replace(calm, strategy="fixed_spread") if whole else calm
    if profile == LAG:
        return _lagging(shape)
    if profile in ROWS:
        return _of_row(shape, ROWS[profile])
    if profile == "calm":
        return shape
    shape = replace(shape, variants=_variants(seed, VARIANTS))
    if profile == "brutal":
        # Where everything goes wrong, each thing does so less often: else nothing is ever quoted.
        return replace(shape, rates=_rates(seed, RANGES, 1.0, times=0.4))
    is_calm = random.Random(f"calm {seed}").random() < 0.05
    return shape if is_calm else replace(shape, rates=_rates(seed, RANGES, 0.4))


def _of_row(shape: SimScenario, names: tuple[str, ...]) -> SimScenario:
    apart = (*READINGS, "second_series", "standby", "strangers")
    variants = {
        **_variants(shape.seed, [each for each in VARIANTS if each not in apart]),
        **_variants(shape.seed, [each for each in VARIANTS if each in names], 0.4),
    }
    own = [each for each in RANGES if each in names]
    return replace(shape, variants=variants, rates=_rates(shape.seed, own, 0.75, least=0.25))


def _lagging(shape: SimScenario) -> SimScenario:
    rng = random.Random(f"lag {shape.seed}")
    lag_ns = rng.choice((SECOND, 3 * SECOND, 5 * SECOND))
    return replace(
        shape,
        trust_lag_ns=lag_ns + 200 * MS,
        slow_lag_ns=lag_ns,
        slow_read=rng.choice((0.1, 0.5, 0.9, 1.0)),
        late_ns=int(lag_ns * 0.8),
        page_limit=rng.choice((2, 7, 100)),
        rates={"row_repeated": 0.05, "cursor_repeated": 0.02, "taken": 1.5},
    )


def _calm_enough(shape: SimScenario) -> SimScenario:
    return replace(
        shape,
        near=(),
        shock=0.0,
        crowd_per_second=20.0,
        burst=2,
        creates_per_minute=0,
        cash_cents=1_000_000,
        event_loss_cents=20_000,
        series_loss_cents=0,
        rung_position_qty=200,
        order_qty=25,
        lot_qty=10,
        dead_rung=False,
        acks=True,
        budget=(200, 400, 60),
    )


def _rates(
    seed: int, names: Iterable[str], part: float, *, least: float = 0.0, times: float = 1.0
) -> dict[str, float]:
    """Rates of these faults, each in a part of the seeds. least: of the highest rate."""
    drawn = {}
    for name in names:
        rng = random.Random(f"rate {name} {seed}")
        low, high = RANGES[name]
        low = max(low, least * high)
        there, rate = rng.random() < part, low * (high / low) ** rng.random()
        if there:
            drawn[name] = round(times * rate, 4)
    return drawn


def _shape(seed: int, profile: str) -> SimScenario:
    rng, near = random.Random(f"odds {seed}"), random.Random(f"near {seed}")
    trust_lag_ns = rng.choice((SECOND // 2, SECOND, SECOND, 5 * SECOND + 200 * MS))
    slow_lag_ns = int(trust_lag_ns * rng.choice((0.05, 0.5, 0.95)))
    event_loss_cents = rng.choice((600, 2_000, 20_000))
    rungs = rng.choice(((1,), (3,), (5,), (2, 3)))
    dead_rung, acks = rng.random() < 0.25, rng.random() < 0.6
    return SimScenario(
        seed=seed,
        profile=profile,
        strategy=rng.choice(("fixed_spread", "fixed_spread", "fixed_spread", "ladder_joint")),
        rungs=rungs,
        safety_ns=rng.choice((8, 14, 20)) * SECOND,
        one_way_ns=rng.choice(((MS // 2, MS), (MS, 10 * MS), (5 * MS, 25 * MS))),
        timeout_ns=rng.choice((300, 1_000)) * MS,
        late_ns=int(trust_lag_ns * 0.8),
        fast_lag_ns=rng.choice((0, 3 * MS, 40 * MS)),
        slow_lag_ns=max(slow_lag_ns, 40 * MS),
        slow_read=rng.choice((0.0, 0.3, 1.0)),
        trust_lag_ns=trust_lag_ns,
        page_limit=rng.choice((2, 7, 100)),
        crowd_per_second=rng.choice((30.0, 80.0, 160.0)),
        burst=rng.choice((1, 6, 20)),
        fee_rate=rng.choice(("0", "0.0007", "0.0700")),
        event_loss_cents=event_loss_cents,
        series_loss_cents=int(event_loss_cents * rng.choice((0.7, 1.0, 1.0)) * len(rungs)),
        rung_position_qty=rng.choice((8, 30, 200)),
        order_qty=rng.choice((4, 4, 6, 25)),
        lot_qty=rng.choice((3, 10, 10)),
        tolerance_ticks=rng.choice((0, 1)),
        dwell_ns=rng.choice((0, 500)) * MS,
        cash_cents=rng.choice((3_000, 1_000_000, 1_000_000)),
        shock=rng.choice((0.0, 0.002)),
        turn_ns=rng.choice((MS // 5, 2 * MS, 10 * MS)),
        sync_ns=rng.choice((0, MS, 8 * MS)),
        skew_ns=rng.choice((0, -HOUR, HOUR, 137 * MS)),
        drift_ppm=rng.choice((0, 0, 500, -500)),
        # Never so few that placing everything twice, as when a quiet bot restarts, and
        # topping each order up, would trip it.
        creates_per_minute=random.Random(f"breaker {seed}").choice(
            (0, 0, 0, max(60, 30 * sum(rungs)))
        ),
        # Of a rung that never traded, and of which no book is pushed, nothing can be known.
        acks=acks or dead_rung,
        dead_rung=dead_rung,
        resize_pct=rng.choice((5, 5, 50)),
        budget=rng.choice(((200, 400, 60), (200, 400, 60), (40, 60, 20), (20, 40, 30))),
        near=tuple(name for name in NEAR if near.random() < 0.3),
    )


def _variants(seed: int, names: Iterable[str], part: float | None = None) -> dict[str, str]:
    """Values of these variants, each in a part of the seeds; None: as in a swarm."""
    drawn = {}
    for name in names:
        rng = random.Random(f"{name} {seed}")
        there = rng.random() < (part or _RARER.get(name, _VARIANT))
        value = rng.choice(VARIANTS[name])
        if there:
            drawn[name] = value
    if "amend_ids" in drawn:
        drawn.pop("amend_qty", None)  # a venue reads one statement in one way
    return drawn


def narrowed(
    scenario: SimScenario,
    *,
    without: tuple[str, ...] = (),
    until_ns: int | None = None,
    rungs: tuple[int, ...] | None = None,
) -> SimScenario:
    """The same seed without some faults, with a shorter safety phase, or other rungs. Raises
    ValueError for an unknown fault or a bad number of rungs."""
    _known(without)
    if rungs is not None and not all(1 <= each <= _RUNGS_MAX for each in rungs):
        raise ValueError(f"rungs of an event: accepted: 1 to {_RUNGS_MAX}")
    return replace(
        scenario,
        without=tuple(dict.fromkeys((*scenario.without, *without))),
        safety_ns=scenario.safety_ns if until_ns is None else until_ns,
        rungs=scenario.rungs if rungs is None else rungs,
    )


def often(scenario: SimScenario, names: tuple[str, ...]) -> SimScenario:
    """The same world with these faults at their highest rate. Raises ValueError for an unknown
    fault."""
    _known(names)
    most = {name: RANGES[name][1] for name in names if name in RANGES}
    return replace(scenario, rates={**scenario.rates, **most})


def _known(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in RANGES and name not in VARIANTS:
            there = ", ".join((*RANGES, *VARIANTS))
            raise ValueError(f"no fault or episode is called {name!r}; there are {there}")


# --- the second series ---------------------------------------------------------------------------

SERIES: Final = (Ticker("ACME-VAL"), Ticker("BETA-VAL"))
"""The series of an account. They share the venue, the cash, the process with its host, and the
request bucket; ladders, limits and other faults are a series' own."""

_SEEDS: Final = 10**12  # streams of the second series are those of a seed so far away

_OF_THE_PROCESS: Final = (
    *("process_pause", "crash", "crash_at_effect", "lost_journal", "begun_amid"),
    *("venue_halted", "venue_cancel_only", "resend_barred", "outage", "key_revoked"),
    *("read_lag", "foreign_spend", "transfer", "maintenance"),
)
"""What befalls both at once: drawn once, with the first."""


def second_of(scenario: SimScenario) -> SimScenario | None:
    if scenario.first is not None or scenario.second_series is None:
        return None
    rng = random.Random(f"second {scenario.seed}")
    rungs = rng.choice(((1,), (2,), (3,), (1, 2)))
    event_loss_cents = rng.choice((600, 2_000, 20_000))
    return replace(
        scenario,
        seed=scenario.seed + _SEEDS,
        first=scenario,
        rungs=rungs,
        event_loss_cents=event_loss_cents,
        series_loss_cents=int(event_loss_cents * rng.choice((0.7, 1.0)) * len(rungs)),
        rung_position_qty=rng.choice((8, 30, 200)),
        order_qty=rng.choice((4, 6, 25)),
        lot_qty=rng.choice((3, 10)),
        crowd_per_second=scenario.crowd_per_second / 2,
        dead_rung=False,
        creates_per_minute=max(60, 30 * sum(rungs)) if scenario.creates_per_minute else 0,
        rates={name: rate for name, rate in scenario.rates.items() if name not in _OF_THE_PROCESS},
    )


def series_of(scenario: SimScenario) -> tuple[Ticker, tuple[Ticker, ...]]:
    first, second = SERIES
    if scenario.first is not None:
        return second, (first,)
    return first, () if scenario.second_series is None else (second,)


def account_loss_cents(scenario: SimScenario) -> int:
    first = scenario.first or scenario
    second = second_of(first)
    if second is None or not first.second_series:
        return 0
    return (first.loss_limit_cents + second.loss_limit_cents) * first.second_series // 100
