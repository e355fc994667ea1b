"""Finds a strategy: by name, by dotted path or by file path; the one place that imports one.

Source: `bot.core.strategy`.
"""

import difflib
import importlib
import importlib.util
import pkgutil
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

from bot.core.strategy import Strategy

_PACKAGE: Final = "strategies"
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)
_DOTTED: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*):([A-Za-z_][A-Za-z0-9_]*)", re.ASCII)
_IN_FILE: Final = re.compile(r"(.+\.py):([A-Za-z_][A-Za-z0-9_]*)")


class StrategyFault(Exception):
    """There is no such strategy; the text says what there is."""


def known_strategies() -> list[str]:
    """The names of the strategies that come with the program."""
    package = importlib.import_module(_PACKAGE)
    return sorted(
        module.name
        for module in pkgutil.iter_modules(package.__path__)
        if not module.name.startswith("_")
    )


def find_strategy(text: str, folder: Path) -> type[Strategy]:
    """The strategy that `text` names: `ladder`, `package.module:Class` or `./mine.py:Class`.

    folder: what a file path starts from. Raises StrategyFault when it is none of these, cannot be
    imported, or is no Strategy with a Params schema.
    """
    if in_file := _IN_FILE.fullmatch(text):
        module, name = _from_file(folder / in_file[1]), in_file[2]
    elif dotted := _DOTTED.fullmatch(text):
        module, name = _imported(dotted[1], text), dotted[2]
    elif _NAME.fullmatch(text) is not None and text in known_strategies():
        module, name = _imported(f"{_PACKAGE}.{text}", text), "STRATEGY"
    else:
        known = known_strategies()
        near = difflib.get_close_matches(text, known, n=1, cutoff=0.6)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise StrategyFault(
            f"no strategy {text[:60]!r}{meant} (known: {', '.join(known)}; "
            "or package.module:Class, or ./file.py:Class)"
        )
    found = getattr(module, name, None)
    if not (isinstance(found, type) and issubclass(found, Strategy)):
        raise StrategyFault(f"{text}: {name} is no class made from bot.core.strategy.Strategy")
    return found


def _imported(name: str, text: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as fault:  # noqa: BLE001 - a plugin may raise anything while it is imported
        said = _said(fault)
    raise StrategyFault(f"{text}: cannot be imported: {said}")


def _from_file(path: Path) -> ModuleType:
    name = f"strategy_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise StrategyFault(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    # Known by name before it runs: what it defines looks its own module up there.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        return module
    except Exception as fault:  # noqa: BLE001 - a plugin may raise anything while it is imported
        said = _said(fault)
    raise StrategyFault(f"{path}: cannot be imported: {said}")


def _said(fault: Exception) -> str:
    return f"{type(fault).__name__}: {fault}"
