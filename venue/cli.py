"""The command line of the venue: `venue serve` and `venue version`.

Exit codes of `serve`: 0 ended as asked, 1 a bug, 2 bad configuration or options, 3 the address
cannot be bound or too few files may be open, 4 the state directory cannot be used. Raw keys go to
the keys file only.
"""

import asyncio
import gc
import importlib.metadata
import ipaddress
import json
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, NoReturn

import typer

from venue.admin import cli as control_cli
from venue.admin.cli_ask import DEFAULT_TOKEN_FILE
from venue.conformance import cli as check_cli
from venue.quiet import Quiet

if TYPE_CHECKING:
    from venue.process import ControlPlan, Ready

EXIT_CONFIGURATION: Final = 2
EXIT_ADDRESS: Final = 3
EXIT_STATE: Final = 4

_COMPACT_NICENESS: Final = 10
"""Traders go before it."""

app = typer.Typer(
    name="venue",
    cls=Quiet,
    help="A trading venue for strike ladders of binary contracts, with paper money.",
    epilog="Example: venue serve --config configs/venue.yaml",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command(epilog="Example: venue version")
def version() -> None:
    """Print the version."""
    typer.echo(f"venue {importlib.metadata.version('laddermaker')}")


@app.command(epilog="Example: venue compact --state state/venue")
def compact(
    state: Annotated[Path, typer.Option(help="The state directory of a venue, running or not.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Replay the sealed part of a command log into a snapshot, and remove what it makes needless.

    A running venue does this by itself. Exit codes: 0 done, 4 the state cannot be used.
    """
    from venue.recovery import compact_command
    from venue.storage.record import StateFault

    os.nice(_COMPACT_NICENESS)
    try:
        typer.echo(compact_command(state, as_json))
    except StateFault as fault:
        _fail(EXIT_STATE, str(fault))


@app.command(epilog="Example: venue serve --state state/venue --control 127.0.0.1:8091")
def serve(
    config: Annotated[Path, typer.Option(help="What the venue opens with (YAML).")] = Path(
        "configs/venue.yaml"
    ),
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")
    ] = 8080,
    keys_file: Annotated[
        Path,
        typer.Option(
            help="Where generated keys are written, for the owner only; by the first start on a "
            "state, no later one."
        ),
    ] = Path("state/venue-keys.json"),
    state: Annotated[
        Path | None,
        typer.Option(
            help="Directory of the command log: what is acknowledged outlives the process. "
            "Without it the venue forgets everything when it ends."
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            help="Offer the operator's interface here: unix:PATH, or a loopback address like "
            "127.0.0.1:8091."
        ),
    ] = None,
    control_token_file: Annotated[
        Path, typer.Option(help="Holds the token of the operator's interface; made when absent.")
    ] = DEFAULT_TOKEN_FILE,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**63 - 1, help="Seed of the crowd, instead of its own."),
    ] = None,
    tape: Annotated[
        Path | None, typer.Option(help="Let the crowd follow the recorded tape in this folder.")
    ] = None,
    no_crowd: Annotated[
        bool,
        typer.Option(
            "--no-crowd",
            help="Open without a crowd; what an earlier one left resting is cancelled.",
        ),
    ] = False,
    json_line: Annotated[
        bool, typer.Option("--json", help="When ready, say so in one line of JSON.")
    ] = False,
    exit_with_stdin: Annotated[
        bool, typer.Option("--exit-with-stdin", help="End when standard input ends.")
    ] = False,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Allow a host that is not loopback.")
    ] = False,
) -> None:
    """Open the venue and serve its REST interface and its channel until told to stop.

    Exit codes: 0 ended as asked, 2 bad configuration, 3 the address is taken or too few files may
    be open, 4 the state cannot be used.
    """
    configured = _Serving(
        config=config,
        listener=_listen(host, port, allow_remote),
        keys_file=keys_file,
        state=state,
        control=control,
        control_token_file=control_token_file,
        seed=seed,
        tape=tape,
        no_crowd=no_crowd,
        json_line=json_line,
        exit_with_stdin=exit_with_stdin,
    )
    _serve(configured)


check_cli.mount(app)
control_cli.mount(app)


def _control(text: str | None, token_file: Path) -> "ControlPlan | None":
    """A bound listener and the token's hash, None when not asked for; ends the process when
    either cannot be had."""
    if text is None:
        return None
    from venue.admin.listener import AddressFault, ControlFault, control_listener, token_sha256
    from venue.process import ControlPlan

    try:
        return ControlPlan(control_listener(text), token_sha256(token_file))
    except AddressFault as fault:
        _fail(EXIT_ADDRESS, str(fault))
    except ControlFault as fault:
        _fail(EXIT_CONFIGURATION, str(fault))


class _Serving(NamedTuple):
    """What `serve` was told, checked as far as it can be without reading files."""

    config: Path
    listener: socket.socket
    keys_file: Path
    state: Path | None
    control: str | None
    control_token_file: Path
    seed: int | None
    tape: Path | None
    no_crowd: bool
    json_line: bool
    exit_with_stdin: bool


def _serve(told: _Serving) -> None:
    # Half a second of imports makes nothing that the collector could free; a seventh of that
    # time would go into its looking.
    gc.disable()
    # Imported here so that --help and version stay instant.
    import uvloop

    from venue.listen import AddressTaken, FewFiles, refuse_few_files
    from venue.logs import configure_logs
    from venue.plan import Options, make_plan
    from venue.process import Ready, serve
    from venue.seedfile import SeedFault
    from venue.server import OpeningRefused
    from venue.storage.log import LogBroken, LogFull
    from venue.storage.record import StateFault

    configure_logs()

    unwritten: list[OSError] = []

    def announce(ready: Ready) -> None:
        try:
            typer.echo(_ready_line(ready, told))
        except OSError as fault:
            unwritten.append(fault)
            raise
        # What stands now stays: later collections need not walk over it.
        gc.freeze()
        gc.enable()

    try:
        refuse_few_files()
        options = Options(
            config=told.config,
            keys_file=told.keys_file,
            crowd_seed=told.seed,
            tape=told.tape,
            no_crowd=told.no_crowd,
            exit_with_stdin=told.exit_with_stdin,
            state=told.state,
            control=_control(told.control, told.control_token_file),
        )
        plan = make_plan(options, told.listener)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(plan, announce))
    except (SeedFault, OpeningRefused) as fault:
        _fail(EXIT_CONFIGURATION, str(fault))
    except FewFiles as fault:
        _fail(EXIT_ADDRESS, str(fault))
    except AddressTaken as fault:
        _fail(EXIT_ADDRESS, f"{fault}; try another port")
    except (StateFault, LogFull, LogBroken) as fault:
        _fail(EXIT_STATE, str(fault))
    except BaseExceptionGroup:  # of the tasks that ran when it happened
        if unwritten:
            raise unwritten[0] from None
        raise


def _ready_line(ready: "Ready", told: _Serving) -> str:
    """Where the venue answers, as JSON or for people."""
    if told.json_line:
        said: dict[str, object] = {
            "ready": True,
            "base_url": ready.base_url,
            "stream_url": ready.stream_url,
            "series": ready.series,
            "keys_file": None if ready.keys_file is None else str(ready.keys_file),
            "pid": os.getpid(),
        }
        if ready.control is not None:
            token_file = str(told.control_token_file)
            said |= {"control": ready.control, "control_token_file": token_file}
        return json.dumps(said)
    lines = [f"venue ready at {ready.base_url}, channel {ready.stream_url}"]
    if ready.keys_file is not None:
        lines.append(f"keys in {ready.keys_file}")
    if told.state is None:
        lines.append("in memory: nothing outlives this process; --state DIR keeps it")
    else:
        lines.append(f"state in {told.state}")
    if ready.control is not None:
        lines.append(f"operator's interface at {ready.control}")
    return "\n".join(lines)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int, allow_remote: bool) -> socket.socket:
    """A bound socket; ends the process when the address is not allowed or cannot be had."""
    if not allow_remote and not _is_loopback(host):
        _fail(EXIT_CONFIGURATION, f"--host {host}: not loopback; add --allow-remote to mean it")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as fault:
        listener.close()
        _fail(EXIT_ADDRESS, f"{host}:{port} cannot be bound: {fault.strerror}; try another --port")
    return listener


def _fail(code: int, message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    app()
