"""The second series of an account that trades two: its odds, drawn from those of the first.

Both share the venue, the account with its cash, the process and its host, and the request bucket.
Ladders, limits, and what goes wrong on one series alone are its own.
"""

import random
from dataclasses import replace
from typing import Final

from bot.lab.sim.odds import Odds
from venue.wire.names import Ticker

SERIES: Final = (Ticker("ACME-VAL"), Ticker("BETA-VAL"))
"""The first and the second series of an account."""

_SEEDS: Final = 10**12
"""Streams of the second series are those of a seed so far away."""

_OF_THE_PROCESS: Final = (
    *("process_pause", "crash", "crash_at_effect", "lost_journal", "begun_amid"),
    *("venue_halted", "venue_cancel_only", "resend_barred", "outage", "key_revoked"),
    *("read_lag", "foreign_spend", "transfer", "maintenance"),
)
"""What befalls both at once: drawn once, with the first."""

_PCT: Final = 100


def second_of(odds: Odds) -> Odds | None:
    if odds.first is not None or odds.second_series is None:
        return None
    rng = random.Random(f"second {odds.seed}")
    rungs = rng.choice(((1,), (2,), (3,), (1, 2)))
    event_loss_cents = rng.choice((600, 2_000, 20_000))
    return replace(
        odds,
        seed=odds.seed + _SEEDS,
        first=odds,
        rungs=rungs,
        event_loss_cents=event_loss_cents,
        series_loss_cents=int(event_loss_cents * rng.choice((0.7, 1.0)) * len(rungs)),
        rung_position_qty=rng.choice((8, 30, 200)),
        order_qty=rng.choice((4, 6, 25)),
        lot_qty=rng.choice((3, 10)),
        crowd_per_second=odds.crowd_per_second / 2,
        dead_rung=False,
        creates_per_minute=max(60, 30 * sum(rungs)) if odds.creates_per_minute else 0,
        rates={name: rate for name, rate in odds.rates.items() if name not in _OF_THE_PROCESS},
    )


def series_of(odds: Odds) -> tuple[Ticker, tuple[Ticker, ...]]:
    first, second = SERIES
    if odds.first is not None:
        return second, (first,)
    return first, () if odds.second_series is None else (second,)


def account_loss_cents(odds: Odds) -> int:
    first = odds.first or odds
    second = second_of(first)
    if second is None or not first.second_series:
        return 0
    both = sum(_series_loss_cents(each) for each in (first, second))
    return both * first.second_series // _PCT


def _series_loss_cents(odds: Odds) -> int:
    return odds.series_loss_cents or odds.event_loss_cents * len(odds.rungs)
