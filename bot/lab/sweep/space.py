"""The keys that a sweep varies, with their values, and which settings it tries next.

Values stay texts, as in the YAML; the configuration checks them as it checks the file.
"""

import itertools
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bot.config.renamed import current_key

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

Settings = dict[str, str]  # text by key, in the order in which the keys were given
POINTS_MAX: Final = 10_000  # of one key, and of a whole grid
ROUND: Final = 4
"""Settings that are proposed before the result of any of them is known, whatever the number of
processes."""

_RUNS_AT_ONCE: Final = 64
"""A search that learns nothing proposes settings for so many runs, which many cores share."""

_ATTEMPTS: Final = 200
_KEY: Final = re.compile(r"[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)*", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?", re.ASCII)
_DIGITS: Final = 6
"""Of a number that is drawn: settings that are written alike are the same settings."""

_WANTED: Final = (
    "wanted: values by comma (1,2,3), LOW:HIGH:STEP (0.5:3:0.5), LOW:HIGH (0.5:3.0), "
    "LOW:HIGH:log, or LOW:HIGH:log:POINTS"
)


class SpaceFault(ValueError):
    """Keys or values that cannot be swept over; the text names the key and the accepted values."""


class Dimension(msgspec.Struct, frozen=True):
    """A key and what it may take: one of `values`, or where there are none any number from low to
    high."""

    key: str
    values: tuple[str, ...] = ()
    ordered: bool = False  # the values are numbers that rise
    low: float = 0.0
    high: float = 0.0
    log: bool = False  # equal ratios are equally far apart
    whole: bool = False  # whole numbers alone

    @property
    def ends(self) -> tuple[str, ...]:
        """Values by which the key can be tried: all of them, or the ends of the range."""
        return self.values or (self.write(self.low), self.write(self.high))

    def write(self, value: float) -> str:
        """A number of the range as it is written, within the ends."""
        held = min(max(value, self.low), self.high)
        if self.whole:
            return str(round(held))
        written = Decimal(f"{held:.{_DIGITS}g}")
        if not self.low <= written <= self.high:  # rounded beyond an end
            written = Decimal(repr(held))
        return format(written, "f")

    def distribution(self) -> "BaseDistribution":
        """The key as optuna knows it; of listed values it draws the place."""
        from optuna import distributions

        last = len(self.values) - 1
        if self.ordered:
            return distributions.IntDistribution(0, last)
        if self.values:
            return distributions.CategoricalDistribution(range(last + 1))
        if self.whole:
            return distributions.IntDistribution(int(self.low), int(self.high), log=self.log)
        return distributions.FloatDistribution(self.low, self.high, log=self.log)

    def value(self, drawn: Any) -> str:
        return self.values[drawn] if self.values else self.write(drawn)


# --- texts to dimensions --------------------------------------------------------------------------


def space(texts: Sequence[str]) -> tuple[Dimension, ...]:
    """The keys and values of texts such as `risk.order_qty=10:50:10`. Raises SpaceFault, also for a
    repeated key and for none."""
    if not texts:
        raise SpaceFault(f"--over: at least one key is wanted; {_WANTED}")
    found = tuple(dimension(text) for text in texts)
    keys = [each.key for each in found]
    for key in keys:
        if keys.count(key) > 1:
            raise SpaceFault(f"--over {key}: given twice")
        if any(other.startswith(f"{key}.") for other in keys):
            raise SpaceFault(f"--over {key}: another key is inside of it")
    return found


def dimension(text: str) -> Dimension:
    """One key and its values. Raises SpaceFault."""
    key, equals, said = text.partition("=")
    if not equals or _KEY.fullmatch(key) is None:
        raise SpaceFault(f"--over {text[:80]!r}: KEY=VALUES, such as strategy.params.levels=1,2,3")
    key = current_key(key)
    parts = said.split(":")
    if len(parts) > 1 and all(_NUMBER.fullmatch(part) for part in parts[:2]):
        return _range(key, said, parts)
    values = tuple(part.strip() for part in said.split(","))
    if not all(values) or len(set(values)) < len(values):
        raise SpaceFault(f"--over {key}: {said[:80]!r}; {_WANTED}, none empty, none twice")
    rises = all(map(_NUMBER.fullmatch, values)) and all(
        Decimal(low) < Decimal(high) for low, high in itertools.pairwise(values)
    )
    return Dimension(key, values, rises)


def _range(key: str, said: str, parts: Sequence[str]) -> Dimension:
    low, high, rest = Decimal(parts[0]), Decimal(parts[1]), parts[2:]
    wrong = SpaceFault(f"--over {key}: {said[:80]!r}; {_WANTED}, LOW below HIGH")
    whole = "." not in parts[0] and "." not in parts[1]
    if low >= high:
        raise wrong
    if rest[:1] == ["log"] and len(rest) <= 2:
        if low <= 0:
            raise SpaceFault(f"--over {key}: {said[:80]!r}; a log range begins above 0")
        found = Dimension(key, low=float(low), high=float(high), log=True, whole=whole)
        if not rest[1:]:
            return found
        if not rest[1].isdecimal() or not 2 <= int(rest[1]) <= POINTS_MAX:
            raise wrong
        ratio, last = found.high / found.low, int(rest[1]) - 1
        numbers = (found.low * ratio ** (place / last) for place in range(last + 1))
        return Dimension(key, tuple(dict.fromkeys(map(found.write, numbers))), ordered=True)
    if not rest and not (whole and high - low < POINTS_MAX):
        return Dimension(key, low=float(low), high=float(high), whole=whole)
    step = rest[0] if rest else "1"
    if len(rest) > 1 or not _NUMBER.fullmatch(step) or Decimal(step) <= 0:
        raise wrong
    count = int((high - low) / Decimal(step)) + 1
    if count > POINTS_MAX:
        raise SpaceFault(f"--over {key}: {count} values; at most {POINTS_MAX}")
    values = tuple(format(low + place * Decimal(step), "f") for place in range(count))
    return Dimension(key, values, ordered=True)


# --- proposals --------------------------------------------------------------------------------


def size_of(dimensions: Sequence[Dimension]) -> int | None:
    """How many combinations there are; None where there is no end of them."""
    if not all(each.values for each in dimensions):
        return None
    return math.prod(len(each.values) for each in dimensions)


def points(dimensions: Sequence[Dimension]) -> list[Settings]:
    """Every combination, the last key turning fastest. Raises SpaceFault where they are infinite,
    or more than POINTS_MAX."""
    for each in dimensions:
        if not each.values:
            raise SpaceFault(
                f"--over {each.key}: any number between two has no grid; give a step "
                "(LOW:HIGH:STEP, LOW:HIGH:log:POINTS), or --how random or bayes"
            )
    if (count := size_of(dimensions) or 0) > POINTS_MAX:
        raise SpaceFault(f"a grid of {count} points; at most {POINTS_MAX}, or --how random")
    keys = [each.key for each in dimensions]
    rows = itertools.product(*(each.values for each in dimensions))
    return [dict(zip(keys, row, strict=True)) for row in rows]


class Search:
    """Proposes settings: every point of a grid, points by chance, or points where a model of what
    it learned expects most (a tree of Parzen estimators: Bergstra et al. 2011).

    Proposals follow from the space, the seed and the results alone, provided that the scores of a
    round are given before the next is asked for. None is proposed twice.
    """

    def __init__(self, how: str, dimensions: Sequence[Dimension], seed: int) -> None:
        """how: `grid`, `random` or `bayes`. Raises SpaceFault for another name or a space without a
        grid, and ImportError without optuna."""
        if how not in ("grid", "random", "bayes"):
            raise SpaceFault(f"--how {how}: grid, random or bayes")
        self._learns = how == "bayes"
        self._grid = iter(points(dimensions)) if how == "grid" else None
        if self._grid is not None:
            return
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._random = optuna.samplers.RandomSampler(seed=seed)
        self._sampler: Any = self._random
        if how == "bayes":
            with warnings.catch_warnings():
                # The library calls a part of the sampler experimental; its version is locked.
                warnings.simplefilter("ignore")
                self._sampler = optuna.samplers.TPESampler(
                    seed=seed,
                    n_startup_trials=ROUND * (1 + len(dimensions) // 2),
                    multivariate=True,
                    constant_liar=True,  # the points of a round spread
                )
        self._study = optuna.create_study(direction="maximize")
        self._failed = optuna.trial.TrialState.FAIL
        self._dimensions = dimensions
        self._size = size_of(dimensions)
        self._asked: dict[tuple[str, ...], Trial] = {}

    def round_size(self, cases: int) -> int:
        """How many settings to propose at once where each runs on so many cases."""
        return ROUND if self._learns else max(ROUND, _RUNS_AT_ONCE // cases)

    def propose(self, count: int) -> list[Settings]:
        """So many settings that were not proposed before; fewer where there are no more."""
        source = self._fresh() if self._grid is None else self._grid
        return [*itertools.islice(source, count)]

    def _fresh(self) -> Iterator[Settings]:
        distributions = {each.key: each.distribution() for each in self._dimensions}
        repeated = 0
        while len(self._asked) != self._size and repeated < _ATTEMPTS * (self._size or 1):
            # Where the model only repeats itself, a point by chance follows.
            self._study.sampler = self._sampler if repeated < ROUND else self._random
            trial = self._study.ask(distributions)
            settings = {each.key: each.value(trial.params[each.key]) for each in self._dimensions}
            if (values := tuple(settings.values())) in self._asked:
                self._study.tell(trial, state=self._failed)
                repeated += 1
            else:
                self._asked[values], repeated = trial, 0
                yield settings

    def learn(self, settings: Settings, score: float | None) -> None:
        """The score of proposed settings, the higher the better; None if they failed. In the order
        of proposal."""
        if self._grid is None:
            trial = self._asked[tuple(settings.values())]
            self._study.tell(trial, score, state=self._failed if score is None else None)
