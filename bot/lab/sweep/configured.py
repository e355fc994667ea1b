"""A configuration with some of its keys set otherwise: checked as the file is, then what is lived.

The file's text is changed, not what was made of it: whatever the file would be refused for, a
trial is refused for, and defaults follow as they would.
"""

import copy
from pathlib import Path
from typing import Final

import msgspec

from bot.config import BotConfig, ConfigFault, draft_of, finish, read_draft
from bot.core.settings import CurfewSettings, TraderSettings
from bot.io.settings.yamltext import Plain, YamlText
from bot.lab.evaluate import life
from bot.lab.evaluate.worlds import World
from bot.lab.sim.venue.simulated import SERIES
from bot.lab.sweep.setup import Setup
from bot.lab.sweep.space import Dimension, Settings, SpaceFault

_SHOWN_MAX: Final = 300


class TrialFault(Exception):
    """Settings that the configuration cannot take; the text says which and what is accepted."""


class Configured:
    """A configuration file, and what becomes of it under other settings.

    Raises ConfigFault when the file as it stands is at fault.
    """

    def __init__(self, path: Path, world: World | None) -> None:
        """world: where it is to be lived; None: on tapes."""
        self._world = world
        draft = read_draft(path)
        self._source: YamlText = draft.source
        self.base = self._setup(finish(draft))

    def at(self, settings: Settings) -> Setup:
        """What is lived with these settings. Another strategy than the file names takes nothing of
        the file's parameters. Raises TrialFault."""
        content = copy.deepcopy(self._source.content)
        strategy, name = content.get("strategy"), settings.get("strategy.name")
        if name is not None and isinstance(strategy, dict) and strategy.get("name") != name:
            strategy["params"] = {}  # the file's are another strategy's
        for key, value in settings.items():
            _put(content, key, value)
        source = msgspec.structs.replace(self._source, content=content)
        try:
            return self._setup(finish(draft_of(source)))
        except ConfigFault as fault:
            # What is wrong is not what the file says at that line.
            lines = [line.removeprefix(f"{source.path}:") for line in fault.faults]
            told = "; ".join(line.partition(": ")[2] for line in lines)
            raise TrialFault(told[:_SHOWN_MAX]) from None

    def _setup(self, config: BotConfig) -> Setup:
        trader = config.trader if self._world is None else in_world(config.trader, self._world)
        return Setup(_plain(trader), config.choice, str(self._source.path.parent.absolute()))

    def probe(self, dimensions: tuple[Dimension, ...], *, is_lived: bool) -> None:
        """Try each key by itself. Raises SpaceFault for a key of which no value is accepted, or,
        where lives are lived, of which none changes anything in them."""
        chosen = any(each.key == "strategy.name" for each in dimensions)
        for each in dimensions:
            if chosen and each.key.startswith("strategy.params."):
                continue  # whether a strategy has it hangs on which one it is
            found, told = [], ""
            for value in each.ends:
                try:
                    found.append(self.at({each.key: value}).digest)
                except TrialFault as fault:
                    told = told or str(fault)
            if not found:
                raise SpaceFault(f"--over {each.key}: no value is accepted: {told}")
            # One value alone may be the one that the file has.
            if is_lived and len(found) > 1 and set(found) == {self.base.digest}:
                where = "in worlds" if self._world is not None else "on tapes"
                raise SpaceFault(f"--over {each.key}: nothing that is lived {where} hangs on it")


def in_world(settings: TraderSettings, world: World) -> TraderSettings:
    """A configuration's settings in a world: its own limits, pace, budget, news and breakers.

    A world's clock goes in steps: an event is decided once a step at most, and the waits after
    which the trader mistrusts what it has are the world's (`bot.lab.evaluate.life`). A life is
    drawn out over the whole of its event: there is no curfew.
    """
    theirs = life.settings_for(world, None)
    pace = msgspec.structs.replace(
        settings.pace,
        decide_ns=max(settings.pace.decide_ns, theirs.pace.decide_ns),
        dwell_ns=max(settings.pace.dwell_ns, theirs.pace.dwell_ns),
    )
    return msgspec.structs.replace(
        theirs,
        risk=settings.risk,
        pace=pace,
        budget=settings.budget,
        news=settings.news,
        breakers=settings.breakers,
        curfew=CurfewSettings(halve_ns=0, reduce_ns=0),
    )


def _plain(settings: TraderSettings) -> TraderSettings:
    """The settings without what a lone account on a tape or in a world takes no notice of."""
    fresh = TraderSettings(series_ticker=SERIES, risk=settings.risk)
    return msgspec.structs.replace(
        settings, series_ticker=SERIES, start=fresh.start, keys=fresh.keys, beside=()
    )


def _put(content: dict[str, Plain], key: str, value: str) -> None:
    """Set a dotted key of a file's text. Raises TrialFault where a value stands in its way."""
    *blocks, last = key.split(".")
    for name in blocks:
        inner = content.setdefault(name, {})
        if not isinstance(inner, dict):
            raise TrialFault(f"{key}: {name} is no block of keys")
        content = inner
    stands = content.get(last)
    if isinstance(stands, list):
        raise TrialFault(f"{key}: a list, and lists are not swept over")
    if isinstance(stands, dict):
        raise TrialFault(f"{key}: a block or a list; name a key in it")
    content[last] = value
