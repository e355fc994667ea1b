"""Keys of before, by the names that their rows give: accepted for one version, with a warning."""

import warnings
from typing import Any, Final

import msgspec
from pydantic import BaseModel

from bot.config.sections import File, former_name, section_of
from bot.config.strict_yaml import Fault, Place, Plain, YamlText

_WARNED: Final[dict[Any, Any]] = {}
"""What was warned of already: each line of a file once in a process."""


class KeyRenamed(FutureWarning):
    """A file or an option uses the old name of a key. The warning names file, line, old and new."""


def _renamed(model: type[BaseModel] | None, step: str | int) -> tuple[str | int, Any]:
    if model is None or not isinstance(step, str):
        return step, model
    fields = model.model_fields
    if step not in fields:
        step = next((name for name in fields if former_name(fields[name]) == step), step)
    return step, section_of(fields[step]) if step in fields else None


def current_place(place: Place) -> Place:
    found: list[str | int] = []
    model: type[BaseModel] | None = File
    for step in place:
        name, model = _renamed(model, step)
        found.append(name)
    return tuple(found)


def current_key(key: str) -> str:
    """`pace.siblings` as it is called now. Warns where that is another name."""
    now = ".".join(map(str, current_place(tuple(key.split(".")))))
    if now != key:
        text = f"{key} is now {now}; the old name is accepted in this version only"
        warnings.warn_explicit(text, KeyRenamed, "option", 1, registry=_WARNED)
    return now


def with_current_keys(source: YamlText) -> tuple[YamlText, list[Fault]]:
    """The same content under the current names, with a warning for each old one. A fault for a key
    that is there under both names."""
    old = [place for place in source.lines if place and current_place(place)[-1] != place[-1]]
    if not old:
        return source, []
    faults: list[Fault] = []
    for place in old:
        line, now = source.lines[place], current_place(place)
        was, name = ".".join(map(str, place)), ".".join(map(str, now))
        if (*place[:-1], now[-1]) in source.lines:
            faults.append(Fault(line, f"{was}: is now {name}, which is there too; remove {was}"))
        text = f"{was} is now {name}; the old name is accepted in this version only"
        warnings.warn_explicit(text, KeyRenamed, str(source.path), line, registry=_WARNED)
    lines = {current_place(place): line for place, line in reversed(source.lines.items())}
    content = _content(File, source.content)
    return msgspec.structs.replace(source, content=content, lines=lines), faults


def _content(model: type[BaseModel] | None, content: dict[str, Plain]) -> dict[str, Plain]:
    out: dict[str, Plain] = {}
    for key, value in content.items():
        name, section = _renamed(model, key)
        out[str(name)] = _content(section, value) if isinstance(value, dict) else value
    return out
