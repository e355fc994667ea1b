"""From options and files to a plan of what to serve. Every fault of a configuration is found here,
before anything is served."""

import socket
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from venue.credentials import Credentials
from venue.crowd.settings import CrowdSettings
from venue.engine.messages import AccessCommand, Command
from venue.opening import (
    Quarter,
    additions,
    crowd_cancels,
    listing_commands,
    state_commands,
    user_commands,
)
from venue.process import ControlPlan, Crowd, ServePlan
from venue.seed import NOTHING, Seed, read_seed, validated
from venue.seedfile import SeedFault, SeedText
from venue.server import VenueServer
from venue.storage.recovery import open_directory, open_in_memory
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import VenueState

if TYPE_CHECKING:
    from venue.crowd.run import CrowdPlan
    from venue.crowd.tape import Tape


class Options(msgspec.Struct, frozen=True):
    config: Path | None
    """None: nothing is listed and nobody known, until the operator says so."""
    keys_file: Path
    crowd_seed: int | None
    tape: Path | None
    no_crowd: bool
    exit_with_stdin: bool
    state: Path | None
    control: ControlPlan | None

    @property
    def has_crowd(self) -> bool:
        return not self.no_crowd and self.config is not None


def make_plan(options: Options, listener: socket.socket) -> ServePlan:
    """The plan. Of a state that was opened before we add only companies, events, markets and crowd
    accounts that it does not know; without a crowd we cancel the orders of an earlier one, unless
    the venue is halted. Raises SeedFault with every fault, StateFault."""
    seed, settings = NOTHING, CrowdSettings()
    if options.config is not None:
        seed, text = read_seed(options.config)
        settings = _crowd_settings(seed, text, options.crowd_seed)
    if options.tape is not None and options.state is not None:
        raise SeedFault(["--tape begins a venue of its own each time; leave --state out"])
    state = open_in_memory() if options.state is None else open_directory(options.state)
    # By the venue's own clock: after a wall clock was set back we must not list past quarters.
    start_ns = max(time.time_ns(), state.exchange.at_ns)
    refresh_ns = seed.venue.directory_refresh_s * NS_PER_SECOND
    state.exchange.views.catalog.directory.refresh_ns = refresh_ns
    opening, crowd = _listed(options, settings, seed, start_ns, state.is_new)
    write_keys = None
    if state.is_new and options.config is not None:
        credentials = Credentials(seed)
        opening += user_commands(seed, start_ns, credentials.fingerprints())
        opening += state_commands(seed)
        write_keys = partial(
            credentials.write_generated, options.keys_file, once=options.state is not None
        )
    else:
        engine = state.exchange.engine
        opening = additions(opening, state.exchange.views.catalog, engine.users)
        if not options.has_crowd and engine.venue_state is not VenueState.HALTED:
            opening += crowd_cancels(engine.snapshot_events(start_ns))
    return ServePlan(
        state=state,
        opening=opening,
        write_keys=write_keys,
        keys_file=options.keys_file,
        projection_lag_ms=seed.venue.projection_lag_ms,
        feed_flush_ms=seed.venue.feed_flush_ms,
        listener=listener,
        control=options.control,
        crowd=crowd,
        exit_with_stdin=options.exit_with_stdin,
    )


def _crowd_settings(seed: Seed, text: SeedText, crowd_seed: int | None) -> CrowdSettings:
    settings = validated(CrowdSettings, seed.crowd, ("crowd",), text)
    return settings if crowd_seed is None else settings.model_copy(update={"seed": crowd_seed})


def _listed(
    options: Options, settings: CrowdSettings, seed: Seed, start_ns: int, is_new: bool
) -> tuple[list[Command | AccessCommand], Crowd | None]:
    """The commands for the listings and the accounts of the crowd, and the crowd."""
    tape = None
    if options.tape is not None:
        tape, catalogue = _taped(options.tape, seed, start_ns)
    else:
        catalogue = listing_commands(seed, start_ns)
    if tape is None and not options.has_crowd:
        return [*catalogue], None
    # Imported only where there is a crowd: it takes its time.
    from venue.crowd.run import CrowdPlan, opening_commands

    # On a venue opened before, the crowd learns the listings from events instead.
    plan = CrowdPlan(settings, (*catalogue, *state_commands(seed)) if is_new else (), tape)
    return [*catalogue, *opening_commands(plan)], _crowd(plan, is_new)


def _taped(folder: Path, seed: Seed, start_ns: int) -> "tuple[Tape, list[Command]]":
    from venue.crowd.tape import TapeFault, read_tape, tape_catalogue
    from venue.wire.money import FeeRate

    try:
        tape = read_tape(folder)
    except TapeFault as fault:
        raise SeedFault([str(fault)]) from None
    rates = FeeRate.parse(seed.fees.maker_rate), FeeRate.parse(seed.fees.taker_rate)
    return tape, tape_catalogue(tape, Quarter.under_way(start_ns).resolves_ns, *rates)


def _crowd(plan: "CrowdPlan", is_new: bool) -> Crowd:
    from venue.crowd.run import run_crowd
    from venue.rest.venue_port import EngineOverloaded, EngineUnavailable, ReplyLost

    async def crowd(venue: VenueServer) -> None:
        not_taken = (EngineOverloaded, EngineUnavailable, ReplyLost)
        present = () if is_new else venue.snapshot_events()
        await run_crowd(plan, venue.submit, venue.now_ns, venue.observe, not_taken, present)

    return crowd
