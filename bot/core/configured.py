"""A configuration as the trader is told it, and its changes: plain values, no secret in any."""

import msgspec

from bot.core.settings import TraderSettings


class StrategyChoice(msgspec.Struct, frozen=True):
    """A strategy by text alone, so that it can be made again: as the configuration names it, and
    its checked parameters, the defaults among them, as one JSON object."""

    name: str
    params_json: str


class Configuration(msgspec.Struct, frozen=True):
    """All that the trader is told by a configuration file. digest: hex that is another one for
    every other content; no secret is in any of it."""

    settings: TraderSettings
    strategy: StrategyChoice
    digest: str


class Reconfigured(msgspec.Struct, frozen=True, tag=True):
    """Another configuration, checked whole: in force from the next decision on, all of it.

    number: counts those that were told in this run, from 1. changed: the keys that are other than
    in the file before it, as a person reads them.
    """

    number: int
    configured: Configuration
    changed: tuple[str, ...]


class ConfigRefused(msgspec.Struct, frozen=True, tag=True):
    """The configuration file was changed, and nothing of it holds; what was in force stays so.

    why: every fault with its file, line and key, or the keys that only a restart can change.
    """

    why: str
