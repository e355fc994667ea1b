"""From options and files to a plan of what to serve: seed, keys, crowd or tape.

Everything that can be wrong with a configuration is found here, before anything is served.
"""

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from venue.core.messages import AccessCommand, Command, ListEvent
from venue.credentials import Credentials
from venue.crowd.settings import CrowdSettings
from venue.opening import Quarter, listing_commands, state_commands, user_commands
from venue.process import Crowd, ServePlan
from venue.seed import Seed, read_seed, validated
from venue.seedfile import SeedFault, SeedText
from venue.server import Venue
from venue.wire.names import Ticker

if TYPE_CHECKING:
    from venue.crowd.run import CrowdPlan

Commands = tuple[Command | AccessCommand, ...]


class Options(msgspec.Struct, frozen=True):
    """What the command line asks for."""

    config: Path
    keys_file: Path
    crowd_seed: int | None
    tape: Path | None
    no_crowd: bool
    exit_with_stdin: bool


class _Flow(msgspec.Struct, frozen=True):
    """What is listed, and who trades on it: the accounts to open first and what to run then."""

    catalogue: Commands
    accounts: Commands
    crowd: Crowd | None


def make_plan(options: Options, listener: socket.socket) -> ServePlan:
    """The plan, with generated keys written to their file. Raises SeedFault with every fault."""
    start_ns = time.time_ns()
    seed, text = read_seed(options.config)
    settings = _crowd_settings(seed, text, options.crowd_seed)
    credentials = Credentials(seed)
    if options.tape is not None:
        flow = _taped(options.tape, settings, seed, start_ns)
    elif options.no_crowd:
        flow = _Flow(tuple(listing_commands(seed, start_ns)), (), None)
    else:
        flow = _seeded(settings, tuple(listing_commands(seed, start_ns)))
    users = user_commands(seed, start_ns, credentials.fingerprints())
    credentials.write_generated(options.keys_file)
    return ServePlan(
        opening=[*flow.catalogue, *flow.accounts, *users, *state_commands(seed)],
        series=_series(flow.catalogue),
        projection_lag_ms=seed.venue.projection_lag_ms,
        feed_flush_ms=seed.venue.feed_flush_ms,
        listener=listener,
        crowd=flow.crowd,
        exit_with_stdin=options.exit_with_stdin,
    )


def _crowd_settings(seed: Seed, text: SeedText, crowd_seed: int | None) -> CrowdSettings:
    settings = validated(CrowdSettings, seed.crowd, ("crowd",), text)
    return settings if crowd_seed is None else settings.model_copy(update={"seed": crowd_seed})


def _seeded(settings: CrowdSettings, catalogue: Commands) -> _Flow:
    # Imported only where there is a crowd: it takes its time.
    from venue.crowd.run import SeededPlan, opening_commands

    plan = SeededPlan(settings, catalogue)
    return _Flow(catalogue, tuple(opening_commands(plan)), _crowd(plan))


def _taped(folder: Path, settings: CrowdSettings, seed: Seed, start_ns: int) -> _Flow:
    from venue.crowd.run import TapePlan, opening_commands
    from venue.crowd.tape import TapeFault, read_tape, tape_catalogue
    from venue.wire.money import FeeRate

    try:
        tape = read_tape(folder)
    except TapeFault as fault:
        raise SeedFault([str(fault)]) from None
    rates = FeeRate.parse(seed.fees.maker_rate), FeeRate.parse(seed.fees.taker_rate)
    catalogue = tuple(tape_catalogue(tape, Quarter.under_way(start_ns).end_ns, *rates))
    plan = TapePlan(settings, catalogue, tape)
    return _Flow(catalogue, tuple(opening_commands(plan)), _crowd(plan))


def _crowd(plan: "CrowdPlan") -> Crowd:
    from venue.crowd.run import run_crowd
    from venue.http.app import EngineOverloaded, EngineUnavailable, ReplyLost

    async def crowd(venue: Venue) -> None:
        not_taken = (EngineOverloaded, EngineUnavailable, ReplyLost)
        await run_crowd(plan, venue.submit, venue.now_ns, venue.observe, not_taken)

    return crowd


def _series(catalogue: Commands) -> list[Ticker]:
    listed = [command for command in catalogue if isinstance(command, ListEvent)]
    return list(dict.fromkeys(event.series_ticker for event in listed))
