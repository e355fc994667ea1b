"""What `bot run --paper` puts in the place of a venue: a local exchange on the venue's market."""

from typing import TYPE_CHECKING, Final

from bot.cli.common import key_of
from bot.cli.sites import site_of
from venue.wire.instant import NS_PER_MS

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig, PaperSettings
    from bot.io.clock import Clock
    from bot.io.run.embedded import EmbeddedVenue
    from bot.io.run.runner import Connection
    from bot.io.run.session import Plan, Site

_READ_LAG_NS: Final = 5 * NS_PER_MS
"""Reads of the paper account are so much behind a write, as those of the venue may be."""


def of_paper(config: "BotConfig") -> "BotConfig":
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
    """Where the venue is and the key to read it by; waits for an embedded one. The series it
    named."""
    from bot.config.bot_config import ExternalSettings
    from bot.io.run.session import Site

    venue = config.venue
    if not isinstance(venue, ExternalSettings):
        return site_of(config, embedded)
    assert config.paper.key is not None
    return Site(venue.base_url, venue.stream_url, key_of(config.paper.key), None), ()


def on_paper(
    plan: "Plan", paper: "PaperSettings", queue_model: str | None, clock: "Clock"
) -> "Plan":
    """The plan with a local exchange. queue_model: None for that of the configuration.

    The account is kept in the state directory, except on an embedded venue, which starts afresh
    with each run.
    """
    import msgspec

    from bot.io.client.preflight import PublicVenue, series_obstacle
    from bot.io.journal.recovery import EMBEDDED
    from bot.io.run.runner import Paper
    from bot.io.run.session import SiteFault
    from bot.lab.exchange.assumptions import Terms
    from bot.lab.exchange.queue_model import QueueModel
    from bot.lab.paper import FOLDER, PaperExchange, PaperVenue

    site, series = plan.site, plan.trader.series_ticker
    terms = Terms(cash_cents=paper.cash_cents, read_lag_ns=_READ_LAG_NS)
    folder = plan.state / FOLDER if site.embedded is None else None
    model = (queue_model or paper.queue_model).upper()

    async def connect() -> "Connection":
        public = PublicVenue(site.base_url, site.stream_url, site.key)
        if obstacle := await series_obstacle(public.read_public, series):
            await public.close()
            raise SiteFault(obstacle)
        exchange = PaperExchange(terms, QueueModel[model], folder, clock.now_ns)
        return PaperVenue(public, exchange, paper.latency_ns).connection

    place = f"paper at {site.base_url}" if site.embedded is None else EMBEDDED
    return msgspec.structs.replace(plan, paper=Paper(place, connect))
