"""Where the venue of a configuration is: one that runs elsewhere, or one of our own, started
here.
"""

import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from bot.cli.common import key_of

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig, Draft
    from bot.io.run.embedded import EmbeddedVenue
    from bot.io.run.session import Site


def start_venue(
    draft: "Draft", state: Path, seed: int | None = None, tape: Path | None = None
) -> "EmbeddedVenue | None":
    """Start the embedded venue, if that is what is wanted, and do not wait for it. What secrets the
    configuration names in the environment are taken out of it first.

    Raises ConfigFault where the file that it opens with is not there, and for a seed or a tape of
    a venue that is not our own.
    """
    from bot.config.bot_config import ConfigFault, EmbeddedSettings
    from bot.io.run.embedded import EmbeddedVenue
    from bot.io.secret import set_aside

    set_aside(draft.variables)
    settings = draft.venue
    if isinstance(settings, EmbeddedSettings):
        if not settings.config.exists():
            line = draft.source.line_of(("venue", "embedded"))
            told = f"no file {settings.config}; accepted: a path of a venue's YAML"
            missing = f"{draft.source.path}:{line}: venue.embedded: {told}"
            raise ConfigFault([missing, *_else_wrong(draft)])
        return EmbeddedVenue.start_child(settings.config, state, seed, tape)
    if seed is not None or tape is not None:
        raise ConfigFault(["--seed and --tape are for the embedded venue; this one is external"])
    return None


def _else_wrong(draft: "Draft") -> tuple[str, ...]:
    """What else of a configuration cannot be used, so that all of it is told at once."""
    from bot.config.bot_config import ConfigFault, finish

    try:
        finish(draft)
    except ConfigFault as fault:
        return fault.faults
    return ()


@contextmanager
def venue_for_a_moment(draft: "Draft", command: str) -> "Iterator[EmbeddedVenue | None]":
    """The embedded venue, if that is what is wanted, until the block ends. Its log and its keys
    stand in a folder named after the command, which is gone then, after a SIGTERM too."""
    with (
        _ending_in_order(),
        tempfile.TemporaryDirectory(prefix=f"bot-{command}-") as folder,
    ):
        embedded = start_venue(draft, Path(folder))
        try:
            yield embedded
        finally:
            if embedded is not None:
                embedded.stop_child()


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, which passes the guard of a strategy's import too, but
    with its own exit code. Does nothing beside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []

    def end(number: int, _: object) -> NoReturn:
        asked.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if not asked:
            raise
        raise SystemExit(128 + asked[0]) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def site_of(
    config: "BotConfig", embedded: "EmbeddedVenue | None"
) -> "tuple[Site, tuple[str, ...]]":
    """Where the venue is and the key to it; waits for an embedded one. The series it named.

    Raises ConfigFault where the embedded venue's own file or tape is at fault.
    """
    from bot.config.bot_config import ConfigFault, ExternalSettings
    from bot.core.messages import Key
    from bot.io import secret
    from bot.io.run.embedded import KEY_NAME, OpeningFault
    from bot.io.run.session import Site

    settings = config.venue
    if isinstance(settings, ExternalSettings):
        others = {
            name: key_of(place)
            for name, place in ((Key.READ, settings.read_key), (Key.STANDBY, settings.standby_key))
            if place is not None
        }
        return Site(settings.base_url, settings.stream_url, key_of(settings), None, others), ()
    assert embedded is not None
    try:
        ready = embedded.ready()
    except OpeningFault as fault:
        raise ConfigFault([str(fault)]) from None
    key = secret.from_file(Path(ready.keys_file), KEY_NAME)
    return Site(ready.base_url, ready.stream_url, key, embedded), ready.series
