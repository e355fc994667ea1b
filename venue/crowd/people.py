"""The names of the crowd's account holders. A dot keeps them apart from every seeded user."""

import re
from typing import Final

from venue.crowd.settings import CrowdSettings
from venue.wire.names import UserId

TAPE_MAKER: Final = UserId("crowd.tape.maker")
TAPE_TAKER: Final = UserId("crowd.tape.taker")

_ROLES: Final = ("taker", "informed", "maker")
_SEEDED: Final = re.compile(rf"crowd\.({'|'.join(_ROLES)})\.[0-9]+", re.ASCII)


def named(role: str, count: int) -> list[UserId]:
    """role: taker, informed or maker."""
    return [UserId(f"crowd.{role}.{number}") for number in range(1, count + 1)]


def accounts(settings: CrowdSettings) -> list[UserId]:
    counts = (settings.takers, settings.informed, settings.makers)
    return [user for role, count in zip(_ROLES, counts, strict=True) for user in named(role, count)]


def is_of_a_crowd(user_id: UserId) -> bool:
    return user_id in (TAPE_MAKER, TAPE_TAKER) or _SEEDED.fullmatch(user_id) is not None
