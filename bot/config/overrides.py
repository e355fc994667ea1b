"""Keys that are set over a configuration file: `--set KEY=VALUE`, checked as the file is."""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.config.renamed import current_key
from bot.config.sections import SETTINGS_OF, File
from bot.config.strict_yaml import Place, Plain, YamlFault, YamlText, read_yaml

SECTIONS: Final = tuple(SETTINGS_OF)
STRATEGY: Final = "strategy"
CALENDAR: Final = "calendar"
SETTABLE: Final = (STRATEGY, *SECTIONS, CALENDAR)
"""The sections whose keys may be set: how to trade, not where."""

SET_LINE: Final = 0
"""The line of a key that is set: no file has it."""

_QUOTED: Final = ("[", "{", '"', "'")
"""How a value begins that is read as YAML; any other is its own text."""

Overrides = Mapping[Place, Plain]
"""Values by the keys that lead to them, as YAML has them."""


def parsed_overrides(
    texts: Sequence[str], why_not: str = "it says where to trade, not how"
) -> tuple[dict[Place, Plain], list[str]]:
    """The values of texts such as `throttle.dwell_ms=200`, and a fault for each text that is no key
    and value. why_not: why a key outside of `SETTABLE` is refused."""
    found: dict[Place, Plain] = {}
    faults: list[str] = []
    for text in texts:
        key, equals, value = text.partition("=")
        key = current_key(key)
        place: Place = tuple(key.split("."))
        if not equals or not all(place):
            faults.append(f"--set {text[:80]!r}: KEY=VALUE, such as strategy.params.levels=3")
        elif place in found:
            faults.append(f"--set {key}: given twice")
        elif place[0] not in SETTABLE and place[0] in File.model_fields:
            faults.append(f"--set {key}: {why_not}; accepted: keys of {', '.join(SETTABLE)}")
        elif len(place) == 1 and key != CALENDAR:
            faults.append(f"--set {key}: a key inside of it is wanted: throttle.dwell_ms=200")
        elif not value.startswith(_QUOTED):
            found[place] = value
        else:
            try:
                found[place] = read_yaml(Path("--set"), f"value: {value}".encode()).content["value"]
            except YamlFault as fault:
                faults.append(f"--set {key}: {fault.faults[0].text}")
    return found, faults


def with_overrides(base: YamlText, sets: Overrides) -> YamlText:
    """The content with these keys set. Another strategy takes none of the parameters and variants
    there."""
    if not sets:
        return base
    content: dict[str, Plain] = json.loads(json.dumps(base.content))
    lines = dict(base.lines)
    strategy = content.get(STRATEGY)
    if (STRATEGY, "name") in sets and isinstance(strategy, dict):
        strategy.pop("params", None)
        strategy.pop("variants", None)
    for place, value in sets.items():
        at = content
        for depth, step in enumerate(place[:-1], 1):
            inner = at.get(str(step))
            if not isinstance(inner, dict):
                inner = at[str(step)] = {}
            at = inner
            lines.setdefault(place[:depth], SET_LINE)
        at[str(place[-1])] = value
        lines = {other: line for other, line in lines.items() if other[: len(place)] != place}
        lines[place] = SET_LINE
    return msgspec.structs.replace(base, content=content, lines=lines)


def override_text(key: str, value: object) -> str:
    """`throttle.dwell_ms=200` for a key and its value in Python. A name in Python has no dot: two
    underscores stand for one, as in `throttle__dwell_ms`."""
    if isinstance(value, str) and not value.startswith(_QUOTED):
        text = value
    elif isinstance(value, Decimal | Enum):
        text = str(value)
    else:
        text = json.dumps(value)
    return f"{key.replace('__', '.')}={text}"


def as_yaml(value: Any) -> Plain:
    """A value of JSON as it is written in YAML; nulls are left out."""
    match value:
        case dict():
            return {str(key): as_yaml(each) for key, each in value.items() if each is not None}
        case list() | tuple():
            return [as_yaml(each) for each in value]
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)
