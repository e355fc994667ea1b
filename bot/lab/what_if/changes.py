"""Another configuration for a journalled run: keys to set, or a file, checked as YAML is."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, structs

from bot.config.bot_config import ConfigFault, draft_of, finish, read_draft
from bot.config.diff import Change, changes
from bot.config.overrides import (
    CALENDAR,
    SECTIONS,
    SETTABLE,
    STRATEGY,
    as_yaml,
    parsed_overrides,
    with_overrides,
)
from bot.config.sections import SETTINGS_OF, key_of_field
from bot.config.strict_yaml import Place, Plain, YamlText
from bot.core import messages as m
from bot.core.settings import NS_PER_HOUR
from venue.wire import instant
from venue.wire.instant import NS_PER_MS

_NO_PART: Final = (STRATEGY, "budget_ms")
_SESSION: Final = "session"  # instead of a file


class Wanted(Struct, frozen=True):
    configured: m.Configuration
    changed: tuple[Change, ...]  # the keys that are other than in the run


class Trial:
    def __init__(self, sets: Sequence[str], file: Path | None, folder: Path) -> None:
        """sets: texts such as `throttle.dwell_ms=200`. file: replaces the run's configuration.
        folder: where paths of strategy files start. Raises ConfigFault."""
        self._sets = _parsed(sets)
        self.file = file
        self._folder = folder

    @property
    def is_empty(self) -> bool:
        return not self._sets and self.file is None

    def on(self, then: m.Configuration) -> Wanted:
        """Raises ConfigFault with everything that is wrong."""
        had = finish(draft_of(_source(then, self._folder)))
        base = had.source if self.file is None else read_draft(self.file).source
        wanted = finish(draft_of(with_overrides(base, self._sets)))
        settings = wanted.trader
        if self.file is None:
            parts = {field: getattr(settings, field) for field in (*SETTINGS_OF.values(), CALENDAR)}
            settings = structs.replace(then.settings, **parts)
        elif settings.series_ticker != then.settings.series_ticker:
            other, own = settings.series_ticker, then.settings.series_ticker
            raise ConfigFault([f"{self.file}: series: {other}; the session traded {own}"])
        # Keys of the account are the run's: its request buckets are.
        settings = structs.replace(settings, keys=then.settings.keys)
        before, rows = (
            [row for row in each.rows if row.key.split(".")[0] in SETTABLE]
            for each in (had, wanted)
        )
        changed = [structs.replace(each, line=each.line or None) for each in changes(before, rows)]
        configured = m.Configuration(settings, wanted.choice, wanted.digest)
        return Wanted(configured, tuple(changed))


def _parsed(sets: Sequence[str]) -> dict[Place, Plain]:
    """Raises ConfigFault with every text that is no place and value."""
    found, faults = parsed_overrides(sets, "it changes nothing of a session that is over")
    if _NO_PART in found:
        faults.append("--set strategy.budget_ms: nobody measures a strategy's time here")
    if faults:
        raise ConfigFault(faults)
    return found


# --- the journal's configuration as YAML ----------------------------------------------------------


def _source(then: m.Configuration, folder: Path) -> YamlText:
    content: dict[str, Plain] = {
        "name": _SESSION,
        "series": then.settings.series_ticker,
        "venue": {"embedded": "venue.yaml"},
        STRATEGY: {
            "name": then.strategy.name,
            "params": _params(then.strategy.params_json),
            "variants": [_variant(each) for each in then.strategy.variants],
        },
    }
    for section in SECTIONS:
        part: dict[str, Any] = {}
        for name, value in structs.asdict(getattr(then.settings, SETTINGS_OF[section])).items():
            in_ms = name.endswith("_ns")
            part[key_of_field(name)] = max(1, value // NS_PER_MS) if in_ms and value else value
        content[section] = as_yaml(part)
    content[CALENDAR] = [
        as_yaml(
            {
                "at": instant.from_ns(each.at_ns),
                "name": each.name,
                "event": each.event_ticker,
                "before_ms": each.before_ns // NS_PER_MS,
                "after_ms": each.after_ns // NS_PER_MS,
                "state": each.state,
                "size_divisor": each.size_divisor,
                "width_pct": each.width_pct,
                "variance_hours": each.variance_ns // NS_PER_HOUR,
            }
        )
        for each in then.settings.calendar
    ]
    return YamlText(folder / _SESSION, content, {(): 1})


def _params(text: str) -> Plain:
    return as_yaml(json.loads(text, parse_float=Decimal))


def _variant(choice: m.VariantChoice) -> Plain:
    variant = choice.variant
    return {
        "name": variant.name,
        "strategy": choice.strategy,
        "params": _params(choice.params_json),
        "events": list(variant.events),
        "rungs": list(variant.rungs),
        "split": variant.split,
        "block_ms": str(variant.block_ns // NS_PER_MS),
        "seed": str(variant.seed),
    }
