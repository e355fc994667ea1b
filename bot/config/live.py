"""The configuration file of a running bot: what a change of it means for the trader. A file with
any fault, or with a change that takes a restart, is refused whole."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bot.config.bot_config import BotConfig, ConfigFault, finish, read_draft
from bot.config.diff import Change, KeyRow, changes, lifts_a_limit
from bot.config.strategies import Makers
from bot.core import messages as m
from bot.core.fault_text import fault_text
from bot.core.reconfigure import LIVE, TIGHTER, Reconfiguration
from bot.io.client.answers import plain
from bot.io.state.small_files import confirmed_digest

_AFTER_ROLLBACK: Final = "limits: the tighter ones that a rollback kept -> those of the file"

_TAKEN_BACK: Final = "nothing: what did not hold was taken back"


class LiveConfig:
    """One file and the trader that was made from it; a `config_watcher.LiveFile`."""

    def __init__(
        self,
        config: BotConfig,
        makers: Makers,
        in_force: Reconfiguration,
        tell: Callable[[m.Event], None],
        state: Path | None = None,
    ) -> None:
        """makers: those of the trader, so that a strategy is imported once. in_force: the trader's.
        tell: gives it an event. state: where a confirmed change is stored; None: nobody can confirm
        one."""
        self.path = config.source.path
        self.started_with = config.source.raw
        self._sets = config.source.sets
        self._makers = makers
        self._in_force = in_force
        self._give = tell
        self._state = state
        self._told = self._number = 0
        self._known: dict[str, tuple[KeyRow, ...]] = {config.digest: config.rows}

    def confirmed(self) -> str:
        return "" if self._state is None else confirmed_digest(self._state)

    def send_event(self, event: m.Event) -> None:
        self._told += 1
        self._give(event)

    def is_taken(self) -> bool:
        return self._in_force.heard >= self._told

    def check(self, raw: bytes | None) -> m.Event | None:
        """`Reconfigured`, `ConfigRefused`, or None where the content is in force already and no
        earlier change was at fault. raw: None when there is no file."""
        if raw is None:
            return _refused([f"{self.path}:1: cannot be read: is it there?"])
        try:
            config = finish(read_draft(self.path, raw, self._sets))
        except ConfigFault as fault:
            return _refused(fault.faults)
        try:
            self._makers(config.choice)()
        except Exception as fault:  # noqa: BLE001 - the plugin boundary: its fault refuses the file
            line = config.source.line_of(("strategy",))
            said = f"cannot be made: {fault_text(fault)}"
            return _refused([f"{self.path}:{line}: strategy: {said}"])
        return self._other_than_in_force(config)

    def _other_than_in_force(self, config: BotConfig) -> m.Event | None:
        now = self._in_force.configured
        found = changes(self._known[_plain(now.digest)], config.rows)
        waiting = [change for change in found if not change.is_live]
        if waiting:
            return _refused([*(self._line(each, "takes a restart") for each in waiting), _NOTHING])
        unsure = [change for change in found if lifts_a_limit(change)]
        if unsure and self.confirmed() != config.digest:
            sets = "".join(f" --set {shlex.quote(each)}" for each in self._sets)
            advice = f"bot config confirm CONFIG --yes{sets} has it taken over all the same"
            return _refused([*(self._line(each, _TENFOLD) for each in unsure), advice, _NOTHING])
        told = tuple(str(change) for change in found)
        if not told:
            if now.digest.endswith(TIGHTER):
                told = (_AFTER_ROLLBACK,)
            elif self._in_force.fault:
                told = (_TAKEN_BACK,)
            else:
                return None
        digest = config.digest
        possible = (_plain(now.digest), _plain(self._in_force.proven.digest))
        self._known = {key: self._known[key] for key in possible} | {digest: config.rows}
        self._number += 1
        parts = {name: getattr(config.trader, name) for name in LIVE}
        settings = msgspec.structs.replace(now.settings, **parts)
        return m.Reconfigured(self._number, m.Configuration(settings, config.choice, digest), told)

    def _line(self, change: Change, why: str) -> str:
        return f"{self.path}:{change.line or 1}: {change}; {why}"


def _refused(faults: Sequence[str]) -> m.ConfigRefused:
    why = " | ".join(faults)
    return m.ConfigRefused(plain(why, None))


def _plain(digest: str) -> str:
    return digest.removesuffix(TIGHTER)


_TENFOLD: Final = "more than ten times the limit in force"
_NOTHING: Final = "nothing of the file was applied"
