"""The strategies that a configuration names: the live one with its variants, and the candidates in
its shadow."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from bot.config.plugins import StrategyFault, find_strategy, made
from bot.config.secrets import SHORT_NAME
from bot.config.sections import ShadowPart, VariantPart
from bot.config.strict_yaml import Fault, Place, Plain, YamlText
from bot.config.validation import typed
from bot.core.messages import StrategyChoice, VariantChoice
from bot.core.quoting.exit import EXIT_NAME
from bot.core.settings import Candidate
from bot.strategy.api import Strategy, name_of
from bot.strategy.variants import Variant, VariedStrategy
from venue.wire.instant import NS_PER_MS
from venue.wire.names import fold_ticker

SHADOWS_MAX: Final = 8
"""Each is asked twice a decision, and each has metrics of its own."""

VARIANTS_MAX: Final = 16
"""Each that covers a rung of an event is asked at each decision of the event."""

MakeStrategy = Callable[[], Strategy]


class Found(NamedTuple):
    """A strategy by its name in the file, its class and its checked parameters."""

    name: str
    strategy: type[Strategy]
    params: Any

    def params_json(self) -> str:
        """Raises ValueError for parameters that JSON changes: no run with them can be replayed."""
        text: str = self.params.model_dump_json()
        if self.strategy.Params.model_validate_json(text) != self.params:
            raise ValueError("its parameters change when they are written as JSON and read again")
        return text


class Live(NamedTuple):
    """The strategy of the series, and its variants in the order of the file."""

    found: Found
    variants: tuple[tuple[Variant, Found], ...] = ()

    def params(self) -> dict[Place, Any]:
        """The checked parameters, by their place in the file."""
        places: dict[Place, Any] = {("strategy", "params"): self.found.params}
        for number, (_, found) in enumerate(self.variants):
            places["strategy", "variants", number, "params"] = found.params
        return places

    def choice(self) -> StrategyChoice:
        """As the journal has it. Raises ValueError as `Found.params_json` does."""
        variants = tuple(
            VariantChoice(variant, found.name, found.params_json())
            for variant, found in self.variants
        )
        return StrategyChoice(self.found.name, self.found.params_json(), variants)


def find_live(source: YamlText) -> tuple[Live | None, list[Fault]]:
    part, place = source.content.get("strategy"), ("strategy",)
    if not isinstance(part, dict):
        return None, []
    found, faults = _found(source, part, "name", place)
    names = {str(part.get("name")), EXIT_NAME}
    if found is not None:
        names.add(name_of(found.strategy))
    variants, wrong = _variants(source, part, names)
    faults += wrong
    return (None if found is None or faults else Live(found, variants)), faults


def _variants(
    source: YamlText, strategy: dict[str, Plain], names: set[str]
) -> tuple[tuple[tuple[Variant, Found], ...], list[Fault]]:
    """The variants of a strategy's section, and their faults. names: to which profit is attributed
    already."""
    parts = strategy.get("variants", [])
    out: list[tuple[Variant, Found]] = []
    faults: list[Fault] = []
    for number, part in enumerate(parts if isinstance(parts, list) else []):
        place: Place = ("strategy", "variants", number)
        read, _ = typed(VariantPart, part, place, source)
        if read is None or not isinstance(part, dict):
            continue  # its fault is found where the whole file is checked
        faults += _name_faults(source, place, read.name, names)
        whole = dict(part)
        if read.strategy in (None, strategy.get("name")):
            # Another setting of the same strategy: it says what differs.
            whole["strategy"] = strategy.get("name", "")
            base, own = strategy.get("params", {}), part.get("params", {})
            if isinstance(base, dict) and isinstance(own, dict):
                whole["params"] = base | own
        found, wrong = _found(source, whole, "strategy", place)
        faults += wrong
        if found is not None:
            variant = Variant(
                name=read.name,
                events=tuple(map(fold_ticker, read.events)),
                rungs=tuple(map(fold_ticker, read.rungs)),
                split=read.split,
                block_ns=read.block_ms * NS_PER_MS,
                seed=read.seed,
            )
            out.append((variant, found))
    if len(out) > VARIANTS_MAX:
        text = f"{len(out)}; accepted: {VARIANTS_MAX} at most"
        faults.append(_fault(source, ("strategy", "variants"), text))
    return tuple(out), faults


def _name_faults(source: YamlText, place: Place, name: str, names: set[str]) -> list[Fault]:
    """The fault of a name that is no short one, or is among `names`, to which it is added."""
    is_good = SHORT_NAME.fullmatch(name) is not None and name not in names
    names.add(name)
    text = f"{name[:60]!r}; accepted: small letters, digits, - and _, each name once"
    return [] if is_good else [_fault(source, (*place, "name"), text)]


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
        faults += _name_faults(source, place, read.name, names)
        found, wrong = _found(source, part, "strategy", place)
        faults += wrong
        if found is not None:
            latency_ns = read.latency_ms * NS_PER_MS
            out.append(Candidate(read.name, read.strategy, maker(Live(found)), latency_ns))
    if len(names) > SHADOWS_MAX:
        faults.append(_fault(source, ("shadow",), f"{len(names)}; accepted: {SHADOWS_MAX} at most"))
    return tuple(out), faults


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
            variants = tuple(
                (each.variant, self._found(each.strategy, each.params_json))
                for each in choice.variants
            )
            live = Live(self._found(choice.name, choice.params_json), variants)
            make = self._made[choice] = self._wrapped(maker(live))
        return make

    def _found(self, name: str, params_json: str) -> Found:
        strategy = find_strategy(name, self._folder)
        return Found(name, strategy, strategy.Params.model_validate_json(params_json))


def maker(live: Live) -> MakeStrategy:
    """What makes the strategy of an event."""
    base, variants = live
    if not variants:
        return lambda: base.strategy(base.params)
    return lambda: VariedStrategy(
        base.strategy(base.params),
        [(variant, found.strategy(found.params)) for variant, found in variants],
    )


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
    return Found(name, strategy, params), []


def _fault(source: YamlText, place: Place, text: str) -> Fault:
    name = ".".join(str(step) for step in place)
    return Fault(source.line_of(place), f"{name}: {text}")
