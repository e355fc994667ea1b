"""The command line of the venue: `venue serve` and `venue version`.

Exit codes: 0 ended as asked, 1 a bug, 2 bad configuration or options, 3 the address cannot be
bound. Raw keys go to the keys file only.
"""

import asyncio
import gc
import importlib.metadata
import ipaddress
import json
import os
import socket
import sys
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

EXIT_CONFIGURATION: Final = 2
EXIT_ADDRESS: Final = 3

app = typer.Typer(
    name="venue",
    help="A trading venue for strike ladders of binary contracts, with paper money.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"venue {importlib.metadata.version('laddermaker')}")


@app.command(epilog="Example: venue serve --config configs/venue.yaml --port 8080 --seed 7")
def serve(
    config: Annotated[Path, typer.Option(help="What the venue opens with (YAML).")] = Path(
        "configs/venue.yaml"
    ),
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")
    ] = 8080,
    keys_file: Annotated[
        Path, typer.Option(help="Where generated keys are written, for the owner only.")
    ] = Path("state/venue-keys.json"),
    seed: Annotated[int | None, typer.Option(help="Seed of the crowd, instead of its own.")] = None,
    tape: Annotated[
        Path | None, typer.Option(help="Let the crowd follow the recorded tape in this folder.")
    ] = None,
    no_crowd: Annotated[bool, typer.Option("--no-crowd", help="Open without a crowd.")] = False,
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
    """Open the venue and serve its REST interface and its channel until told to stop."""
    # Half a second of imports makes nothing that the collector could free; a seventh of that
    # time would go into its looking.
    gc.disable()
    # Imported here so that --help and version stay instant.
    import uvloop

    from venue.logs import configure_logs
    from venue.plan import Options, make_plan
    from venue.process import Ready
    from venue.process import serve as serve_plan
    from venue.seedfile import SeedFault
    from venue.server import OpeningRefused

    configure_logs()
    if not allow_remote and not _is_loopback(host):
        _fail(EXIT_CONFIGURATION, f"--host {host}: not loopback; add --allow-remote to mean it")
    listener = _listen(host, port)

    def announce(ready: Ready) -> None:
        said: dict[str, object] = {
            "ready": True,
            "base_url": ready.base_url,
            "stream_url": ready.stream_url,
            "series": ready.series,
            "keys_file": str(keys_file),
            "pid": os.getpid(),
        }
        human = f"venue ready at {ready.base_url}, channel {ready.stream_url}, keys in {keys_file}"
        typer.echo(json.dumps(said) if json_line else human)
        sys.stdout.flush()
        # What stands now stays: later collections need not walk over it.
        gc.freeze()
        gc.enable()

    try:
        options = Options(config, keys_file, seed, tape, no_crowd, exit_with_stdin)
        plan = make_plan(options, listener)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve_plan(plan, announce))
    except (SeedFault, OpeningRefused) as fault:
        _fail(EXIT_CONFIGURATION, str(fault))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    """A bound socket; ends the process when the address cannot be had."""
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
