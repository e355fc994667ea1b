"""Another configuration for a journalled run: keys to set, or a file, checked as YAML is."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, structs

from bot.config.bot_config import BotConfig, ConfigFault, draft_of, finish, read_draft
from bot.config.diff import Change, changes
from bot.config.renamed import current_key
from bot.config.sections import SETTINGS_OF, File, key_of_field
from bot.config.strict_yaml import Place, Plain, YamlFault, YamlText, read_yaml
from bot.core import messages as m
from venue.wire.instant import NS_PER_MS

SECTIONS: Final = tuple(SETTINGS_OF)
_STRATEGY: Final = "strategy"
_SETTABLE: Final = (_STRATEGY, *SECTIONS)
_NO_PART: Final = "strategy.budget_ms"
_SESSION: Final = "session"  # instead of a file
_SET_LINE: Final = 0  # keys that are set stand on a line that no file has


class Wanted(Struct, frozen=True):
    configured: m.Configuration
    changed: tuple[Change, ...]  # the keys that are other than in the run


class Trial:
    def __init__(self, sets: Sequence[str], file: Path | None, folder: Path) -> None:
        """sets: texts such as `throttle.dwell_ms=200`. file: replaces the run's configuration.
        folder: where paths of strategy files start. Raises ConfigFault."""
        self._sets = _parsed(sets)
        self.file = file
        self._folder = folder

    @property
    def is_empty(self) -> bool:
        return not self._sets and self.file is None

    def on(self, then: m.Configuration) -> Wanted:
        """Raises ConfigFault with everything that is wrong."""
        had = _finished(_source(then, self._folder))
        base = had.source if self.file is None else read_draft(self.file).source
        wanted = _finished(self._with_sets(base))
        settings = wanted.trader
        if self.file is None:
            parts = {field: getattr(settings, field) for field in SETTINGS_OF.values()}
            settings = structs.replace(then.settings, **parts)
        elif settings.series_ticker != then.settings.series_ticker:
            other, own = settings.series_ticker, then.settings.series_ticker
            raise ConfigFault([f"{self.file}: series: {other}; the session traded {own}"])
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
    """Raises ConfigFault; faults of keys that are set name those keys."""
    try:
        return finish(draft_of(source))
    except ConfigFault as fault:
        is_set = f"{source.path}:{_SET_LINE}: "
        raise ConfigFault([text.replace(is_set, "--set ", 1) for text in fault.faults]) from None


def _parsed(sets: Sequence[str]) -> dict[Place, Plain]:
    """Raises ConfigFault with every text that is no place and value."""
    found: dict[Place, Plain] = {}
    faults: list[str] = []
    for text in sets:
        key, equals, value = text.partition("=")
        key = current_key(key)
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
            faults.append(f"--set {key}: a key inside of it is wanted: throttle.dwell_ms=200")
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
    params = json.loads(then.strategy.params_json, parse_float=Decimal)
    content: dict[str, Plain] = {
        "name": _SESSION,
        "series": then.settings.series_ticker,
        "venue": {"embedded": "venue.yaml"},
        _STRATEGY: {"name": then.strategy.name, "params": _written(params)},
    }
    for section in SECTIONS:
        part: dict[str, Plain] = {}
        for name, value in structs.asdict(getattr(then.settings, SETTINGS_OF[section])).items():
            in_ms = name.endswith("_ns")
            part[key_of_field(name)] = str(max(1, value // NS_PER_MS) if in_ms and value else value)
        content[section] = part
    return YamlText(folder / _SESSION, content, {(): 1})


def _written(value: Any) -> Plain:
    """A value of JSON as it is written in YAML; nulls are left out."""
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
