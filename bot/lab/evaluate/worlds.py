"""The worlds in which strategies are compared: every number of the reference world, and the grid.

A step is the unit of pace: noise, makers and informed takers act so often a step. See
docs/pricing.md#section-3-world.
"""

import enum
import itertools
from typing import Final

import msgspec

from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import FeeRate


class Flow(enum.StrEnum):
    """Who trades against a quote."""

    BASE = "base"
    TOXIC = "toxic"  # more of those who know the value, and nearly all of them after a jump
    THIN = "thin"  # less than a third of those who do not know it


class Nature(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers that all worlds share. Rates are a step; variances are of the log value.

    diffusion_variance: until the outcome; resolved_later: the part of it that comes when nobody
    trades any more, so that a life does not end in the hours in which every cent is a coin toss.
    jumps, jump_variance: scheduled, each of that variance.
    noise_per_side: takers of a rung and side that would trade at no distance from their own view,
    noise_decay_per_cent: how their number falls with distance. view_sd_cents, view_lag_steps: how
    far their view lies from the fair value of so long ago. noise_qty_mean, informed_qty_mean,
    maker_qty_mean: of geometric sizes in shares. mood_half_life_steps, mood_tilt: one sentiment
    for all rungs, and the log odds of buying at one standard deviation of it.
    informed_per_rung: looks at a rung by somebody who knows its value. sweep_share: chance that a
    rung is swept after a jump, within sweep_delay_s. maker_visits, maker_offset_cents,
    maker_lag_steps, maker_leaves: of a background maker on a rung; the share of visits at which it
    takes its quotes away. arbitrage_looks: a step. feed_*: seconds and shares of the value.
    order_*: from the trader to the engine, half of it again on the way back. stall_s: one an hour.
    """

    diffusion_variance: float = 0.04
    resolved_later: float = 0.25
    jumps: int = 8
    jump_variance: float = 0.003
    noise_per_side: float = 0.4
    noise_decay_per_cent: float = 0.6
    view_sd_cents: float = 1.0
    view_lag_steps: int = 3
    noise_qty_mean: float = 8.0
    mood_half_life_steps: float = 70.0
    mood_tilt: float = 1.6
    informed_per_rung: float = 0.02
    informed_per_rung_toxic: float = 0.10
    informed_qty_mean: float = 16.0
    sweep_share: float = 0.70
    sweep_share_toxic: float = 0.95
    sweep_delay_s: tuple[float, float] = (0.05, 0.8)
    thin_share: float = 0.3
    makers: int = 2
    maker_visits: float = 0.4
    maker_offset_cents: tuple[float, float] = (2.0, 4.0)
    maker_lag_steps: tuple[int, int] = (0, 1)
    maker_leaves: float = 0.1
    maker_qty_mean: float = 20.0
    arbitrage_looks: float = 1.0
    feed_interval_s: float = 5.0
    feed_lag_s: tuple[float, float] = (5.0, 60.0)
    feed_noise: tuple[float, float] = (0.01, 0.08)
    feed_confidence_error: float = 0.3
    order_median_ms: float = 40.0
    order_p99_ms: float = 250.0
    feed_ms: float = 100.0
    unknown_share: float = 0.001
    refused_share: float = 0.001
    stall_s: float = 20.0
    stalls_per_hour: float = 1.0
    maker_fee: str = "0.0175"
    taker_fee: str = "0.07"


NATURE: Final = Nature()

STEP_NS: Final = 10 * NS_PER_SECOND


class World(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of the grid, and the size of a run in it. fees, latency: times the reference's."""

    theme: bool = False
    flow: Flow = Flow.BASE
    fees: int = 1
    latency: int = 1
    rungs: int = 7
    steps: int = 600

    @property
    def name(self) -> str:
        """`theme-toxic-fees4x-latency10x`; what is as in the reference is left out."""
        parts = ["theme" if self.theme else "independent", str(self.flow)]
        if self.fees != 1:
            parts.append(f"fees{self.fees}x")
        if self.latency != 1:
            parts.append(f"latency{self.latency}x")
        return "-".join(parts)

    @property
    def key(self) -> str:
        """The name and the size: what a result that is kept depends on."""
        return f"{self.name}/{self.rungs}x{self.steps}"

    @property
    def life_ns(self) -> int:
        """From the start to the last trade."""
        return self.steps * STEP_NS

    @property
    def resolution_ns(self) -> int:
        """From the start to the resolution, which follows the last trade by as long as the variance
        that is left then takes."""
        return int(self.life_ns / (1 - NATURE.resolved_later))

    @property
    def feed_ns(self) -> int:
        """How long a frame takes to the trader."""
        return int(NATURE.feed_ms * self.latency * NS_PER_MS)

    @property
    def maker_rate(self) -> FeeRate:
        return FeeRate(FeeRate.parse(NATURE.maker_fee).e8 * self.fees)

    @property
    def taker_rate(self) -> FeeRate:
        return FeeRate(FeeRate.parse(NATURE.taker_fee).e8 * self.fees)

    @property
    def is_base(self) -> bool:
        """True for the two worlds in which claims are made."""
        return self.flow is Flow.BASE and self.fees == 1 and self.latency == 1


def grid() -> tuple[World, ...]:
    """All cells, the two base worlds first."""
    cells = [
        World(theme=theme, flow=flow, fees=fees, latency=latency)
        for flow, fees, latency, theme in itertools.product(Flow, (1, 4), (1, 10), (False, True))
    ]
    return tuple(sorted(cells, key=lambda cell: not cell.is_base))


def worlds_named(text: str) -> tuple[World, ...]:
    """The cells of a comma-separated text: names of cells, `base`, or `all`. Raises ValueError."""
    cells = {cell.name: cell for cell in grid()}
    groups = {name: [cell] for name, cell in cells.items()}
    groups |= {"all": list(grid()), "base": [cell for cell in grid() if cell.is_base]}
    found: dict[World, None] = {}
    for name in (part.strip() for part in text.split(",")):
        if name not in groups:
            raise ValueError(f"no world {name!r}; there are base, all, {', '.join(cells)}")
        found |= dict.fromkeys(groups[name])
    return tuple(found)


def sized(world: World, steps: int) -> World:
    """The same cell with a run of so many steps."""
    return msgspec.structs.replace(world, steps=steps)
