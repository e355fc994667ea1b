"""From plain text to a checked pydantic model, with every fault and its line; nothing is coerced:
12.50 is no number of cents, `no` is no truth, 0123 is no number."""

import difflib
import enum
import operator
import re
import types
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin

import pydantic
from pydantic.fields import FieldInfo

from bot.config.strict_yaml import Fault, Place, Plain, YamlText

M = TypeVar("M", bound=pydantic.BaseModel)

_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)
_DECIMAL: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?", re.ASCII)
_SECRET_WORDS: Final = ("key", "secret", "token", "password", "credential")
_SHOWN_MAX: Final = 60
_PREFIX: Final = "Value error, "
_UNIONS: Final = (Union, types.UnionType)
_LISTS: Final = (tuple, list, Sequence)


class _Bad(Exception):
    """A value that does not fit; the text lists the accepted values."""


class _Reading:
    def __init__(self, source: YamlText) -> None:
        self.source = source
        self.faults: list[Fault] = []

    def fault(self, place: Place, text: str) -> None:
        name = ".".join(str(step) for step in place)
        self.faults.append(Fault(self.source.line_of(place), f"{name}: {text}"))


def typed(
    model: type[M], content: Plain, place: Place, source: YamlText
) -> tuple[M | None, list[Fault]]:
    """The model that `content` describes, or None, and all faults.

    place: of the content in the file. A fault shows the value, unless the key's name says that it
    may be a secret.
    """
    reading = _Reading(source)
    fields = _fields(reading, model, content, place)
    if reading.faults or fields is None:
        return None, reading.faults
    try:
        return model.model_validate(fields), []
    except pydantic.ValidationError as refused:
        for error in refused.errors(include_url=False, include_input=False):
            at = (*place, *(step for step in error["loc"] if isinstance(step, str | int)))
            reading.fault(at, error["msg"].removeprefix(_PREFIX))
        return None, reading.faults


def refusal_text(refused: pydantic.ValidationError) -> str:
    """Why values that are in no file were refused: one line, each with its place."""
    faults = []
    for error in refused.errors(include_url=False, include_input=False):
        place, text = error["loc"], error["msg"].removeprefix(_PREFIX)
        faults.append(f"{'.'.join(map(str, place))}: {text}" if place else text)
    return "; ".join(faults)


def _fields(
    reading: _Reading, model: type[pydantic.BaseModel], content: Plain, place: Place
) -> dict[str, Any] | None:
    """The fields of a model, each in its type; None when there is no mapping."""
    if not isinstance(content, dict):
        found = "a list" if isinstance(content, list) else _shown(place, content)
        reading.fault(place, f"{found}; accepted: {', '.join(model.model_fields)}, indented")
        return None
    known = model.model_fields
    for key in content:
        if key not in known:
            reading.fault((*place, key), _unknown(key, list(known)))
    fields: dict[str, Any] = {}
    for key, field in known.items():
        if key not in content:
            if field.is_required():
                reading.fault((*place, key), f"missing; accepted: {accepted(field)}")
            continue
        at = (*place, key)
        try:
            fields[key] = _value(reading, field.annotation, field, content[key], at)
        except _Bad as bad:
            text = content[key]
            takes = str(bad) or accepted(field)
            reading.fault(at, f"{_found(at, text)}; accepted: {takes}{_hint(field, key, text)}")
    return fields


def _found(place: Place, text: Plain) -> str:
    return _shown(place, text) if isinstance(text, str) else "a list or block"


def _unknown(key: str, known: list[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    meant = f"; did you mean {near[0]}?" if near else ""
    return f"no such key{meant} (known here: {', '.join(known)})"


def _value(reading: _Reading, kind: Any, field: FieldInfo, text: Plain, place: Place) -> Any:
    """`text` as a value of `kind`. Raises _Bad when it is none or out of range."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _value(reading, get_args(kind)[0], field, text, place)
    if origin in _UNIONS:
        return _either(reading, kind, field, text, place)
    if origin in _LISTS:
        inner = get_args(kind)
        if not isinstance(text, list):
            raise _Bad(accepted(field) if _is_enum(inner[0]) else "a list")
        if origin is tuple and inner[-1] is not Ellipsis:  # each place has a type of its own
            if len(text) != len(inner):
                raise _Bad(f"a list of {len(inner)}")
            kinds = inner
        else:
            kinds = inner[:1] * len(text)
        return tuple(
            _entry(reading, each_kind, field, each, (*place, number))
            for number, (each_kind, each) in enumerate(zip(kinds, text, strict=True))
        )
    if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
        return _fields(reading, kind, text, place)
    if kind is dict or origin is dict:
        if not isinstance(text, dict):
            raise _Bad("keys and values, indented")
        return text
    if not isinstance(text, str):
        raise _Bad()
    return _scalar(kind, origin, field, text)


def _either(reading: _Reading, kind: Any, field: FieldInfo, text: Plain, place: Place) -> Any:
    """`text` as the first of several types that takes it. Raises as `_value` does."""
    options = _options(kind)
    for option in options[:-1]:
        try:
            return _value(reading, option, field, text, place)
        except _Bad:
            continue
    try:
        return _value(reading, options[-1], field, text, place)
    except _Bad:
        if len(options) == 1:
            raise
        raise _Bad() from None


def _entry(reading: _Reading, kind: Any, field: FieldInfo, text: Plain, place: Place) -> Any:
    """One entry of a list; None, with the fault noted, when it is none."""
    try:
        return _value(reading, kind, field, text, place)
    except _Bad as bad:
        takes = str(bad) or _takes(kind) or "text"
        reading.fault(place, f"{_found(place, text)}; accepted: {takes}")
        return None


def _scalar(kind: Any, origin: Any, field: FieldInfo, text: str) -> Any:
    if kind is bool:
        if text not in ("true", "false"):
            raise _Bad()
        return text == "true"
    if kind in (int, float):
        if (_WHOLE if kind is int else _DECIMAL).fullmatch(text) is None:
            raise _Bad()
        return _in_range(kind(text), field)
    if origin is Literal and text not in get_args(kind):
        raise _Bad()
    if _is_enum(kind):
        if text not in [member.value for member in kind]:
            raise _Bad()
        return kind(text)
    return text


_RULES: Final = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def rules(field: FieldInfo) -> list[tuple[str, Any]]:
    """The bounds of a field, such as ("ge", 1)."""
    return [
        (name, getattr(rule, name))
        for rule in field.metadata
        for name in _RULES
        if getattr(rule, name, None) is not None
    ]


def _in_range(value: Any, field: FieldInfo) -> Any:
    for name, bound in rules(field):
        if not _HOLDS[name](value, bound):
            raise _Bad()
    return value


_HOLDS: Final = {"ge": operator.ge, "gt": operator.gt, "le": operator.le, "lt": operator.lt}


def accepted(field: FieldInfo) -> str:
    words = ", ".join(f"{_RULES[name]} {bound}" for name, bound in rules(field))
    return _takes(field.annotation, words) or field.description or "text"


def _takes(kind: Any, bounds: str = "") -> str:
    """What a type takes, in words; empty where any text does. bounds: those of numbers."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _takes(get_args(kind)[0], bounds)
    if origin in _UNIONS:
        return " or ".join(filter(None, (_takes(option, bounds) for option in _options(kind))))
    if kind is bool:
        return "true or false"
    if kind in (int, float):
        number = "a whole number" if kind is int else "a decimal number"
        return f"{number}, {bounds}" if bounds else number
    if origin is Literal:
        return " or ".join(str(option) for option in get_args(kind))
    if _is_enum(kind):
        return _words_of(kind)
    if origin in _LISTS and _is_enum(get_args(kind)[0]):
        return f"a list of {_words_of(get_args(kind)[0])}"
    if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
        return f"{', '.join(kind.model_fields)}, indented"
    return ""


def _options(kind: Any) -> list[Any]:
    """The types of a union, but for none."""
    return [option for option in get_args(kind) if option is not types.NoneType]


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _words_of(kind: Any) -> str:
    return " or ".join(str(member.value) for member in kind)


def _hint(field: FieldInfo, key: str, text: Plain) -> str:
    if key.endswith("_cents") and isinstance(text, str) and ("." in text or "$" in text):
        return "; it looks like dollars: write cents"
    if isinstance(text, str) and text.lower() in ("no", "yes", "on", "off"):
        return "; yes, no, on and off are plain words here" if field.annotation is bool else ""
    return ""


def _shown(place: Place, text: str) -> str:
    """A value for a fault's text; masked where it may be a secret."""
    names = [str(step).lower() for step in place[-1:]]
    if any(word in name for word in _SECRET_WORDS for name in names):
        return "a value that is not shown"
    cut = text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "…"
    return repr(cut) if text else "nothing"
