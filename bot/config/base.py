"""What every section of the configuration file is: frozen, unknown keys refused, and told when it
takes effect.

A key is live when a running bot takes its change over, and a restart key when only the next start
does. A section says so for its keys, and a key may differ from its section. Restart is what holds
where nothing is said.
"""

from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

LIVE: Final = "live"
RESTART: Final = "restart"


class Part(BaseModel):
    """A section whose keys take a restart."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    applies: ClassVar[str] = RESTART


class LivePart(Part):
    """A section whose keys are live."""

    applies: ClassVar[str] = LIVE


ON_RESTART: Final[JsonDict] = {"applies": RESTART}
"""`json_schema_extra` of a key that takes a restart in a live section."""


def applies_of(model: type[BaseModel], field: FieldInfo) -> str:
    """When a change of a key takes effect: LIVE or RESTART."""
    extra = field.json_schema_extra
    own = extra.get("applies") if isinstance(extra, dict) else None
    return str(own or getattr(model, "applies", RESTART))
