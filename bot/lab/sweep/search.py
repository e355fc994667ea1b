"""What a sweep tries next: every point of a grid, points by chance, or where it looks promising.

Proposals come in rounds of a fixed size, and what a round came to is told before the next one is
asked for. So the proposals follow from the space, the seed and the results alone: not from how
many processes there are, and not from which of them is the first to end.

Nothing is proposed twice: a point that was tried says nothing new, and costs no trial.

Source: Bergstra et al., Algorithms for hyper-parameter optimization (2011).
"""

import random
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from bot.lab.sweep.space import (
    Dimension,
    Listed,
    Settings,
    SpaceFault,
    points,
    size_of,
)

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

ROUND: Final = 4
"""Proposals that are made before any of them is known, whatever the number of processes."""

_ATTEMPTS: Final = 200


class Search(Protocol):
    """What proposes."""

    def propose(self, count: int) -> list[Settings]:
        """So many settings that were not proposed before; fewer where there are no more."""

    def learn(self, settings: Settings, score: float | None) -> None:
        """What settings came to, the higher the better; None where they failed."""


class Grid:
    """Every point, in order."""

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        self._left = points(dimensions)

    def propose(self, count: int) -> list[Settings]:
        """The next points."""
        out, self._left = self._left[:count], self._left[count:]
        return out

    def learn(self, settings: Settings, score: float | None) -> None:
        """It tries all of them whatever they come to."""


class Chance:
    """Points drawn one by one, each value as likely as the next; on a log range each ratio."""

    def __init__(self, dimensions: Sequence[Dimension], seed: int) -> None:
        self._dimensions = dimensions
        self._chance = random.Random(seed)
        self._size = size_of(dimensions)
        self.seen: dict[tuple[str, ...], None] = {}

    def propose(self, count: int) -> list[Settings]:
        """Points that were not drawn before."""
        out: list[Settings] = []
        for _ in range(count):
            fresh = self.draw()
            if fresh is None:
                break
            out.append(fresh)
        return out

    def draw(self) -> Settings | None:
        """A point that is not among those seen; None when there is none, or none is met."""
        if self._size is not None and len(self.seen) >= self._size:
            return None
        for _ in range(_ATTEMPTS * (self._size or 1)):
            drawn = {each.key: each.at(self._chance.random()) for each in self._dimensions}
            if tuple(drawn.values()) not in self.seen:
                self.seen[tuple(drawn.values())] = None
                return drawn
        return None

    def learn(self, settings: Settings, score: float | None) -> None:
        """It draws on whatever they come to."""


class Bayes:
    """Points where a model of what was learned expects most: a tree of Parzen estimators.

    Some points by chance come first. Those of a round count as poor ones for each other until they
    are known, so that they spread. Where the model only repeats itself, a point by chance follows.
    """

    def __init__(self, dimensions: Sequence[Dimension], seed: int) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._dimensions = dimensions
        self._chance = Chance(dimensions, seed)
        with warnings.catch_warnings():
            # The library calls a part of the sampler experimental; its version is locked.
            warnings.simplefilter("ignore")
            sampler = optuna.samplers.TPESampler(
                seed=seed,
                n_startup_trials=ROUND * (1 + len(dimensions) // 2),
                multivariate=True,
                constant_liar=True,
            )
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._failed = optuna.trial.TrialState.FAIL
        self._kinds = {each.key: _kind(each) for each in dimensions}
        self._asked: dict[tuple[str, ...], Trial] = {}

    def propose(self, count: int) -> list[Settings]:
        """The next round."""
        out: list[Settings] = []
        for _ in range(count):
            fresh = self._fresh()
            if fresh is None:
                break
            out.append(fresh)
        return out

    def _fresh(self) -> Settings | None:
        for _ in range(ROUND):
            trial = self._study.ask(self._kinds)
            settings = {each.key: _text(each, trial.params[each.key]) for each in self._dimensions}
            name = tuple(settings.values())
            if name not in self._chance.seen:
                self._chance.seen[name] = None
                self._asked[name] = trial
                return settings
            self._study.tell(trial, state=self._failed)
        drawn = self._chance.draw()
        if drawn is not None:
            found = {each.key: _number(each, drawn[each.key]) for each in self._dimensions}
            self._study.enqueue_trial(found)
            self._asked[tuple(drawn.values())] = self._study.ask(self._kinds)
        return drawn

    def learn(self, settings: Settings, score: float | None) -> None:
        """Tell the model. Settings are told in the order in which they were proposed."""
        trial = self._asked.pop(tuple(settings.values()))
        if score is None:
            self._study.tell(trial, state=self._failed)
        else:
            self._study.tell(trial, score)


def _kind(each: Dimension) -> "BaseDistribution":
    """A key as the library knows it: of listed values their place."""
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    if isinstance(each, Listed):
        count = len(each.values)
        return (
            IntDistribution(0, count - 1) if each.ordered else CategoricalDistribution(range(count))
        )
    if each.whole:
        return IntDistribution(int(each.low), int(each.high), log=each.log)
    return FloatDistribution(each.low, each.high, log=each.log)


def _text(each: Dimension, value: Any) -> str:
    return each.values[value] if isinstance(each, Listed) else each.text(value)


def _number(each: Dimension, text: str) -> int | float:
    if isinstance(each, Listed):
        return each.values.index(text)
    return int(text) if each.whole else float(text)


def search_of(how: str, dimensions: Sequence[Dimension], seed: int) -> Search:
    """The search that `grid`, `random` or `bayes` names.

    Raises SpaceFault for another name or a space without a grid, ImportError where the library of
    a Bayesian search is missing.
    """
    match how:
        case "grid":
            return Grid(dimensions)
        case "random":
            return Chance(dimensions, seed)
        case "bayes":
            return Bayes(dimensions, seed)
        case _:
            raise SpaceFault(f"--how {how}: grid, random or bayes")
