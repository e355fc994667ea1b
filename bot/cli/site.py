"""Where the venue of a configuration is, with the key to it: one that runs elsewhere, an embedded
one started here, or a local exchange on the venue's market for `bot run --paper`."""

import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from bot.cli.common import key_of
from venue.wire.instant import NS_PER_MS

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig, Draft, PaperSettings
    from bot.io.adapter import Connection
    from bot.io.clock import Clock
    from bot.io.run.embedded import EmbeddedVenue
    from bot.io.run.session import Plan, Site

_PAPER_READ_LAG_NS: Final = 5 * NS_PER_MS
"""How stale reads of the paper account are, as reads of the venue may be."""

# What follows is imported where it is used: `bot run` starts the venue before it loads the rest.


def start_venue(
    draft: "Draft", state: Path, seed: int | None = None, tape: Path | None = None
) -> "EmbeddedVenue | None":
    """Start the embedded venue, if the configuration has one, without waiting for it. Secrets that
    the configuration names in the environment are removed from it first.

    Raises ConfigFault if the venue's file is missing, and for a seed or a tape of an external one.
    """
    from bot.config.bot_config import ConfigFault, EmbeddedSettings, finish
    from bot.io.run.embedded import EmbeddedVenue
    from bot.io.secret import set_aside

    set_aside(draft.variables)
    settings = draft.venue
    if not isinstance(settings, EmbeddedSettings):
        if seed is not None or tape is not None:
            raise ConfigFault(
                ["--seed and --tape are for the embedded venue; this one is external"]
            )
        return None
    if settings.config.exists():
        return EmbeddedVenue.start_child(settings.config, state, seed, tape)
    line = draft.source.line_of(("venue", "embedded"))
    text = f"no file {settings.config}; accepted: a path of a venue's YAML"
    faults = [f"{draft.source.path}:{line}: venue.embedded: {text}"]
    try:
        finish(draft)
    except ConfigFault as fault:  # all that is wrong is printed at once
        faults += fault.faults
    raise ConfigFault(faults)


@contextmanager
def temporary_venue(draft: "Draft", command: str) -> "Iterator[EmbeddedVenue | None]":
    """The embedded venue, if the configuration has one, for the duration of the block. Its log and
    keys are in a folder named after the command, deleted at the end, also after a SIGTERM."""
    with (
        _sigterm_as_interrupt(),
        tempfile.TemporaryDirectory(prefix=f"bot-{command}-") as folder,
    ):
        embedded = start_venue(draft, Path(folder))
        try:
            yield embedded
        finally:
            if embedded is not None:
                embedded.stop_child()


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, even while a strategy is imported, but with its own
    exit code. Does nothing outside the main thread."""
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
    """The venue with its keys, and the series that an embedded one names once it is ready.

    Raises ConfigFault if the embedded venue's own file or tape is wrong.
    """
    from bot.config.bot_config import ConfigFault, ExternalSettings
    from bot.core.messages import Key
    from bot.io import secret
    from bot.io.adapter import BUILT_IN, VenueAddress, adapter_named
    from bot.io.run.embedded import KEY_NAME, OpeningFault
    from bot.io.run.session import Site

    settings = config.venue
    if isinstance(settings, ExternalSettings):
        others = {
            name: key_of(place)
            for name, place in ((Key.READ, settings.read_key), (Key.STANDBY, settings.standby_key))
            if place is not None
        }
        key = key_of(settings.key)
        address = VenueAddress(settings.base_url, settings.stream_url, key, others)
        return Site(adapter_named(settings.adapter), address, None), ()
    assert embedded is not None
    try:
        ready = embedded.ready()
    except OpeningFault as fault:
        raise ConfigFault([str(fault)]) from None
    key = secret.from_file(Path(ready.keys_file), KEY_NAME)
    address = VenueAddress(ready.base_url, ready.stream_url, key)
    return Site(adapter_named(BUILT_IN), address, embedded), ready.series


# --- paper ----------------------------------------------------------------------------------------


def paper_config(config: "BotConfig") -> "BotConfig":
    """A configuration for a paper run: one key, and records in the state directory alone, so that
    they never mix with those of a live run."""
    import msgspec

    from bot.core.settings import KeySettings

    records = msgspec.structs.replace(config.records, file=None, address=None, password=None)
    trader = msgspec.structs.replace(config.trader, keys=KeySettings())
    return msgspec.structs.replace(config, records=records, trader=trader)


def paper_site(
    config: "BotConfig", embedded: "EmbeddedVenue | None"
) -> "tuple[Site, tuple[str, ...]]":
    """As `site_of`, with the key that reads an external venue for a paper run."""
    from bot.config.bot_config import ExternalSettings
    from bot.io.adapter import VenueAddress, adapter_named
    from bot.io.run.session import Site

    venue = config.venue
    if not isinstance(venue, ExternalSettings):
        return site_of(config, embedded)
    assert config.paper.key is not None
    address = VenueAddress(venue.base_url, venue.stream_url, key_of(config.paper.key))
    return Site(adapter_named(venue.adapter), address, None), ()


def paper_plan(
    plan: "Plan", paper: "PaperSettings", queue_model: str | None, clock: "Clock"
) -> "Plan":
    """The plan with orders on a local exchange. queue_model: None for that of the configuration.

    The account is kept in the state directory, except on an embedded venue, which is new each run.
    """
    import msgspec

    from bot.io.adapter import what_is_missing
    from bot.io.client.preflight import PublicVenue, series_obstacle
    from bot.io.journal.recovery import EMBEDDED, PAPER_AT
    from bot.io.run.runner import Paper
    from bot.io.run.session import SiteFault
    from bot.lab.exchange.assumptions import Terms
    from bot.lab.exchange.queue_model import QueueModel
    from bot.lab.paper import FOLDER, PaperExchange, PaperVenue

    site, series = plan.site, plan.trader.series_ticker
    terms = Terms(cash_cents=paper.cash_cents, read_lag_ns=_PAPER_READ_LAG_NS)
    folder = plan.state / FOLDER if site.embedded is None else None
    model = (queue_model or paper.queue_model).upper()

    async def connect() -> "Connection":
        if lacks := what_is_missing(site.adapter.capabilities, paper=True):
            raise SiteFault(f"venue.adapter: {lacks}")
        public = PublicVenue(site.adapter, site.address)
        if obstacle := await series_obstacle(public.read_public, series):
            await public.close()
            raise SiteFault(obstacle)
        exchange = PaperExchange(terms, QueueModel[model], folder, clock.now_ns)
        return PaperVenue(public, exchange, paper.latency_ns).connection

    place = f"{PAPER_AT}{site.address.base_url}" if site.embedded is None else EMBEDDED
    return msgspec.structs.replace(plan, paper=Paper(place, connect))
