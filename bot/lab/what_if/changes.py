"""Another configuration for a journalled run: keys that are set, or a file, checked as YAML is.

The journal's configuration is written out again as the YAML that it came from, the keys that are
set take their places in it, and the whole is checked as a file is.
"""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, structs, to_builtins

from bot.config.bot_config import BotConfig, ConfigFault, draft_of, finish, read_draft
from bot.config.diff import Change, changes
from bot.config.sections import File
from bot.config.strict_yaml import Place, Plain, YamlFault, YamlText, read_yaml
from bot.core import messages as m
from venue.wire.instant import NS_PER_MS

SECTIONS: Final = ("risk", "pace", "budget", "trust", "news", "curfew", "breakers", "start")
"""The parts of the configuration that the trader's settings hold, as files name them."""

_STRATEGY: Final = "strategy"
_SETTABLE: Final = (_STRATEGY, *SECTIONS)
_NO_PART: Final = "strategy.budget_ms"
_SESSION: Final = "session"
"""Stands for a file that there is not."""

_SET_LINE: Final = 0
"""Keys that are set stand on a line that no file has."""


class Wanted(Struct, frozen=True):
    """What is to be tried. changed: the keys that are other than in the run."""

    configured: m.Configuration
    changed: tuple[Change, ...]


class Trial:
    """Sets of keys, and perhaps a file, to be tried on a run's configuration.

    Raises ConfigFault for a key or value that cannot be.
    """

    def __init__(self, sets: Sequence[str], file: Path | None, folder: Path) -> None:
        """sets: texts such as `pace.dwell_ms=200`. file: instead of what the run had; None: it is
        what the sets change. folder: what paths of strategy files start from."""
        self._sets = _parsed(sets)
        self.file = file
        self._folder = folder

    @property
    def is_empty(self) -> bool:
        """True if nothing is to be other."""
        return not self._sets and self.file is None

    def on(self, then: m.Configuration) -> Wanted:
        """It on a configuration. Raises ConfigFault with everything that is wrong."""
        had = _finished(_source(then, self._folder))
        base = had.source if self.file is None else read_draft(self.file).source
        wanted = _finished(self._with_sets(base))
        settings = wanted.trader
        if self.file is None:
            parts = {name: getattr(settings, name) for name in map(_field, SECTIONS)}
            settings = structs.replace(then.settings, **parts)
        elif settings.series_ticker != then.settings.series_ticker:
            raise ConfigFault(
                [
                    f"{self.file}: series: {settings.series_ticker}; the session traded "
                    f"{then.settings.series_ticker}"
                ]
            )
        # Keys of the account are the run's: its request buckets are.
        settings = structs.replace(settings, keys=then.settings.keys)
        before, rows = (
            [row for row in each.rows if row.key.split(".")[0] in _SETTABLE]
            for each in (had, wanted)
        )
        changed = [structs.replace(each, line=each.line or None) for each in changes(before, rows)]
        configured = m.Configuration(settings, wanted.choice, wanted.digest)
        return Wanted(configured, tuple(changed))

    def _with_sets(self, base: YamlText) -> YamlText:
        """The content with the keys that are set."""
        content: dict[str, Plain] = json.loads(json.dumps(base.content))
        lines = dict(base.lines)
        strategy = content.get(_STRATEGY)
        if (_STRATEGY, "name") in self._sets and isinstance(strategy, dict):
            strategy.pop("params", None)  # those of another strategy are not its own
        for place, value in self._sets.items():
            at = content
            for depth, step in enumerate(place[:-1], 1):
                inner = at.get(str(step))
                if not isinstance(inner, dict):
                    inner = at[str(step)] = {}
                at = inner
                lines.setdefault(place[:depth], _SET_LINE)
            at[str(place[-1])] = value
            lines[place] = _SET_LINE
        return YamlText(base.path, content, lines)


def _finished(source: YamlText) -> BotConfig:
    """The configuration; faults of keys that are set are told by those."""
    try:
        return finish(draft_of(source))
    except ConfigFault as fault:
        is_set = f"{source.path}:{_SET_LINE}: "
        raise ConfigFault(
            [
                f"--set {text.removeprefix(is_set)}" if text.startswith(is_set) else text
                for text in fault.faults
            ]
        ) from None


def _parsed(sets: Sequence[str]) -> dict[Place, Plain]:
    """Places and plain values. Raises ConfigFault with every text that is none."""
    found: dict[Place, Plain] = {}
    faults: list[str] = []
    for text in sets:
        key, equals, value = text.partition("=")
        place: Place = tuple(key.split("."))
        if not equals or not all(place):
            faults.append(f"--set {text[:80]!r}: KEY=VALUE, such as strategy.params.levels=3")
        elif place in found:
            faults.append(f"--set {key}: given twice")
        elif place[0] not in _SETTABLE and place[0] in File.model_fields:
            faults.append(
                f"--set {key}: it changes nothing of a session that is over; accepted: keys of "
                + ", ".join(_SETTABLE)
            )
        elif key == _NO_PART:
            faults.append(f"--set {key}: nobody measures a strategy's time here")
        elif len(place) == 1:
            faults.append(f"--set {key}: a key inside of it is wanted, such as pace.dwell_ms=200")
        elif not value.startswith(("[", "{", '"', "'")):
            found[place] = value
        else:
            try:
                found[place] = read_yaml(Path("--set"), f"value: {value}".encode()).content["value"]
            except YamlFault as fault:
                faults.append(f"--set {key}: {fault.faults[0].text}")
    if faults:
        raise ConfigFault(faults)
    return found


# --- the journal's configuration as YAML ----------------------------------------------------------


def _source(then: m.Configuration, folder: Path) -> YamlText:
    """What a journal says of a configuration, as the content of a file."""
    params = json.loads(then.strategy.params_json, parse_float=Decimal)
    content: dict[str, Plain] = {
        "name": _SESSION,
        "series": then.settings.series_ticker,
        "venue": {"embedded": "venue.yaml"},
        _STRATEGY: {"name": then.strategy.name, "params": _written(params)},
    }
    for section in SECTIONS:
        part: dict[str, Plain] = {}
        for name, value in to_builtins(getattr(then.settings, _field(section))).items():
            in_ms = name.endswith("_ns")
            key = f"{name[:-3]}_ms" if in_ms else name
            part[key] = str(max(1, value // NS_PER_MS) if in_ms and value else value)
        content[section] = part
    return YamlText(folder / _SESSION, content, {(): 1})


def _field(section: str) -> str:
    """The field of the trader's settings that holds a section."""
    return "staleness" if section == "trust" else section


def _written(value: Any) -> Plain:
    """A value of JSON as it is written in YAML; what is null is left out."""
    match value:
        case dict():
            return {key: _written(each) for key, each in value.items() if each is not None}
        case list():
            return [_written(each) for each in value]
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)
