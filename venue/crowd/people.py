"""The names of the crowd's account holders. A dot keeps them apart from every seeded user."""

import re
from typing import Final

from venue.crowd.settings import CrowdSettings
from venue.wire.names import UserId

TAPE_MAKER: Final = UserId("crowd.tape.maker")
TAPE_TAKER: Final = UserId("crowd.tape.taker")

_ROLES: Final = ("taker", "informed", "maker")
_SEEDED: Final = re.compile(rf"crowd\.({'|'.join(_ROLES)})\.[0-9]+", re.ASCII)


def takers(settings: CrowdSettings) -> list[UserId]:
    return _named("taker", settings.takers)


def informed(settings: CrowdSettings) -> list[UserId]:
    return _named("informed", settings.informed)


def makers(settings: CrowdSettings) -> list[UserId]:
    return _named("maker", settings.makers)


def accounts(settings: CrowdSettings) -> list[UserId]:
    return [*takers(settings), *informed(settings), *makers(settings)]


def is_of_a_crowd(user_id: UserId) -> bool:
    """True if an account is one that a crowd trades with, however many it had."""
    return user_id in (TAPE_MAKER, TAPE_TAKER) or _SEEDED.fullmatch(user_id) is not None


def _named(role: str, count: int) -> list[UserId]:
    return [UserId(f"crowd.{role}.{number}") for number in range(1, count + 1)]
