"""The `news` and `curfew` parts of the configuration file: when less is quoted, or nothing.

Source: docs/operations.md, The trader's numbers.
"""

from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from bot.core.settings import CurfewSettings, NewsSettings
from venue.wire.instant import NS_PER_MS
from venue.wire.limits import QTY_MAX

_NEWS: Final = NewsSettings()
_CURFEW: Final = CurfewSettings()
_PULL_MS_MAX: Final = 3_600_000
_MONTH_MS: Final = 30 * 86_400_000

UntilEnd = Annotated[int, Field(ge=0, le=_MONTH_MS)]


class News(BaseModel):
    """When news pulls all rungs of an event; a 0 switches its kind off."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    jump_cents: int = Field(_NEWS.jump_cents, ge=0, le=98)
    jump_ms: int = Field(_NEWS.jump_ns // NS_PER_MS, ge=1, le=_PULL_MS_MAX)
    print_qty: int = Field(_NEWS.print_qty, ge=0, le=QTY_MAX)
    print_touch_pct: int = Field(_NEWS.print_touch_pct, ge=1, le=100)
    pull_ms: int = Field(_NEWS.pull_ns // NS_PER_MS, ge=1, le=_PULL_MS_MAX)

    def settings(self) -> NewsSettings:
        """The trader's numbers, milliseconds turned into nanoseconds."""
        return NewsSettings(
            jump_cents=self.jump_cents,
            jump_ns=self.jump_ms * NS_PER_MS,
            print_qty=self.print_qty,
            print_touch_pct=self.print_touch_pct,
            pull_ns=self.pull_ms * NS_PER_MS,
        )


class Curfew(BaseModel):
    """What is left to do near an event's end; a 0 switches it off."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    halve_ms: UntilEnd = _CURFEW.halve_ns // NS_PER_MS
    reduce_ms: UntilEnd = _CURFEW.reduce_ns // NS_PER_MS

    def settings(self) -> CurfewSettings:
        """The trader's numbers, milliseconds turned into nanoseconds."""
        return CurfewSettings(
            halve_ns=self.halve_ms * NS_PER_MS, reduce_ns=self.reduce_ms * NS_PER_MS
        )
