"""The command line of the judge: `venue check`. Exit codes: 0 everything that ran passed, 1
something failed, 2 bad options, 3 not reachable, 143 ended by SIGTERM. Keys and tokens come from
files."""

import contextlib
import json
import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn
from urllib.parse import urlsplit

import typer

from venue.cli.groups import end, opt

if TYPE_CHECKING:
    from venue.conformance.bench import Bench
    from venue.conformance.registry import Check
    from venue.conformance.runner import Result, Wanted

EXIT_FAILED: Final = 1
EXIT_OPTIONS: Final = 2
EXIT_UNREACHABLE: Final = 3
_EXIT_SIGNALLED: Final = 128

EPILOG: Final = (
    "\b\nExample: venue check --url http://127.0.0.1:8080/v1 \\\n"
    "    --control http://127.0.0.1:8091"
)


def check(
    url: Annotated[str, opt("Base address of the interface, ending in /v1.")],
    control: Annotated[str, opt("Control API: 127.0.0.1:PORT, unix:PATH or https://.")] = "",
    token_file: Annotated[Path, opt("File with the control API's token.")] = Path(
        "state/venue-control-token"
    ),
    key_file: Annotated[
        Path | None, opt("Without --control: file with a key of read and trade.")
    ] = None,
    other_key_file: Annotated[
        Path | None, opt("Without --control: file with another user's key.")
    ] = None,
    stream: Annotated[str, opt("The channel, if it is not URL/stream.")] = "",
    only: Annotated[str, opt("Only checks whose name contains this.")] = "",
    no_readings: Annotated[
        bool,
        opt(
            "Leave out what the interface leaves open; the channel's address, S8, is known "
            "where --stream names it.",
            "--no-readings",
        ),
    ] = False,
    json_lines: Annotated[
        bool, opt("One JSON object of results instead of a table.", "--json")
    ] = False,
) -> None:
    """Judge a venue against the interface, statement by statement, in raw JSON.

    With --control every check opens a world of its own; without it only the checks run that need
    nothing but keys, and what they place they cancel. Not for a venue in use: a crowd would trade
    into the books, and the venue is halted for moments.
    """
    # Imported here so that the help of the whole command line stays instant.
    from venue.conformance.bench import Bench, reach, why_unusable
    from venue.conformance.judge import Broken
    from venue.conformance.operator import InTheClear, Operator, Unreachable
    from venue.conformance.runner import Verdict, Wanted, suite

    lent = _lent(key_file, other_key_file)
    keys = list(lent.values())
    if not control and not keys:
        end(EXIT_OPTIONS, "give --control and --token-file, or --key-file")
    if stream and not _is_channel(stream):
        end(EXIT_OPTIONS, f"--stream {stream}: wanted is ws:// or wss:// and a host")
    checks = suite(only)
    if not checks:
        end(EXIT_OPTIONS, f"--only {only}: no check has that in its name")
    bench: Bench | None = None
    operator: Operator | None = None
    try:
        reach(url, with_keys=bool(keys))
        operator = Operator(control, _secret(token_file)) if control else None
        if operator is not None:
            _check_free(operator.status())
        for path, key in lent.items():
            why = "" if operator is not None else why_unusable(url, key)
            if why:
                end(EXIT_OPTIONS, f"{path}: {why}; wanted is one of scopes read and trade")
        bench = Bench(url, stream or _stream_of(url), operator, keys)
        wanted = Wanted(operator is not None, len(keys), not no_readings, bool(stream))
        with _ending_in_order():
            results = _judge(checks, bench, wanted, quiet=json_lines)
    except InTheClear as fault:
        end(EXIT_OPTIONS, str(fault))
    except (Unreachable, Broken) as fault:
        end(EXIT_UNREACHABLE, str(fault))
    finally:
        if bench is not None:
            bench.close()
        elif operator is not None:
            operator.close()
    if json_lines:
        typer.echo(json.dumps(_as_json(url, results)))
    else:
        _show(results)
    if any(result.verdict is Verdict.FAILED for result in results):
        raise typer.Exit(EXIT_FAILED)


def _check_free(status: dict[str, Any]) -> None:
    """End the process for a venue that others use, or that has faults in force: a check resets
    both."""
    if status.get("crowd"):
        end(EXIT_OPTIONS, "a crowd trades at this venue: judge one without (--no-crowd)")
    if status.get("venue_state", "open") != "open":
        end(EXIT_OPTIONS, f"this venue is {status['venue_state']}: judge one that is open")
    if status.get("faults"):
        faults = ", ".join(status["faults"])
        end(EXIT_OPTIONS, f"faults are in force at this venue ({faults}): clear them first")


@contextlib.contextmanager
def _ending_in_order() -> Iterator[None]:
    """SIGTERM ends a block as Ctrl-C does: what a check has halted or bent is set right first."""

    def end(number: int, _: object) -> NoReturn:
        raise SystemExit(_EXIT_SIGNALLED + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _judge(
    checks: "list[Check]", bench: "Bench", wanted: "Wanted", *, quiet: bool
) -> "list[Result]":
    from rich.console import Console
    from rich.markup import escape

    from venue.conformance.runner import Verdict, judge_all

    console = Console(stderr=True)
    live = console.is_terminal and not quiet
    results: list[Result] = []
    with console.status("opening a world") if live else contextlib.nullcontext() as status:

        def begin(each: "Check") -> None:
            if live and status is not None:
                text = f"{len(results) + 1}/{len(checks)} {each.name.replace('_', ' ')}"
                status.update(escape(text))

        for result in judge_all(checks, bench, wanted, begin):
            results.append(result)
            if live and result.verdict is Verdict.FAILED:
                console.print(f"[red]failed[/red] {escape(result.name.replace('_', ' '))}")
    return results


def _show(results: "list[Result]") -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from venue.conformance.runner import Verdict

    counts = {v: sum(result.verdict is v for result in results) for v in Verdict}
    spent_s = sum(result.duration_s for result in results)
    words = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items())
    console = Console()
    with console.capture() as drawn:
        for verdict in (Verdict.SKIPPED, Verdict.FAILED):
            rows = [result for result in results if result.verdict is verdict]
            if not rows:
                continue
            title = f"{verdict.value}: {len(rows)}"
            table = Table("check", "why", title=title, title_justify="left")
            for row in rows:
                why = "\n  ".join((row.reason, *row.exchanges))
                table.add_row(escape(row.name.replace("_", " ")), escape(why))
            console.print(table)
        console.print(f"{words} in {spent_s:.1f} s")
    typer.echo(drawn.get(), nl=False)  # the console has an end of its own for a closed output


def _as_json(url: str, results: "list[Result]") -> dict[str, object]:
    from venue.conformance.runner import Verdict

    counts = {v.value: sum(result.verdict is v for result in results) for v in Verdict}
    rows = [
        {
            "name": result.name,
            "verdict": result.verdict.value,
            "duration_s": round(result.duration_s, 3),
            "reason": result.reason,
            "exchanges": list(result.exchanges),
        }
        for result in results
    ]
    return {"url": url, **counts, "checks": rows}


def _stream_of(url: str) -> str:
    """The channel of a base address (S8)."""
    parts = urlsplit(url.rstrip("/") + "/stream")
    return parts._replace(scheme="wss" if parts.scheme == "https" else "ws").geturl()


def _is_channel(address: str) -> bool:
    """True if an address can be a channel's: otherwise every connection fails, and the venue would
    be blamed."""
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    return parts.scheme in ("ws", "wss") and bool(host)


def _lent(*paths: Path | None) -> dict[Path, str]:
    lent: dict[Path, str] = {}
    for path in paths:
        if path is not None:
            key = _secret(path)
            if key in lent.values():
                end(EXIT_OPTIONS, f"{path}: the key of --key-file; wanted is another user's")
            lent[path] = key
    return lent


def _secret(path: Path) -> str:
    """The key or token in a file that its owner alone can touch; ends the process otherwise."""
    try:
        # Without waiting: a pipe would block for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = file.read().strip() if stat.S_ISREG(mode) else b""
    except OSError as fault:
        end(EXIT_OPTIONS, f"{path}: {fault.strerror}")
    if stat.S_ISREG(mode) and mode & (stat.S_IRWXG | stat.S_IRWXO):
        end(EXIT_OPTIONS, f"{path}: others can read it; run chmod 600 {path}")
    # What no header can hold, such as a whole file of keys, would be shown as the reason of a
    # failed check.
    if not raw or not all(0x21 <= byte <= 0x7E for byte in raw):
        accepted = "printable ASCII characters without a space"
        end(EXIT_OPTIONS, f"{path}: holds no single key or token; accepted: {accepted}")
    return raw.decode("ascii")
