"""A configuration key by key: its value, its source, when a change applies; and the differences of
two."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import msgspec
from pydantic import BaseModel

from bot.config.sections import LIVE, applies_of
from bot.config.strict_yaml import Place, YamlText

NOT_SHOWN: Final = "(not shown)"
NOTHING: Final = "-"

_SECRET_WORDS: Final = ("secret", "token", "password", "credential", "webhook")
_REFERENCES: Final = ("_file", "_env")
"""Ends of keys that say where a secret is, and hold none."""


class KeyRow(msgspec.Struct, frozen=True):
    """value: as in YAML, `-` for nothing. line: None for a default. applies: live or restart.
    is_secret: not for logs."""

    key: str
    value: str
    line: int | None
    applies: str
    is_secret: bool = False

    @property
    def shown_value(self) -> str:
        return NOT_SHOWN if self.is_secret else self.value


class Change(msgspec.Struct, frozen=True):
    """A key whose value changed. line: in the newer file, None where no file has it."""

    key: str
    old: str
    new: str
    line: int | None
    applies: str

    @property
    def is_live(self) -> bool:
        """True if a running bot takes it over."""
        return self.applies == LIVE

    def __str__(self) -> str:
        return f"{self.key}: {self.old} -> {self.new}"


_LIMITS: Final = ("risk.", "breakers.")
_TENFOLD: Final = 10


def lifts_a_limit(change: Change) -> bool:
    """True if a limit grows to more than ten times its value, or to 0, which lifts it: it may be a
    slip of a digit."""
    if not change.key.startswith(_LIMITS) or not (change.old.isdigit() and change.new.isdigit()):
        return False
    old, new = int(change.old), int(change.new)
    return old > 0 and (new == 0 or new > _TENFOLD * old)


def rows_of(file: BaseModel, source: YamlText, params: Mapping[Place, Any]) -> tuple[KeyRow, ...]:
    """Every key of a checked file, in the order of the schema. params: the checked parameters of
    each strategy, by place."""
    return tuple(_rows(file, (), source, params))


def _rows(
    part: BaseModel, place: Place, source: YamlText, params: Mapping[Place, Any]
) -> Iterator[KeyRow]:
    for name, field in type(part).model_fields.items():
        at = (*place, name)
        value = getattr(part, name)
        applies = applies_of(type(part), field)
        if at in params:
            told = {f"params.{key}": each for key, each in params[at].model_dump().items()}
            for key, each in told.items():
                yield _row((*place, *key.split(".", 1)), each, source, applies)
        elif isinstance(value, BaseModel):
            yield from _rows(value, at, source, params)
        elif isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            for number, each in enumerate(value):
                yield from _rows(each, (*at, number), source, params)
        else:
            yield _row(at, value, source, applies)


def _row(place: Place, value: object, source: YamlText, applies: str) -> KeyRow:
    key = ".".join(str(step) for step in place)
    line = source.lines.get(place)
    return KeyRow(key, written(value), line, applies, _is_secret(str(place[-1])))


def _is_secret(name: str) -> bool:
    names_one = any(word in name for word in _SECRET_WORDS) or name.endswith("_key")
    return names_one and not name.endswith(_REFERENCES)


def written(value: object) -> str:
    """A value as in YAML; `-` for nothing."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (tuple, list, dict)):
        return json.dumps(value, default=str)
    return str(value)


def digest_of(rows: Sequence[KeyRow]) -> str:
    """Sixteen hex digits of the effective content."""
    content = json.dumps([(row.key, row.value) for row in rows])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def changes(old: Sequence[KeyRow], new: Sequence[KeyRow]) -> tuple[Change, ...]:
    """The keys whose values differ, in the order of the newer file; removed ones last. Secret
    values are not shown."""
    before = {row.key: row for row in old}
    now = {row.key: row for row in new}
    found: list[Change] = []
    for row in (*new, *(row for row in old if row.key not in now)):
        was, is_ = before.get(row.key), now.get(row.key)
        if _value(was) != _value(is_):
            line = None if is_ is None else is_.line
            found.append(Change(row.key, _told(was), _told(is_), line, row.applies))
    return tuple(found)


def _value(row: KeyRow | None) -> str:
    return NOTHING if row is None else row.value


def _told(row: KeyRow | None) -> str:
    """A value for a log; of a key not even its place."""
    if row is None:
        return NOTHING
    return NOT_SHOWN if "key" in row.key.rpartition(".")[2] else row.shown_value
