"""The strategies that a configuration names: the live one and the candidates in its shadow."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bot.config.plugins import StrategyFault, find_strategy, made
from bot.config.secrets import SHORT_NAME
from bot.config.sections import ShadowPart
from bot.config.strict_yaml import Fault, Place, Plain, YamlText
from bot.config.validation import typed
from bot.core.messages import StrategyChoice
from bot.core.settings import Candidate
from bot.strategy.api import Strategy
from venue.wire.instant import NS_PER_MS

SHADOWS_MAX: Final = 8
"""Each is asked twice a decision, and each has metrics of its own."""

MakeStrategy = Callable[[], Strategy]

Found = tuple[type[Strategy], Any]
"""A strategy's class and its checked parameters."""


def find_live(source: YamlText) -> tuple[Found | None, list[Fault]]:
    part = source.content.get("strategy")
    return _found(source, part, "name", ("strategy",)) if isinstance(part, dict) else (None, [])


def find_shadows(source: YamlText) -> tuple[tuple[Candidate, ...], list[Fault]]:
    parts = source.content.get("shadow", [])
    out: list[Candidate] = []
    faults: list[Fault] = []
    names: set[str] = set()
    for number, part in enumerate(parts if isinstance(parts, list) else []):
        if not isinstance(part, dict):
            continue
        place: Place = ("shadow", number)
        read, _ = typed(ShadowPart, part, place, source)
        if read is None:
            continue  # its fault is found where the whole file is checked
        if SHORT_NAME.fullmatch(read.name) is None or read.name in names:
            text = f"{read.name[:60]!r}; accepted: small letters, digits, - and _, each name once"
            faults.append(_fault(source, (*place, "name"), text))
        names.add(read.name)
        found, wrong = _found(source, part, "strategy", place)
        faults += wrong
        if found is not None:
            latency_ns = read.latency_ms * NS_PER_MS
            out.append(Candidate(read.name, read.strategy, maker(found), latency_ns))
    if len(names) > SHADOWS_MAX:
        faults.append(_fault(source, ("shadow",), f"{len(names)}; accepted: {SHADOWS_MAX} at most"))
    return tuple(out), faults


def choice_of(name: str, found: Found) -> StrategyChoice:
    """A strategy as the journal has it. Raises ValueError for parameters that change in JSON: no
    run with them could be replayed."""
    strategy, params = found
    text = params.model_dump_json()
    if strategy.Params.model_validate_json(text) != params:
        raise ValueError("its parameters change when they are written as JSON and read again")
    return StrategyChoice(name, text)


class Makers:
    """Makes strategies from their choices; each choice is imported once.

    folder: where relative paths start. wrapped: applied to every maker.
    """

    def __init__(
        self,
        folder: Path,
        wrapped: Callable[[MakeStrategy], MakeStrategy] = lambda make: make,
    ) -> None:
        self._folder = folder
        self._wrapped = wrapped
        self._made: dict[StrategyChoice, MakeStrategy] = {}

    def __call__(self, choice: StrategyChoice) -> MakeStrategy:
        """Raises StrategyFault for an unknown name, and pydantic's ValidationError for parameters
        that the strategy does not take."""
        make = self._made.get(choice)
        if make is None:
            strategy = find_strategy(choice.name, self._folder)
            params = strategy.Params.model_validate_json(choice.params_json)
            make = self._made[choice] = self._wrapped(maker((strategy, params)))
        return make


def maker(found: Found) -> MakeStrategy:
    strategy, params = found
    return lambda: strategy(params)


def _found(
    source: YamlText, part: dict[str, Plain], key: str, place: Place
) -> tuple[Found | None, list[Fault]]:
    name = part.get(key)
    if not isinstance(name, str):
        return None, []
    try:
        strategy = find_strategy(name, source.path.parent)
    except StrategyFault as fault:
        return None, [_fault(source, (*place, key), str(fault))]
    params, faults = typed(strategy.Params, part.get("params", {}), (*place, "params"), source)
    if params is None:
        return None, faults
    try:
        made(strategy, params)
    except StrategyFault as fault:
        return None, [_fault(source, (*place, key), str(fault))]
    return (strategy, params), []


def _fault(source: YamlText, place: Place, text: str) -> Fault:
    name = ".".join(str(step) for step in place)
    return Fault(source.line_of(place), f"{name}: {text}")
