"""What a strategy can be told: its parameters with default, range and unit, from its own schema."""

from typing import Any, Final

import msgspec
import pydantic
from pydantic.fields import FieldInfo

from bot.strategy.api import Strategy

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
"""The last word of a name, and what it is counted in."""

_BOUNDS: Final = (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"))


class Parameter(msgspec.Struct, frozen=True):
    """One parameter as a person sets it. default: as text; None when it must be given. accepted:
    type and range. unit: empty where it has none."""

    name: str
    default: str | None
    accepted: str
    unit: str
    about: str

    @property
    def is_required(self) -> bool:
        """Whether it has no default."""
        return self.default is None


def parameters_of(strategy: type[Strategy]) -> list[Parameter]:
    """Every parameter of a strategy, in the order of its schema."""
    return [_parameter(name, field) for name, field in strategy.Params.model_fields.items()]


def _parameter(name: str, field: FieldInfo) -> Parameter:
    given = None if field.is_required() else _text(field.get_default(call_default_factory=True))
    return Parameter(name, given, _accepted(field), _unit(name), field.description or "")


def _text(value: object) -> str:
    """A value as it is written in YAML."""
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
    bounds = [
        f"{sign} {getattr(rule, kind)}"
        for kind, sign in _BOUNDS
        for rule in field.metadata
        if getattr(rule, kind, None) is not None
    ]
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
