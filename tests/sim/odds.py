"""What one seed draws: the shape of its world, and which faults befall it how often.

Swarm testing: each fault is left out altogether in many seeds and frequent in others, so that no
fault always hides behind another.
"""

import random
from dataclasses import asdict, dataclass, field

MS = 1_000_000
SECOND = 1_000_000_000

REQUEST_FAULTS = (
    "not_connected",  # it never left: refused with status 0
    "lost_before",  # the request is lost on its way: no answer in time
    "lost_after",  # carried out, and the reply is lost
    "late_commit",  # carried out after the client gave up waiting
    "rate_limited",  # 429 with Retry-After
    "rate_limited_bare",  # 429 without any header
    "engine_overloaded",
    "engine_unavailable",
    "internal_error_before",
    "internal_error_after",
    "result_unknown_before",
    "result_unknown_after",
    "gateway_page",  # 502 with a page that is no error body, after commit
)
FRAME_FAULTS = ("dropped", "duplicated", "delayed", "garbled")
EPISODES = (
    "feed_stall",
    "feed_close",
    "process_pause",
    "crash",
    "venue_halted",
    "venue_cancel_only",
    "market_halt",
    "operator_pause",
)


@dataclass(frozen=True)
class Odds:
    """Everything drawn for a seed. Times in ns; request and frame faults in chances of 0..1."""

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
    request_faults: dict[str, float] = field(default_factory=dict)
    frame_faults: dict[str, float] = field(default_factory=dict)
    episodes: dict[str, float] = field(default_factory=dict)  # expected number in the safety phase

    def lines(self) -> str:
        """The draw as a person wants to read it."""
        return "\n".join(f"  {name} = {value}" for name, value in asdict(self).items())


def draw(seed: int) -> Odds:
    """The odds of one seed; the same for ever."""
    rng = random.Random(f"odds {seed}")
    calm = rng.random() < 0.1

    def some(names: tuple[str, ...], chance: float, low: float, high: float) -> dict[str, float]:
        drawn = {}
        for name in names:
            # Drawn even when left out, so that one fault's presence does not shift the others.
            there, rate = rng.random() < chance, low * (high / low) ** rng.random()
            if there and not calm:
                drawn[name] = round(rate, 4)
        return drawn

    trust_lag_ns = rng.choice((SECOND // 2, SECOND, SECOND, 5 * SECOND + 200 * MS))
    slow_lag_ns = int(trust_lag_ns * rng.choice((0.05, 0.5, 0.95)))
    one_way_ns = rng.choice(((MS // 2, MS), (MS, 10 * MS), (5 * MS, 25 * MS)))
    return Odds(
        seed=seed,
        strategy=rng.choice(("fixed_spread", "fixed_spread", "ladder")),
        rungs=rng.choice(((1,), (3,), (5,), (2, 3))),
        safety_ns=rng.choice((6, 12, 20)) * SECOND,
        one_way_ns=one_way_ns,
        timeout_ns=rng.choice((300, 1_000)) * MS,
        late_ns=int(trust_lag_ns * 0.8),
        fast_lag_ns=rng.choice((0, 3 * MS, 40 * MS)),
        slow_lag_ns=max(slow_lag_ns, 40 * MS),
        slow_read=rng.choice((0.0, 0.3, 1.0)),
        trust_lag_ns=trust_lag_ns,
        page_limit=rng.choice((2, 7, 100)),
        crowd_per_second=rng.choice((1.0, 4.0, 10.0)),
        fee_rate=rng.choice(("0", "0.0007", "0.0700")),
        event_loss_cents=rng.choice((600, 2_000, 20_000)),
        rung_position_qty=rng.choice((8, 30, 200)),
        order_qty=rng.choice((6, 25)),
        lot_qty=rng.choice((3, 10)),
        tolerance_ticks=rng.choice((0, 1)),
        dwell_ns=rng.choice((0, 500)) * MS,
        cash_cents=rng.choice((3_000, 1_000_000, 1_000_000)),
        shock=rng.choice((0.0, 0.02)),
        request_faults=some(REQUEST_FAULTS, 0.4, 0.004, 0.12),
        frame_faults=some(FRAME_FAULTS, 0.4, 0.005, 0.3),
        episodes=some(EPISODES, 0.35, 0.5, 3.0),
    )
