"""Keys that earlier versions of the program had, each with why it is gone.

A file that still has one is refused like one with an unknown key, but with this sentence. A key
is written as in a fault, with its section ("trust.emptied_ms"); a whole section by its name.
Entries of a list have no number ("notices.kinds"). The sentence says what the bot does now, and
what to write instead where there is anything.
"""

from typing import Final

from bot.io.settings.strict_yaml import Place

RETIRED_KEYS: Final[dict[str, str]] = {}


def retired_reason(place: Place) -> str | None:
    """Why the key at a place is gone; None for a key that never was."""
    return RETIRED_KEYS.get(".".join(step for step in place if isinstance(step, str)))
