"""Finds and imports strategies: by name, by dotted path or by file path."""

import difflib
import importlib
import importlib.metadata
import importlib.util
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import msgspec
import pydantic
from pydantic.fields import FieldInfo

from bot.config.validation import rules
from bot.io.faults import plugin_fault_text
from bot.strategy.api import Strategy

ENTRY_POINTS: Final = "laddermaker.strategies"
"""The entry point group in which an installed package names its strategies."""

_PACKAGE: Final = "strategies"
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
_DOTTED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*):([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_IN_FILE: Final = re.compile(r"(.+\.py)(?::([A-Za-z_][A-Za-z0-9_]*))?")


class StrategyFault(Exception):
    """There is no such strategy; the text says which there are."""


class Listed(msgspec.Struct, frozen=True):
    """A strategy with a name. source: `strategies`, or its package. fault: why it cannot be used,
    empty when it can."""

    name: str
    source: str
    about: str
    fault: str = ""


def known_strategies() -> list[str]:
    """Names that `find_strategy` takes: shipped ones, then installed ones."""
    shipped = shipped_strategies()
    return [*shipped, *sorted(name for name in _installed() if name not in shipped)]


def listed_strategies() -> list[Listed]:
    shipped, installed = shipped_strategies(), _installed()
    out = []
    for name in known_strategies():
        source = _PACKAGE if name in shipped else _source(installed[name])
        try:
            out.append(Listed(name, source, about(tried(find_strategy(name, Path())))))
        except StrategyFault as fault:
            out.append(Listed(name, source, "", str(fault)))
    return out


def about(strategy: type[Strategy]) -> str:
    """A strategy in one line: the first paragraph of its docstring, else of its module's."""
    module = sys.modules.get(strategy.__module__)
    own = strategy.__dict__.get("__doc__")
    text = inspect.cleandoc(own or (module.__doc__ if module else None) or "")
    return text.partition("\n\n")[0].replace("\n", " ").strip()


def _installed() -> dict[str, importlib.metadata.EntryPoint]:
    """Entry points by name; of two with one name the first."""
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for point in importlib.metadata.entry_points(group=ENTRY_POINTS):
        found.setdefault(point.name, point)
    return found


def _source(point: importlib.metadata.EntryPoint) -> str:
    return point.module if point.dist is None else point.dist.name


def shipped_strategies() -> list[str]:
    package = importlib.import_module(_PACKAGE)
    return sorted(
        module.name
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_")
    )


def name_class(strategy: type[Strategy]) -> str:
    """A text by which `find_strategy` finds a class of this process, such as one of a notebook's
    cell. Another process finds it only if it is in a module that can be imported."""
    module, name = strategy.__module__, strategy.__qualname__
    dotted = f"{module}:{name}"
    is_found = module != "__main__" and getattr(sys.modules.get(module), name, None) is strategy
    if is_found and _DOTTED.fullmatch(dotted) and not module.startswith("strategy_"):
        return dotted
    known = next((text for text, each in _CLASSES.items() if each is strategy), None)
    text = known or f"{dotted}#{len(_CLASSES) + 1}"
    _CLASSES[text] = strategy
    return text


_CLASSES: Final[dict[str, type[Strategy]]] = {}
"""Classes that were given instead of a text; the number in a name keeps a class apart from the one
that a notebook's cell defined before it."""


def class_source(text: str) -> bytes | None:
    """The source of a class that `name_class` named, as far as it is known; None for any other
    text."""
    strategy = _CLASSES.get(text)
    if strategy is None:
        return None
    try:
        return inspect.getsource(strategy).encode()
    except (OSError, TypeError):
        return text.encode()


def find_strategy(text: str, folder: Path) -> type[Strategy]:
    """The strategy of `ladder_joint`, `package.module:Class`, `./mine.py:Class`, or `./mine.py` for
    its `STRATEGY`.

    folder: where a file path starts. Raises StrategyFault when there is none, it cannot be
    imported, or it is no Strategy with a Params schema.
    """
    found: Any = _CLASSES.get(text)
    name = text
    if found is None:
        module, name = _named(text, folder)
        found = getattr(module, name, None)
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise StrategyFault(f"{text}: {name} is no class made from bot.strategy.api.Strategy")
    if not (isinstance(found.Params, type) and issubclass(found.Params, Strategy.Params)):
        raise StrategyFault(f"{text}: its Params is no class made from Strategy.Params")
    return found


def module_of(text: str, folder: Path) -> ModuleType:
    """The module that `text` names a strategy in. As `find_strategy` otherwise."""
    return _named(text, folder)[0]


def _named(text: str, folder: Path) -> tuple[ModuleType, str]:
    _alias_moved_modules()
    if in_file := _IN_FILE.fullmatch(text):
        module, name = _from_file(folder / in_file[1]), in_file[2] or "STRATEGY"
    elif dotted := _DOTTED.fullmatch(text):
        module, name = _imported(dotted[1], text), dotted[2]
    elif _NAME.fullmatch(text) is not None and text in shipped_strategies():
        module, name = _imported(f"{_PACKAGE}.{text}", text), "STRATEGY"
    elif text in (installed := _installed()):
        point = installed[text]
        module, name = _imported(point.module, text), point.attr or "STRATEGY"
    else:
        known = known_strategies()
        near = difflib.get_close_matches(text, known, n=1, cutoff=0.6)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise StrategyFault(
            f"no strategy {text[:60]!r}{meant} (known: {', '.join(known)}; "
            "or package.module:Class, or ./file.py)"
        )
    return module, name


def _alias_moved_modules() -> None:
    """For one version a strategy may import its contract and the pricing tools from
    `bot.core.strategy` and `bot.core.pricing`."""
    sys.modules.setdefault("bot.core.strategy", importlib.import_module("bot.strategy.api"))
    tools = importlib.import_module("bot.strategy.pricing")
    sys.modules.setdefault("bot.core.pricing", tools)
    for tool in pkgutil.iter_modules(tools.__path__):
        module = importlib.import_module(f"bot.strategy.pricing.{tool.name}")
        sys.modules.setdefault(f"bot.core.pricing.{tool.name}", module)


def made(strategy: type[Strategy], params: Any) -> Strategy:
    """A fresh instance. Raises StrategyFault, with file and line, whatever its class raises, and
    for a class without `quote` or whose instances have no parameters."""
    try:
        instance = strategy(params)
        said = "" if strategy.quote is not Strategy.quote else "it has no method quote(self, view)"
        if not hasattr(instance, "params"):
            said = "its __init__(self, params) does not begin with super().__init__(params)"
    except BaseException as fault:  # noqa: BLE001 - a plugin may raise anything
        said = plugin_fault_text(fault)
    if said:
        raise StrategyFault(f"cannot be made: {said}")
    return instance


def tried(strategy: type[Strategy]) -> type[Strategy]:
    """The same class, after an instance was made if no parameter is required. Raises StrategyFault
    as `made` does."""
    if not any(field.is_required() for field in strategy.Params.model_fields.values()):
        made(strategy, strategy.Params())
    return strategy


def _imported(name: str, text: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except BaseException as fault:  # noqa: BLE001 - a plugin may raise anything
        said = plugin_fault_text(fault)
    raise StrategyFault(f"{text}: cannot be imported: {said}")


def _from_file(path: Path) -> ModuleType:
    """The module in a file, which runs once in a process as every module does."""
    known = _FROM_FILES.get(path.absolute())
    if known is not None:
        return known
    name = f"strategy_{path.stem}"
    while name in sys.modules:
        name += "_"  # a file of the same name in another folder
    spec = importlib.util.spec_from_file_location(name, path)
    try:
        is_there = path.is_file()
    except OSError as fault:  # such as in the folder of another user, or a name that is too long
        raise StrategyFault(f"{path}: cannot be read: {fault.strerror}") from None
    if spec is None or spec.loader is None or not is_there:
        raise StrategyFault(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    # Known by name before it runs: what it defines looks its own module up there.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        _FROM_FILES[path.absolute()] = module
        return module
    except BaseException as fault:  # noqa: BLE001 - a plugin may raise anything
        said = plugin_fault_text(fault)
    del sys.modules[name]
    raise StrategyFault(f"{path}: cannot be imported: {said}")


_FROM_FILES: Final[dict[Path, ModuleType]] = {}

_UNITS: Final = (
    ("_per_cent", "per 1 cent"),
    ("_cents_per_day", "cents per day"),
    ("_per_s", "per second"),
    ("_per_day", "per day"),
    ("_millicents", "thousandths of a cent"),
    ("_cents", "cents"),
    ("_dollars", "dollars"),
    ("_qty", "shares"),
    ("_lots", "lots"),
    ("_ticks", "ticks"),
    ("_pct", "percent"),
    ("_ms", "milliseconds"),
    ("_hours", "hours"),
    ("_s", "seconds"),
)
"""Endings of names, and their units."""

_SIGNS: Final = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


class Parameter(msgspec.Struct, frozen=True):
    """One parameter. default: as text; None when it must be given. accepted: type and range. unit:
    empty without one."""

    name: str
    default: str | None
    accepted: str
    unit: str
    about: str

    @property
    def is_required(self) -> bool:
        return self.default is None


def parameters_of(strategy: type[Strategy]) -> list[Parameter]:
    return [_parameter(name, field) for name, field in strategy.Params.model_fields.items()]


def _parameter(name: str, field: FieldInfo) -> Parameter:
    given = None if field.is_required() else _text(field.get_default(call_default_factory=True))
    return Parameter(name, given, _accepted(field), _unit(name), field.description or "")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, pydantic.BaseModel):
        return str(value.model_dump())
    # A text of no letters would be read as no default at all.
    return "none" if value is None else str(getattr(value, "value", value)) or "''"


def _unit(name: str) -> str:
    return next((unit for ending, unit in _UNITS if name.endswith(ending)), "")


def _accepted(field: FieldInfo) -> str:
    """The type, and the range where there is one: `int, >= 1, <= 49`."""
    bounds = [f"{_SIGNS[name]} {bound}" for name, bound in rules(field)]
    return ", ".join([_kind(field.annotation), *bounds])


def _kind(annotation: Any) -> str:
    members = getattr(annotation, "__members__", None)
    if members is not None:
        return " | ".join(str(member.value) for member in members.values())
    known = getattr(annotation, "__name__", "")
    if not getattr(annotation, "__args__", None) and known:
        return known
    args = getattr(annotation, "__args__", ())
    if str(getattr(annotation, "__origin__", "")) == "typing.Literal":
        return " | ".join(str(each) for each in args)
    return str(annotation).replace("typing.", "").replace("None", "none")
