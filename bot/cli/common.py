"""What the commands share: faults as text and exit code, durations, the draft, the venue's key."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeVar

import typer

from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

if TYPE_CHECKING:
    from bot.config.bot_config import Draft, ExternalSettings, ReaperSettings
    from bot.config.secrets import KeyPlace
    from bot.io.secret import Secret

EXIT_CONFIGURATION: Final = 2
EXIT_VENUE: Final = 3
EXIT_LEFT_OVER: Final = 4

FILES_OF_A_RUN: Final = 128
"""Descriptors that a run may want at once: connections, channel, journal, logs, pages."""

FILES_OF_A_LOOK: Final = 32
"""The same of a command that asks the venue, or cancels there."""

_FILES_MAX: Final = 4_096
"""More than the largest configuration can want."""

_DURATION: Final = re.compile(r"([0-9]{1,9})(ms|s|m|h)", re.ASCII)
_UNITS_NS: Final = {
    "ms": NS_PER_MS,
    "s": NS_PER_SECOND,
    "m": 60 * NS_PER_SECOND,
    "h": 3600 * NS_PER_SECOND,
}

V = TypeVar("V")

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="One series' YAML file.")]


def state_dir_option(told: str, *names: str) -> Any:
    """The option of a state directory. told: its help. names: where its parameter gives none."""
    return typer.Option(*names, metavar="DIR", help=told)


@contextmanager
def faults_told() -> Iterator[None]:
    """Turn what a person can mend into a text on stderr and an exit code."""
    from bot.config.bot_config import ConfigFault
    from bot.io.faults import OperatorError

    try:
        yield
    except ConfigFault as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    except OperatorError as fault:
        fail(EXIT_VENUE, str(fault))


@contextmanager
def printed_aside() -> Iterator[None]:
    """What a strategy prints meanwhile goes to stderr: stdout has the command's answer alone."""
    with redirect_stdout(sys.stderr):
        yield


@contextmanager
def acting(told: str) -> Iterator[None]:
    """At Ctrl-C while something is carried out, say on stderr what may have been done."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"interrupted: {told}", err=True)
        raise


def fail(code: int, message: str) -> NoReturn:
    """Say what is wrong on stderr and end with this exit code."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


def fail_unwritten(fault: OSError, *places: Path | None) -> NoReturn:
    """End with 2 and say what could not be written: a disk that is full names no file, so then
    where it was to go."""
    where = fault.filename or ", ".join(str(each) for each in places if each is not None)
    fail(EXIT_CONFIGURATION, f"{where}: {fault.strerror}")


@contextmanager
def interruptible(told: str = "") -> Iterator[Callable[[], bool]]:
    """Ctrl-C asks for an early end, and what has begun comes to its own; gives what says whether
    more is wanted. A second one breaks off. told: said on stderr at the first."""
    import signal

    asked: list[int] = []

    def ask(number: int, _frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        if told:
            typer.echo(told, err=True)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: not asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def tidied(tidy: Callable[[], object]) -> Iterator[None]:
    """A SIGTERM until the block ends ends the process at once, as it does by itself, but not before
    `tidy` was called. Does nothing beside the main thread, which alone is given signals."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: object) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)  # a second one is not to cut it short
        try:
            tidy()
        finally:  # what it raised might be caught by whoever is interrupted, and the signal lost
            os._exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def places_for(*paths: Path | None, read: Sequence[Path | None] = ()) -> None:
    """End with 2 when one of these files could not be written, or when two of them are one; before
    any work is done for them. read: what is read meanwhile, and may be none of them either."""
    named = {_whole(path) for path in read if path is not None}
    for path in paths:
        if path is None:
            continue
        try:
            was_there = path.exists()
            if was_there and not path.is_file() and not path.is_dir():
                continue  # a pipe or a terminal takes what comes
            if _whole(path) in named:
                fail(EXIT_CONFIGURATION, f"{path}: named twice: one would overwrite the other")
            named.add(_whole(path))
            path.open("ab").close()
            if not was_there:
                path.unlink()
        except OSError as fault:
            fail(EXIT_CONFIGURATION, f"{path}: no place for a file: {fault.strerror}")


def _whole(path: Path) -> str:
    """The file that a name leads to: unlike `Path.resolve`, raises for no circle of links, which
    whoever opens the file tells."""
    return os.path.realpath(path)


def option_of(option: str, text: str, read: Callable[[str], V]) -> V:
    """What an option's text means; ends with 2, naming the option, where `read` raises."""
    try:
        return read(text)
    except ValueError as fault:
        fail(EXIT_CONFIGURATION, f"{option} {fault}")


def duration_ns(option: str, text: str) -> int:
    """Nanoseconds of a text such as 60s; ends with 2, naming the option, for anything else."""
    found = _DURATION.fullmatch(text)
    if found is None or int(found[1]) == 0:
        fail(EXIT_CONFIGURATION, f"{option} {text}: a number and ms, s, m or h, such as 60s")
    return int(found[1]) * _UNITS_NS[found[2]]


def read(config: Path) -> "Draft":
    """The draft of a configuration; with faults, all of them are told, the strategy's too."""
    from bot.config.bot_config import read_draft

    return without_faults(read_draft(config))


def without_faults(draft: "Draft") -> "Draft":
    """The same draft. Raises ConfigFault where it has faults, with all of them."""
    from bot.config.bot_config import finish

    if draft.faults:
        finish(draft)
    return draft


def read_where(config: Path, needed: frozenset[str] | None = None) -> "Draft":
    """The draft of a configuration for what is asked of a bot that runs, or done to its orders:
    what is wrong elsewhere than in where bot and venue are is told, and stands in nobody's way.

    needed: the parts that must be right, where it is others.
    """
    from bot.config.bot_config import WHERE, read_draft, spared

    draft = read_draft(config)
    found = spared(draft, needed or WHERE) if draft.faults else draft
    if found is None:
        return read(config)
    for fault in sorted(draft.faults):
        typer.echo(f"warning: {config}:{fault.line}: {fault.text}", err=True)
    return found


def external(draft: "Draft") -> "ExternalSettings":
    """The venue of a configuration, for what makes sense only where it outlives the bot.

    Raises ConfigFault for an embedded one.
    """
    from bot.config.bot_config import ConfigFault, EmbeddedSettings

    settings = draft.venue
    if isinstance(settings, EmbeddedSettings):
        raise ConfigFault(
            [f"{draft.source.path}: the embedded venue ends with its bot and nothing rests there"]
        )
    return settings


def keep_memory_private() -> None:
    """Let no dump of this process' memory be written: it would hold the key."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def enough_files(least: int) -> None:
    """Allow as many open files as may be, up to `_FILES_MAX`. End with 3 where so few may be that
    requests or the journal would fail amid it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FILES_MAX:
        soft = _FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, _FILES_MAX)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= least:
        return
    fail(EXIT_VENUE, f"{hard} files may be open at once: at least {least} are needed; ulimit -n")


def key_of(settings: "ExternalSettings | ReaperSettings | KeyPlace") -> "Secret":
    """The key that a configuration names. Raises SecretFault; warns of a file open to others."""
    from bot.io import secret

    if settings.key_file is not None:
        key = secret.from_file(settings.key_file, settings.key_name)
        if secret.is_open_to_others(settings.key_file):
            typer.echo(f"warning: {settings.key_file} is readable to others", err=True)
        return key
    assert settings.key_env is not None
    return secret.from_environment(settings.key_env)
