"""The `news` and `curfew` parts of the configuration file: when less is quoted, or nothing."""

from typing import Annotated, Final

from pydantic import Field

from bot.config.base import LivePart
from bot.core.settings import CurfewSettings, NewsSettings
from venue.wire.instant import NS_PER_MS
from venue.wire.limits import QTY_MAX

_NEWS: Final = NewsSettings()
_CURFEW: Final = CurfewSettings()
_PULL_MS_MAX: Final = 3_600_000
_MONTH_MS: Final = 30 * 86_400_000

UntilEnd = Annotated[int, Field(ge=0, le=_MONTH_MS)]


class News(LivePart):
    """When news pulls all rungs of an event; a 0 switches its kind off."""

    jump_cents: int = Field(
        _NEWS.jump_cents,
        ge=0,
        le=98,
        description="both sides of the others' touch of a rung moved the same way, by so much on "
        "average within jump_ms: all rungs of the event are pulled; 0: never",
    )
    jump_ms: int = Field(
        _NEWS.jump_ns // NS_PER_MS, ge=1, le=_PULL_MS_MAX, description="see jump_cents"
    )
    print_qty: int = Field(
        _NEWS.print_qty,
        ge=0,
        le=QTY_MAX,
        description="shares of one trade that clear the touch of a rung: all rungs of the event "
        "are pulled; 0: never",
    )
    print_touch_pct: int = Field(
        _NEWS.print_touch_pct, ge=1, le=100, description="part of the touch that counts as cleared"
    )
    pull_ms: int = Field(
        _NEWS.pull_ns // NS_PER_MS,
        ge=1,
        le=_PULL_MS_MAX,
        description="nothing is quoted on the event for so long after the last news",
    )

    def settings(self) -> NewsSettings:
        """The trader's numbers, milliseconds turned into nanoseconds."""
        return NewsSettings(
            jump_cents=self.jump_cents,
            jump_ns=self.jump_ms * NS_PER_MS,
            print_qty=self.print_qty,
            print_touch_pct=self.print_touch_pct,
            pull_ns=self.pull_ms * NS_PER_MS,
        )


class Curfew(LivePart):
    """What is left to do near an event's end; a 0 switches it off."""

    halve_ms: UntilEnd = Field(
        _CURFEW.halve_ns // NS_PER_MS,
        description="sizes are halved from so long before an event resolves on; 0: never",
    )
    reduce_ms: UntilEnd = Field(
        _CURFEW.reduce_ns // NS_PER_MS,
        description="only what reduces a position is quoted from so long before it resolves on; 0: "
        "at the very end",
    )
    stop_ms: UntilEnd = Field(
        _CURFEW.stop_ns // NS_PER_MS,
        description="nothing is quoted from so long before an event resolves on; 0: never",
    )

    def settings(self) -> CurfewSettings:
        """The trader's numbers, milliseconds turned into nanoseconds."""
        return CurfewSettings(
            halve_ns=self.halve_ms * NS_PER_MS,
            reduce_ns=self.reduce_ms * NS_PER_MS,
            stop_ns=self.stop_ms * NS_PER_MS,
        )
