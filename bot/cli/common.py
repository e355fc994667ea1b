"""What every command needs: exit codes, faults as text, signals, files, the configuration, keys."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import typer

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig, Draft, ExternalSettings
    from bot.config.secrets import KeyPlace
    from bot.io.logs import LogForm, SecretRedactor
    from bot.io.secret import Secret

EXIT_CONFIGURATION: Final = 2
EXIT_VENUE: Final = 3
EXIT_LEFT_OVER: Final = 4

FILES_OF_A_RUN: Final = 128
"""Open files of a run at most: connections, channel, journal, logs, pages."""

FILES_OF_A_LOOK: Final = 32
"""Open files of a command that reads the venue or cancels there."""

_FILES_MAX: Final = 4_096
"""More than the largest configuration can use."""

# --- exits ----------------------------------------------------------------------------------------


def fail(code: int, message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


@contextmanager
def exit_on_fault() -> Iterator[None]:
    """End with 2 for a fault of the configuration, with 3 for one that the operator can fix."""
    from bot.config.bot_config import ConfigFault
    from bot.io.faults import OperatorError

    try:
        yield
    except ConfigFault as fault:
        fail(EXIT_CONFIGURATION, str(fault))
    except OperatorError as fault:
        fail(EXIT_VENUE, str(fault))


def confirm(question: str, nobody: str, declined: str, *, on_stderr: bool) -> None:
    """Return only if a person agrees. on_stderr: ask there, for stdout carries the JSON line.

    nobody, declined: printed where there is nobody to ask, and where the person says no.
    """
    if not is_interactive():
        fail(EXIT_CONFIGURATION, f"nobody to ask here: {nobody}")
    if not typer.confirm(question, err=on_stderr):
        fail(EXIT_VENUE, declined)


def is_interactive() -> bool:
    return sys.stdin.isatty()


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send what a strategy prints to stderr: stdout carries the command's answer alone."""
    with redirect_stdout(sys.stderr):
        yield


# --- signals --------------------------------------------------------------------------------------


@contextmanager
def warn_on_interrupt(text: str) -> Iterator[None]:
    """At Ctrl-C during an action, print on stderr what may already have been done."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"interrupted: {text}", err=True)
        raise


@contextmanager
def interruptible(text: str = "") -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C asks for an early end, and work that has begun is finished; a second one
    breaks off. Gives a function that is True until the first. text: printed at the first."""
    asked: list[int] = []

    def ask(number: int, _frame: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        if text:
            typer.echo(text, err=True)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: not asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def cleanup_on_sigterm(cleanup: Callable[[], object]) -> Iterator[None]:
    """A SIGTERM within the block calls `cleanup` before it ends the process. Does nothing outside
    the main thread, which alone receives signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: object) -> NoReturn:
        signal.signal(number, signal.SIG_IGN)  # a second one must not cut the cleanup short
        try:
            cleanup()
        finally:  # an exception could be caught by the interrupted code, and the signal lost
            os._exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# --- files ----------------------------------------------------------------------------------------


def require_writable(*paths: Path | None, read: Sequence[Path | None] = ()) -> None:
    """End with 2, before any work is done, if a file cannot be written or is named twice.

    read: files that the command reads, which it must not overwrite.
    """
    # Unlike `Path.resolve`, realpath raises nothing for a circle of links; opening the file does.
    named = {os.path.realpath(path) for path in read if path is not None}
    for path in paths:
        if path is None:
            continue
        try:
            existed = path.exists()
            if existed and not path.is_file() and not path.is_dir():
                continue  # a pipe or a terminal
            if os.path.realpath(path) in named:
                fail(EXIT_CONFIGURATION, f"{path}: named twice: one would overwrite the other")
            named.add(os.path.realpath(path))
            path.open("ab").close()
            if not existed:
                path.unlink()
        except OSError as fault:
            fail(EXIT_CONFIGURATION, f"{path}: no file can be written here: {fault.strerror}")


def results_file(named: Path | None, name: str) -> Path | None:
    """The file in which a command keeps its results: the one that is named, else ./state/NAME. None
    if that cannot be written, which is printed. Ends with 2 for a named one that cannot be."""
    if named is not None:
        require_writable(named)
        return named
    path = Path("state") / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
    except OSError as fault:
        typer.echo(f"results are not saved: {path}: {fault.strerror}; --results FILE", err=True)
        return None
    return path


def write_files(*files: tuple[Path | None, Callable[[], str | bytes]]) -> None:
    """Write each file that is named, whole or not at all; end with 2 where one cannot be written.

    A full disk names no file in its error: then all of them are named.
    """
    from bot.io.state.atomic_file import replace_named

    try:
        for path, content in files:
            if path is not None:
                found = content()
                replace_named(path, found.encode() if isinstance(found, str) else found)
    except OSError as fault:
        fail_unwritten(fault, *(path for path, _ in files))


def fail_unwritten(fault: OSError, *paths: Path | None) -> NoReturn:
    where = fault.filename or ", ".join(str(each) for each in paths if each is not None)
    fail(EXIT_CONFIGURATION, f"{where}: {fault.strerror}")


def require_open_files(least: int) -> None:
    """Raise the limit of open files as far as allowed. Ends with 3 where it stays below `least`, so
    that no request and no journal write fails for it later."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _FILES_MAX:
        soft = _FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, _FILES_MAX)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= least:
        return
    fail(EXIT_VENUE, f"{hard} files may be open at once: at least {least} are needed; ulimit -n")


# --- configuration and keys -----------------------------------------------------------------------


def read_config(path: Path, sets: Sequence[str] = ()) -> "Draft":
    """The draft of a configuration. Raises ConfigFault with all its faults, the strategy's too."""
    from bot.config.bot_config import read_draft

    return require_valid(read_draft(path, sets=sets))


def finished_config(path: Path, sets: Sequence[str] = ()) -> "BotConfig":
    """A whole configuration, strategy included. Raises ConfigFault with all its faults."""
    from bot.config.bot_config import finish

    return finish(read_config(path, sets))


def require_valid(draft: "Draft") -> "Draft":
    """The same draft. Raises ConfigFault with all its faults if it has any."""
    from bot.config.bot_config import finish

    if draft.faults:
        finish(draft)
    return draft


def read_lenient(path: Path, needed: frozenset[str] | None = None) -> "Draft":
    """The draft for a command that must work while other sections are wrong, such as cancel-all.

    needed: the sections that must be right; None: those that say where bot and venue are. Faults
    elsewhere are printed as warnings.
    """
    from bot.config.bot_config import WHERE, read_draft, spared

    draft = read_draft(path)
    found = spared(draft, needed or WHERE) if draft.faults else draft
    if found is None:
        return require_valid(draft)
    for fault in sorted(draft.faults):
        typer.echo(f"warning: {path}:{fault.line}: {fault.text}", err=True)
    return found


def external_venue(draft: "Draft") -> "ExternalSettings":
    """The venue of a configuration. Raises ConfigFault for an embedded one, whose orders do not
    outlive the bot."""
    from bot.config.bot_config import ConfigFault, EmbeddedSettings

    settings = draft.venue
    if isinstance(settings, EmbeddedSettings):
        raise ConfigFault(
            [f"{draft.source.path}: the embedded venue ends with its bot and nothing rests there"]
        )
    return settings


def keep_memory_private() -> None:
    """Forbid core dumps of this process: they would hold the key."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def key_of(place: "KeyPlace") -> "Secret":
    """The key that a configuration names. Raises SecretFault; warns of a file open to others."""
    from bot.io import secret

    if place.key_file is not None:
        key = secret.from_file(place.key_file, place.key_name)
        if secret.is_open_to_others(place.key_file):
            typer.echo(f"warning: {place.key_file} is readable to others", err=True)
        return key
    assert place.key_env is not None
    return secret.from_environment(place.key_env)


def readable_keys(draft: "Draft", venue: "ExternalSettings") -> "dict[str, Secret]":
    """Every key of a configuration that can be read, by its name, the one for reads first."""
    from bot.io.secret import SecretFault, set_aside

    set_aside(draft.variables)
    places = {
        "read key": venue.read_key,
        "trade key": venue.key,
        "standby key": venue.standby_key,
        "reaper's key": None if draft.reaper is None else draft.reaper.key,
    }
    found = {}
    for name, place in places.items():
        if place is not None:
            with suppress(SecretFault):
                found[name] = key_of(place)
    return found


def prepare_look(keys: "Iterable[Secret]", form: "LogForm | None" = None) -> None:
    """What a command does before it reads the venue or cancels there."""
    require_open_files(FILES_OF_A_LOOK)
    keep_memory_private()
    log_without(*keys, form=form)


def log_without(*keys: "Secret", form: "LogForm | None" = None) -> "SecretRedactor":
    """Log to stderr without these keys. form: of the lines; None for what fits the stream."""
    from bot.io.logs import LogForm, SecretRedactor, configure_logs

    redactor = SecretRedactor()
    for key in keys:
        redactor.learn(key)
    configure_logs(redactor, form=form or LogForm.AUTO)
    return redactor


def warn_renamed(old: str, new: str) -> None:
    typer.echo(f"deprecated: {old} is now {new}; {old} stops working in the next version", err=True)
