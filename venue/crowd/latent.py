"""What a company is truly worth: a seeded path of its log value on a fixed grid, and fair prices
along it. Its draws come from streams of its own: traders do not change it."""

import math
import random
import sys
from collections import deque
from typing import Final

from venue.crowd.settings import CrowdSettings
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS

GRID_NS: Final = 250 * NS_PER_MS
_SECONDS_PER_HOUR: Final = 3600.0
_MOOD_TIME_S: Final = 60.0
_SD_MIN: Final = 1e-4
_FAIR_EDGE_CENTS: Final = 0.5


def stream(seed: int, *name: str) -> random.Random:
    """A stream of random numbers that only `seed` and `name` decide, on every machine."""
    return random.Random(":".join((str(seed), *name)))


class LatentValue:
    def __init__(self, settings: CrowdSettings, name: str, log_start: float, start_ns: int) -> None:
        self.log_start = log_start
        self._settings = settings
        self._diffusion = stream(settings.seed, "diffusion", name)
        self._news = stream(settings.seed, "news", name)
        self._moods = stream(settings.seed, "mood", name)
        self._start_ns = start_ns
        self._steps = 0
        lags_s = (settings.feed_lag_max_s, settings.maker_lag_s, settings.view_lag_s)
        longest_lag_s = max(lags_s) / settings.speed
        self._recent = deque([log_start], maxlen=int(longest_lag_s * NS_PER_SECOND / GRID_NS) + 2)
        self.mood = 0.0
        """One standard normal variable that comes and goes within minutes."""

    def move_to(self, log_start: float) -> None:
        by = log_start - self.log_start
        self.log_start = log_start
        self._recent = deque((value + by for value in self._recent), maxlen=self._recent.maxlen)

    def advance(self, now_ns: int, steps_max: int = sys.maxsize) -> bool:
        """Draw the path up to `now_ns`, or `steps_max` steps of it; whether it jumped."""
        jumped = False
        due = (now_ns - self._start_ns) // GRID_NS - self._steps
        for _ in range(min(due, steps_max)):
            jumped = self._step() or jumped
        return jumped

    def at(self, at_ns: int) -> float:
        """The log value at an instant, by the grid; the oldest kept one for anything older."""
        back = self._steps - (at_ns - self._start_ns) // GRID_NS
        return self._recent[-1 - min(max(back, 0), len(self._recent) - 1)]

    def _step(self) -> bool:
        settings = self._settings
        seconds = GRID_NS / NS_PER_SECOND * settings.speed
        hours = seconds / _SECONDS_PER_HOUR
        value = self._recent[-1]
        value += settings.volatility_per_sqrt_hour * math.sqrt(hours) * self._diffusion.gauss(0, 1)
        if settings.reversion_hours > 0:
            value += (self.log_start - value) * -math.expm1(-hours / settings.reversion_hours)
        # Both are drawn in every step: one more jump does not move the next one.
        chance, size = self._news.random(), self._news.gauss(0, settings.jump_sd)
        jumped = chance < -math.expm1(-hours * settings.jumps_per_hour)
        self._recent.append(value + size if jumped else value)
        keep = math.exp(-seconds / _MOOD_TIME_S)
        self.mood = keep * self.mood + math.sqrt(1 - keep * keep) * self._moods.gauss(0, 1)
        self._steps += 1
        return jumped


def remaining_sd(settings: CrowdSettings, left_ns: int) -> float:
    """The sd of the log value still to come in `left_ns` nanoseconds, above 0 always."""
    hours_left = max(left_ns, 0) / NS_PER_SECOND / _SECONDS_PER_HOUR
    hours = settings.horizon_hours * math.log1p(hours_left / settings.horizon_hours)
    per_hour = settings.volatility_per_sqrt_hour**2 + settings.jumps_per_hour * settings.jump_sd**2
    return max(math.sqrt(per_hour * hours), _SD_MIN)


def fair_cents(log_value: float, log_strike: float, sd: float) -> float:
    """The fair YES price, 0.5 to 99.5 cents, of ending above the strike: lognormal."""
    chance = 0.5 * math.erfc((log_strike - log_value) / sd / math.sqrt(2))
    return min(max(PAYOUT_CENTS * chance, _FAIR_EDGE_CENTS), PAYOUT_CENTS - _FAIR_EDGE_CENTS)
