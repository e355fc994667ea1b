"""Another configuration for a recorded session: keys that are set, or a file, checked as YAML is.

A journal holds a configuration as the trader was told it. It is written out again as the YAML that
it came from, the keys that are set take their places in it, and the whole is checked as a file is:
an unknown key, a value out of its bounds, or keys that do not fit together are faults. What is not
set stays what the journal says, to the nanosecond.
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.config.bot_config import BotConfig, ConfigFault, Draft, draft_of, finish, read_draft
from bot.config.diff import Change, changes
from bot.config.sections import File
from bot.core import messages as m
from bot.core.settings import TraderSettings
from bot.io.settings.strict_yaml import Place, Plain, YamlFault, YamlText, read_yaml
from venue.wire.instant import NS_PER_MS

SECTIONS: Final = ("risk", "pace", "budget", "trust", "news", "curfew", "breakers", "start")
"""The parts of the configuration that the trader's settings hold under the same names."""

_STRATEGY: Final = "strategy"
_SETTABLE: Final = (_STRATEGY, *SECTIONS)
_NO_PART: Final = "strategy.budget_ms"
_SESSION: Final = "session"
"""Stands for a file that there is not."""

_FIRST_SET_LINE: Final = 1_000_000
"""Keys that are set stand on lines that no file has."""


class Wanted(msgspec.Struct, frozen=True):
    """What is to be tried. changed: the keys that are other than in the session."""

    configured: m.Configuration
    changed: tuple[Change, ...]


class Trial:
    """Sets of keys, and perhaps a file, to be tried on a session's configuration.

    Raises ConfigFault for a key or value that cannot be.
    """

    def __init__(self, sets: Sequence[str], file: Path | None, folder: Path) -> None:
        """sets: texts such as `pace.dwell_ms=200`. file: instead of what the session had; None: it
        is what the sets change. folder: what paths of strategy files start from."""
        self._sets = _parsed(sets)
        self._file = file
        self._folder = folder

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be other."""
        return not self._sets and self._file is None

    @property
    def has_file(self) -> bool:
        """Whether a file stands for all that the session had."""
        return self._file is not None

    def on(self, then: m.Configuration) -> Wanted:
        """It on a configuration. Raises ConfigFault with everything that is wrong."""
        had = self._finished(draft_of(_source(then, self._folder)))
        base = had.source if self._file is None else read_draft(self._file).source
        draft = draft_of(self._with_sets(base))
        wanted = self._finished(draft)
        if self._file is None:
            settings = _overlaid(then.settings, wanted.trader, self._sets)
        else:
            if wanted.trader.series_ticker != then.settings.series_ticker:
                raise ConfigFault(
                    [
                        f"{self._file}: series: {wanted.trader.series_ticker}; the session traded "
                        f"{then.settings.series_ticker}"
                    ]
                )
            settings = wanted.trader
        # Keys of the account are the session's: its request buckets are.
        settings = msgspec.structs.replace(settings, keys=then.settings.keys)
        rows = [row for row in wanted.rows if row.key.split(".")[0] in _SETTABLE]
        before = [row for row in had.rows if row.key.split(".")[0] in _SETTABLE]
        configured = m.Configuration(settings, wanted.choice, wanted.digest)
        return Wanted(configured, tuple(map(_of_a_file, changes(before, rows))))

    def _with_sets(self, base: YamlText) -> YamlText:
        """The content with the keys that are set."""
        content: dict[str, Plain] = json.loads(json.dumps(base.content))
        lines = dict(base.lines)
        strategy = content.get(_STRATEGY)
        if (_STRATEGY, "name") in self._sets and isinstance(strategy, dict):
            strategy.pop("params", None)  # those of another strategy are not its own
        for number, (place, value) in enumerate(self._sets.items()):
            _put(content, place, value)
            for depth in range(1, len(place) + 1):
                lines.setdefault(place[:depth], _FIRST_SET_LINE + number)
            lines[place] = _FIRST_SET_LINE + number
        return YamlText(base.path, content, lines)

    def _finished(self, draft: Draft) -> BotConfig:
        """The configuration; faults of keys that are set are told by those."""
        try:
            return finish(draft)
        except ConfigFault as fault:
            raise ConfigFault([self._told(text, draft) for text in fault.faults]) from None

    def _told(self, text: str, draft: Draft) -> str:
        where, _, what = text.removeprefix(f"{draft.source.path}:").partition(": ")
        if where.isdecimal() and int(where) >= _FIRST_SET_LINE:
            return f"--set {what}"
        own = draft.source.path.name == _SESSION
        return f"the session's own configuration: {what}" if own else text


def _of_a_file(change: Change) -> Change:
    """A change with a line only where a file says it."""
    if change.line is None or change.line < _FIRST_SET_LINE:
        return change
    return msgspec.structs.replace(change, line=None)


# --- what is set ----------------------------------------------------------------------------------


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
        else:
            try:
                found[place] = _plain(value)
            except YamlFault as fault:
                faults.append(f"--set {key}: {fault.faults[0].text}")
    if faults:
        raise ConfigFault(faults)
    return found


def _plain(value: str) -> Plain:
    """A value as YAML has it on one line. Raises YamlFault."""
    if not value.startswith(("[", "{", '"', "'")):
        return value
    return read_yaml(Path("--set"), f"value: {value}".encode()).content["value"]


def _put(content: dict[str, Plain], place: Place, value: Plain) -> None:
    """A value at a place; what stands in its way is replaced."""
    at = content
    for step in place[:-1]:
        inner = at.get(str(step))
        if not isinstance(inner, dict):
            inner = at[str(step)] = {}
        at = inner
    at[str(place[-1])] = value


def _overlaid(
    then: TraderSettings, wanted: TraderSettings, sets: Mapping[Place, Plain]
) -> TraderSettings:
    """The settings then, with those that were set."""
    named: dict[str, dict[str, Any]] = {}
    for section, key, *_ in (place for place in sets if place[0] in SECTIONS):
        name = str(key)
        field = f"{name[:-3]}_ns" if name.endswith("_ms") else name
        named.setdefault(str(section), {})[field] = getattr(getattr(wanted, str(section)), field)
    parts = {
        section: msgspec.structs.replace(getattr(then, section), **fields)
        for section, fields in named.items()
    }
    return msgspec.structs.replace(then, **parts)


# --- the journal's configuration as YAML ----------------------------------------------------------


def _source(then: m.Configuration, folder: Path) -> YamlText:
    """What a journal says of a configuration, as the content of a file."""
    content: dict[str, Plain] = {
        "name": _SESSION,
        "series": then.settings.series_ticker,
        "venue": {"embedded": "venue.yaml"},
        _STRATEGY: {
            "name": then.strategy.name,
            "params": _written(json.loads(then.strategy.params_json, parse_float=Decimal)),
        },
    }
    for section in SECTIONS:
        part: dict[str, Plain] = {}
        for name, value in msgspec.to_builtins(getattr(then.settings, section)).items():
            in_ms = name.endswith("_ns")
            key = f"{name[:-3]}_ms" if in_ms else name
            part[key] = str(max(1, value // NS_PER_MS) if in_ms and value else value)
        content[section] = part
    return YamlText(folder / _SESSION, content, _lines(content))


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


def _lines(content: Plain, place: Place = ()) -> dict[Place, int]:
    """A line for every place: what is not a file has one alone."""
    found: dict[Place, int] = {place: 1}
    if isinstance(content, dict):
        for key, value in content.items():
            found |= _lines(value, (*place, key))
    elif isinstance(content, list):
        for number, value in enumerate(content):
            found |= _lines(value, (*place, number))
    return found
