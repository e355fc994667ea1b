"""Settings of the crowd. Every field takes the text of its value as well, as a seed file gives it.
Times are those of the crowd's clock, which runs `speed` times as fast as the venue's."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0, le=1)]
PerMinute = Annotated[float, Field(ge=0, le=600)]
SpreadCents = Annotated[float, Field(ge=0, le=50)]


class CrowdSettings(BaseModel):
    """The seeded world and the playing of a tape; unknown keys are refused.

    The defaults are a mild world: quotes near fair value earn, and lose a part of it to those who
    know more. More `informed_share`, `jump_sd` or `view_lag_s` make it a harder one.

    seed: names the whole run; every trader draws from a stream of its own.
    speed: seconds of the crowd's clock in one of the venue's.
    volatility_per_sqrt_hour: sd of the log value's diffusion over an hour.
    jumps_per_hour, jump_sd: news; sd of the log value's jump.
    horizon_hours: beyond it, time left counts by its logarithm, so that far ladders move too.
    reversion_hours: time constant that draws the log value to where it began; 0 is none.
    theme: how far one mood of a company tilts buying and selling on all its rungs.
    noise_takes_per_rung_per_minute, noise_reach_cents: takers without knowledge, and the mean
        distance from their own view of fair value at which they still trade.
    view_lag_s, view_sd_cents: how old that view is, and how far from fair value it lay then.
    informed_share: part of all takers who know the value at once, and look whether a quote is
        stale; informed_edge_cents: what they want beyond the taker fee; sweep_share: chance that
        they look at a rung right after a jump.
    makers: background makers, each on every rung; visited so often a minute, quoting at the fair
        value of `maker_lag_s` ago, an offset away; cancel_share: chance to leave the rung instead.
    takers, informed: accounts that take.
    feed_*: implied values: how often, how late, how wrong (sd of the log), and by what share the
        confidence misjudges that error.
    cash_per_user_cents: deposit of each account.
    tape_speed: recorded seconds in one of the venue's; None fits the tape into ten minutes.
    tape_take_qty_max: a recorded execution is cut to this many shares.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    seed: Annotated[int, Field(ge=0, lt=2**63)] = 7
    speed: Annotated[float, Field(ge=0.1, le=100)] = 1.0
    volatility_per_sqrt_hour: Annotated[float, Field(ge=0, le=1)] = 0.012
    jumps_per_hour: Annotated[float, Field(ge=0, le=1_000)] = 4.0
    jump_sd: Annotated[float, Field(ge=0, le=1)] = 0.01
    horizon_hours: Annotated[float, Field(gt=0, le=100_000)] = 4.0
    reversion_hours: Annotated[float, Field(ge=0, le=100_000)] = 50.0
    theme: Share = 0.3
    noise_takes_per_rung_per_minute: PerMinute = 20.0
    noise_reach_cents: Annotated[float, Field(gt=0, le=50)] = 1.3
    view_sd_cents: SpreadCents = 0.8
    view_lag_s: Annotated[float, Field(ge=0, le=600)] = 30.0
    takers: Annotated[int, Field(ge=1, le=100)] = 4
    take_qty_mean: Annotated[float, Field(ge=1, le=10_000)] = 6.0
    informed_share: Annotated[float, Field(ge=0, le=0.9)] = 0.25
    informed: Annotated[int, Field(ge=1, le=100)] = 2
    informed_edge_cents: SpreadCents = 0.25
    sweep_share: Share = 0.7
    makers: Annotated[int, Field(ge=0, le=20)] = 2
    maker_visits_per_rung_per_minute: PerMinute = 6.0
    maker_offset_min_cents: SpreadCents = 2.0
    maker_offset_max_cents: SpreadCents = 4.0
    maker_lag_s: Annotated[float, Field(ge=0, le=600)] = 30.0
    maker_cancel_share: Share = 0.1
    maker_qty_mean: Annotated[float, Field(ge=1, le=10_000)] = 40.0
    feed_interval_s: Annotated[float, Field(ge=0.1, le=3_600)] = 5.0
    feed_lag_min_s: Annotated[float, Field(ge=0, le=600)] = 5.0
    feed_lag_max_s: Annotated[float, Field(ge=0, le=600)] = 60.0
    feed_noise_min: Annotated[float, Field(ge=0, le=1)] = 0.01
    feed_noise_max: Annotated[float, Field(ge=0, le=1)] = 0.05
    feed_confidence_error: Share = 0.3
    cash_per_user_cents: Annotated[int, Field(ge=1, le=10**12)] = 10**9
    tape_speed: Annotated[float, Field(gt=0, le=100_000)] | None = None
    tape_take_qty_max: Annotated[int, Field(ge=1, le=1_000_000)] = 1_000

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        for low, high in (
            ("maker_offset_min_cents", "maker_offset_max_cents"),
            ("feed_lag_min_s", "feed_lag_max_s"),
            ("feed_noise_min", "feed_noise_max"),
        ):
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} at most {high}")
        return self
