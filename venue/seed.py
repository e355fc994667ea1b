"""The seed of a venue: what a YAML file says it opens with. Every fault is named by file, line,
key, value and the accepted values, all at once, before anything starts."""

import itertools
import re
import types
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from venue.derived import BINARY_LABEL, NAME_ACCEPTED, NAME_PATTERN
from venue.seedfile import Place, SeedFault, SeedText, read_seed_text
from venue.wire.limits import ACTIVE_KEYS_PER_USER_MAX
from venue.wire.model import EventStatus, VenueState
from venue.wire.money import FeeRate, Outcome
from venue.wire.routes import KeyScope, TokenScope

# The patterns of pydantic are those of Rust: `$` matches at the very end only.
_WORDS: Final = re.compile(NAME_PATTERN)
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_LIFETIME_S_MAX: Final = 100 * 366 * 86_400
"""A hundred years: its end is still an instant of 63 bits in nanoseconds, as the log keeps it."""


def _whole_number(value: object) -> object:
    if isinstance(value, str) and _WHOLE.fullmatch(value) is None:
        raise ValueError("a whole number, digits only")
    return value


def _truth(value: object) -> object:
    if value not in ("true", "false"):
        raise ValueError("true or false")
    return value == "true"


def _words(value: object) -> object:
    if isinstance(value, str) and _WORDS.fullmatch(value) is None:
        raise ValueError(NAME_ACCEPTED)
    return value


def _fee_rate(value: object) -> object:
    try:
        FeeRate.parse(str(value))
    except ValueError:
        raise ValueError("a decimal fraction of 0 to 1, such as 0.0175") from None
    return value


Whole = Annotated[int, BeforeValidator(_whole_number)]
Truth = Annotated[bool, BeforeValidator(_truth)]
FeeRateText = Annotated[str, BeforeValidator(_fee_rate)]
Handle = Annotated[str, Field(pattern=r"^[A-Z0-9](?:[A-Z0-9.-]*[A-Z0-9])?$", max_length=40)]
StrikeLabel = Annotated[str, Field(pattern=r"^[A-Z0-9](?:[A-Z0-9.]*[A-Z0-9])?$", max_length=20)]
DecimalText = Annotated[str, Field(pattern=r"^[0-9]{1,15}(?:\.[0-9]{1,8})?$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=40)]
Words = Annotated[str, BeforeValidator(_words)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RungSeed(_Part):
    """One rung of a ladder. `label` ends its ticker; `winner` makes it open resolved."""

    label: StrikeLabel
    strike_value: DecimalText
    halted: Truth = False
    winner: Outcome | None = None


class EventSeed(_Part):
    """One event: a ladder of rungs with ascending strikes, or a single binary market. quarter: how
    many after the one under way. `{quarter}` in the title becomes its name, such as Q4 2026."""

    quarter: Annotated[Whole, Field(ge=0, le=40)]
    title: Words
    sub_title: Words | None = None
    resolution_source: Words | None = None
    status: Literal[EventStatus.UNOPENED, EventStatus.OPEN, EventStatus.CLOSED] = EventStatus.OPEN
    strike_unit: Words | None = None
    rungs: tuple[RungSeed, ...] = ()
    binary: Truth = False

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        if self.binary == bool(self.rungs):
            raise ValueError("either rungs or binary: true")
        if self.rungs and self.strike_unit is None:
            raise ValueError("a strike_unit with the rungs")
        if any(rung.label == BINARY_LABEL for rung in self.rungs):
            raise ValueError(f"no rung labelled {BINARY_LABEL}, as a binary market is")
        strikes = [Decimal(rung.strike_value) for rung in self.rungs]
        if any(later <= earlier for earlier, later in itertools.pairwise(strikes)):
            raise ValueError("rungs in ascending order of strike_value, each once")
        return self


class SeriesSeed(_Part):
    ticker: Handle
    category: Words
    events: Annotated[tuple[EventSeed, ...], Field(min_length=1)]


class CompanySeed(_Part):
    """One company; `archived` takes its handles out of the directory at once."""

    name: Words
    symbol: Handle
    archived: Truth = False
    series: Annotated[tuple[SeriesSeed, ...], Field(min_length=1)]


class _Credential(_Part):
    name: Name
    file: Path | None = None
    env: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    generate: Truth = False

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = (self.file is not None) + (self.env is not None) + self.generate
        if given != 1:
            raise ValueError("exactly one of file, env and generate: true")
        return self


class KeySeed(_Credential):
    scopes: tuple[KeyScope, ...]
    revoked: Truth = False


class TokenSeed(_Credential):
    """One bearer token of an application, for `lifetime_s` seconds after the start."""

    application: Name
    scopes: tuple[TokenScope, ...]
    lifetime_s: Annotated[Whole, Field(ge=0, le=_LIFETIME_S_MAX)] = 86_400


class UserSeed(_Part):
    """One account holder. `usable: false` makes its keys answer api_key_misconfigured."""

    name: Name
    deposit_cents: Annotated[Whole, Field(ge=0)] = 0
    usable: Truth = True
    keys: Annotated[tuple[KeySeed, ...], Field(max_length=ACTIVE_KEYS_PER_USER_MAX)] = ()
    tokens: tuple[TokenSeed, ...] = ()


class FeeSeed(_Part):
    maker_rate: FeeRateText
    taker_rate: FeeRateText


class VenueSeed(_Part):
    """projection_lag_ms: how far reads and the channel lag behind the engine. feed_flush_ms: a
    market's book goes out at most once in this time. directory_refresh_s: the channel finds a new
    ticker or symbol within this time."""

    state: VenueState = VenueState.OPEN
    projection_lag_ms: Annotated[Whole, Field(ge=0, le=60_000)] = 5
    feed_flush_ms: Annotated[Whole, Field(ge=1, le=1_000)] = 10
    directory_refresh_s: Annotated[Whole, Field(ge=1, le=60)] = 60


class Seed(_Part):
    """A whole seed file. `crowd` is kept as it was written; the crowd knows what it means."""

    venue: VenueSeed = VenueSeed()
    fees: FeeSeed
    companies: tuple[CompanySeed, ...] = ()
    users: tuple[UserSeed, ...] = ()
    crowd: dict[str, Any] = Field(default_factory=dict)

    @field_validator("companies")
    @classmethod
    def _tickers_once(cls, companies: tuple[CompanySeed, ...]) -> tuple[CompanySeed, ...]:
        series = [series.ticker for company in companies for series in company.series]
        _refuse_twice("series ticker", series)
        _refuse_twice("symbol", [company.symbol for company in companies])
        _refuse_twice("company name", [company.name for company in companies])
        for owner in (series for company in companies for series in company.series):
            _refuse_twice(
                f"event of {owner.ticker} in one quarter",
                [str(event.quarter) for event in owner.events],
            )
            for event in owner.events:
                _refuse_twice(f"rung of {owner.ticker}", [rung.label for rung in event.rungs])
        for ticker in series:
            if any(other.startswith(f"{ticker}-") for other in series):
                # Otherwise one series' event could carry the ticker of another's market.
                raise ValueError(f"no series ticker that begins with another one: {ticker}")
        return companies

    @field_validator("users")
    @classmethod
    def _names_once(cls, users: tuple[UserSeed, ...]) -> tuple[UserSeed, ...]:
        _refuse_twice("user", [user.name for user in users])
        credentials = [made.name for user in users for made in (*user.keys, *user.tokens)]
        _refuse_twice("key or token", credentials)
        return users


def _refuse_twice(kind: str, names: list[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ValueError(f"each {kind} once; given twice: {', '.join(twice)}")


NOTHING: Final = Seed(fees=FeeSeed(maker_rate="0", taker_rate="0"))
"""No listing that could have these fees, nobody, and the defaults of the venue."""

Model = TypeVar("Model", bound=BaseModel)


def read_seed(path: Path) -> tuple[Seed, SeedText]:
    """The checked seed of a file, and its text for later faults. Raises SeedFault with all."""
    text = read_seed_text(path)
    return validated(Seed, text.content, (), text), text


def validated(kind: type[Model], content: object, place: Place, text: SeedText) -> Model:
    """`content`, found at `place` of the file, as a `kind`. Raises SeedFault with all."""
    try:
        return kind.model_validate(content)
    except ValidationError as fault:
        errors = [dict(error) for error in fault.errors(include_url=False)]
        faults = [
            _fault_text(kind, error, place, text) for error in errors if not _follows(error, errors)
        ]
        raise SeedFault(faults) from None


def _follows(error: dict[str, Any], errors: list[dict[str, Any]]) -> bool:
    """True if a list only seems too short because something in it is at fault."""
    loc = error["loc"]
    return error["type"] == "too_short" and any(
        len(other["loc"]) > len(loc) and other["loc"][: len(loc)] == loc for other in errors
    )


def _fault_text(kind: type[BaseModel], error: dict[str, Any], place: Place, text: SeedText) -> str:
    inner: Place = tuple(error["loc"])
    if error["type"] == "extra_forbidden":
        # The value is not repeated: under an unknown key it may be a secret.
        known = ", ".join(_keys_at(kind, inner[:-1])) or "no such key"
        return text.fault((*place, *inner), "unknown key", known)
    accepted = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    if error["type"] == "missing":
        return text.fault((*place, *inner), "missing", "a value for it")
    value = error["input"]
    found = f"{value!r:.60}" if isinstance(value, str) else "as written"
    return text.fault((*place, *inner), found, accepted)


def _keys_at(kind: object, inner: Place) -> list[str]:
    for step in inner:
        if isinstance(step, int):
            kind = get_args(kind)[0]
        elif isinstance(kind, type) and issubclass(kind, BaseModel) and step in kind.model_fields:
            kind = _bare(kind.model_fields[step].annotation)
    kind = _bare(kind)
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def _bare(kind: object) -> object:
    while get_origin(kind) in (Annotated, Union, types.UnionType):
        kind = get_args(kind)[0]
    return kind
