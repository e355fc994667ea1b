"""A source of values from outside in an evaluated world: one that knows the value, or noise.

Both state a value every five seconds with the same standard deviation. The one that knows states
the true value with an error of that size. Noise states what everybody knew a minute ago, with seven
times the error that it claims.
"""

import math
from collections.abc import Iterator
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.settings import OutsideSource
from bot.lab.evaluate.scenarios import START_DOLLARS, Scenario, TruePath, stream
from bot.lab.sim.venue import SERIES
from venue.wire.instant import NS_PER_SECOND

EVERY_NS: Final = 5 * NS_PER_SECOND
_LASTS_NS: Final = 60 * NS_PER_SECOND
_OLD_NS: Final = 60 * NS_PER_SECOND
_OFF: Final = 7.0
_NAME: Final = "advice"


class Advice(msgspec.Struct, frozen=True):
    """weight: as of `OutsideSource`. log_sd: of the error that the source states."""

    knows: bool
    weight: float
    log_sd: float = 0.003

    @property
    def source(self) -> OutsideSource:
        return OutsideSource(name=_NAME, weight=self.weight)

    def values(
        self, world: Scenario, seed: int, true_path: TruePath, start_ns: int
    ) -> Iterator[tuple[int, m.OutsideValue]]:
        """The statements of a run, each with its nanoseconds since the start."""
        rng = stream(seed, "outside")
        old_ns, error_sd = (0, self.log_sd) if self.knows else (_OLD_NS, _OFF * self.log_sd)
        for at_ns in range(0, world.life_ns, EVERY_NS):
            log_value = true_path.log_values[true_path.point(at_ns - old_ns)]
            value = START_DOLLARS * math.exp(float(log_value) + error_sd * float(rng.normal()))
            now_ns = start_ns + at_ns
            yield (
                at_ns,
                m.OutsideValue(
                    source=_NAME,
                    about=SERIES,
                    unit=m.ValueUnit.DOLLARS,
                    value=value,
                    sd=value * self.log_sd,
                    observed_ns=now_ns,
                    until_ns=now_ns + _LASTS_NS,
                ),
            )
