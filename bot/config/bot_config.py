"""The configuration of one bot: a YAML file read, checked whole, and turned into settings. Paths in
the file start from its own folder, the state directory from where the program is started."""

import urllib.parse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from bot.config.calendar_entries import CalendarContent, read_calendar
from bot.config.checks import check_file
from bot.config.diff import KeyRow, digest_of, rows_of
from bot.config.outside_sources import polled_sources, settings_of
from bot.config.overrides import SET_LINE, parsed_overrides, with_overrides
from bot.config.renamed import with_current_keys
from bot.config.secrets import KeyPlace, file_in, is_loopback
from bot.config.sections import SETTINGS_OF, File, NoticePart, PaperQueue, Part, Status, field_of
from bot.config.strategies import Makers, find_live, find_shadows, maker
from bot.config.strict_yaml import Fault, Plain, YamlFault, YamlText, read_yaml
from bot.config.validation import typed
from bot.core.messages import Configuration, StrategyChoice
from bot.core.settings import CalendarEntry, Candidate, KeySettings, TraderSettings
from bot.io.adapter import BUILT_IN, AdapterFault, adapter_named
from bot.io.outside_values import PolledSource
from bot.records.database import Address
from bot.strategy.api import Strategy
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Cents
from venue.wire.names import Ticker, fold_ticker
from venue.wire.routes import STREAM_PATH

SQLITE_NAME: Final = "records.sqlite3"
_POSTGRES_PORT: Final = 5_432


class ConfigFault(Exception):
    """A configuration cannot be used; `faults` has a line of text for each thing wrong."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(faults)  # the argument itself, so that it can be pickled

    def __str__(self) -> str:
        return "\n".join(self.faults)


class EmbeddedSettings(msgspec.Struct, frozen=True):
    config: Path


class ExternalSettings(msgspec.Struct, frozen=True):
    base_url: str
    stream_url: str
    key: KeyPlace
    """For writes, and for reads unless `read_key` names one."""

    read_key: KeyPlace | None = None
    standby_key: KeyPlace | None = None
    """For cancels if the trading key is refused."""

    adapter: str = BUILT_IN
    """The name that `bot.io.adapter.adapter_named` takes."""


class ReaperSettings(msgspec.Struct, frozen=True):
    key: KeyPlace
    after_ns: int
    """Silence of the bot after which the reaper acts."""


class PaperSettings(msgspec.Struct, frozen=True):
    cash_cents: Cents
    queue_model: PaperQueue
    latency_ns: int | None
    """Round trip of an order; None is that of the newest read."""

    key: KeyPlace | None
    """For the reads of an external venue."""


class StateSettings(msgspec.Struct, frozen=True):
    directory: Path
    segment_bytes: int
    segments_kept: int


class RecordsSettings(msgspec.Struct, frozen=True):
    """Records go to the PostgreSQL at `address`, else to `file`; None for the usual one in the
    state directory."""

    keep: bool
    file: Path | None
    address: Address | None
    password: KeyPlace | None
    keep_days: int


class Draft:
    """A file that was read, with its faults; the strategy has not been looked for."""

    def __init__(
        self,
        source: YamlText,
        file: File | None,
        faults: list[Fault],
        calendar: CalendarContent,
    ) -> None:
        self.source = source
        self._file = file
        self.faults = faults
        self.calendar = calendar

    @property
    def file(self) -> File:
        assert self._file is not None
        return self._file

    @property
    def _folder(self) -> Path:
        return self.source.path.parent

    @property
    def name(self) -> str:
        return self.file.name or self.source.path.stem

    @property
    def state(self) -> StateSettings:
        state = self.file.state
        return StateSettings(
            Path(state.dir) if state.dir is not None else Path("state") / self.name,
            state.journal_segment_mb * 1024 * 1024,
            state.journal_segments_kept,
        )

    @property
    def records(self) -> RecordsSettings:
        part, folder = self.file.records, self._folder
        file = None if part.file is None else file_in(folder, part.file)
        address = None
        if part.postgres_url is not None:
            url = urllib.parse.urlsplit(part.postgres_url)
            ca_file = part.postgres_ca_file
            address = Address(
                url.hostname or "",
                url.port or _POSTGRES_PORT,
                urllib.parse.unquote(url.username or ""),
                urllib.parse.unquote(url.path[1:]),
                tls=ca_file is not None or not is_loopback(url.hostname or ""),
                ca_file=None if ca_file is None else file_in(folder, ca_file),
            )
        password = KeyPlace.of(folder, part, "postgres_password")
        return RecordsSettings(part.keep, file, address, password, part.keep_days)

    @property
    def venue(self) -> EmbeddedSettings | ExternalSettings:
        venue, folder = self.file.venue, self._folder
        if venue.embedded is not None:
            return EmbeddedSettings(folder / venue.embedded)
        assert venue.base_url is not None
        base_url = venue.base_url.rstrip("/")
        key, is_foreign = KeyPlace.of(folder, venue), venue.adapter != BUILT_IN
        assert key is not None
        return ExternalSettings(
            base_url,
            venue.stream_url or ("" if is_foreign else default_stream_url(base_url)),
            key,
            KeyPlace.of(folder, venue, "read_key"),
            KeyPlace.of(folder, venue, "standby_key"),
            venue.adapter,
        )

    @property
    def variables(self) -> frozenset[str]:
        rows = rows_of(self.file, self.source, {})
        return frozenset(each.value for each in rows if each.key.endswith("_env"))

    @property
    def reaper(self) -> ReaperSettings | None:
        part = self.file.reaper
        key = KeyPlace.of(self._folder, part)
        if part is None or key is None:
            return None
        return ReaperSettings(key, part.after_ms * NS_PER_MS)

    @property
    def paper(self) -> PaperSettings:
        part, venue = self.file.paper, self.venue
        key = KeyPlace.of(self._folder, part)
        if key is None and isinstance(venue, ExternalSettings):
            key = venue.read_key or venue.key
        latency_ns = None if part.latency_ms is None else part.latency_ms * NS_PER_MS
        return PaperSettings(Cents(part.cash_cents), part.queue_model, latency_ns, key)


class BotConfig(msgspec.Struct, frozen=True):
    name: str
    trader: TraderSettings
    make_strategy: Callable[[], Strategy]
    strategy_budget_ns: int
    shadows: tuple[Candidate, ...]
    strategy_name: str
    venue: EmbeddedSettings | ExternalSettings
    status: Status
    state: StateSettings
    records: RecordsSettings
    notices: tuple[NoticePart, ...]
    source: YamlText
    choice: StrategyChoice
    paper: PaperSettings
    rows: tuple[KeyRow, ...]
    """The same key by key."""

    outside_sources: tuple[PolledSource, ...]
    """Those that are polled."""

    makers: Makers
    """For other strategies than the one it names, from the same folder."""

    @property
    def digest(self) -> str:
        return digest_of(self.rows)

    @property
    def configured(self) -> Configuration:
        return Configuration(self.trader, self.choice, self.digest)


def default_stream_url(base_url: str) -> str:
    """The channel's address when none is given: ws for http, wss for https, plus /stream (S8)."""
    scheme, _, rest = base_url.partition("://")
    return f"{'wss' if scheme == 'https' else 'ws'}://{rest}{STREAM_PATH}"


def read_draft(path: Path, raw: bytes | None = None, sets: Sequence[str] = ()) -> Draft:
    """Read a file and check everything but the strategy; faults are kept in the draft.

    raw: its bytes where they have been read already. sets: texts of keys to set over it, such as
    `risk.order_qty=5`. Raises ConfigFault only for a file that is no plain YAML at all, and for a
    text of `sets` that is no key and value.
    """
    overrides, wrong = parsed_overrides(sets)
    if wrong:
        raise ConfigFault(wrong)
    try:
        source = read_yaml(path, raw)
    except YamlFault as fault:
        raise ConfigFault(list(fault.lines)) from None
    if not sets:
        return draft_of(source)
    source, renamed = with_current_keys(source)
    source = msgspec.structs.replace(with_overrides(source, overrides), sets=tuple(sets))
    draft = draft_of(source)
    draft.faults += renamed
    return draft


def draft_of(source: YamlText) -> Draft:
    """The draft of a content, wherever it came from; everything but the strategy is checked."""
    source, renamed = with_current_keys(source)
    file, faults = typed(File, source.content, (), source)
    calendar = CalendarContent()
    if file is not None:
        calendar, faults = read_calendar(file.calendar, source)
        faults += check_file(file, source)
    return Draft(source, file, renamed + faults, calendar)


WHERE: Final = frozenset({"name", "series", "venue", "status", "state"})
"""The sections that say where bot and venue are."""

FOR_THE_REAPER: Final = frozenset({"name", "series", "venue", "state", "reaper"})

_PLACEHOLDERS: Final[dict[str, Plain]] = {
    "strategy": {"name": "none"},
    "risk": dict.fromkeys(
        ("event_loss_cents", "series_loss_cents", "rung_position_qty", "order_qty"), "1"
    ),
}


def spared(draft: Draft, needed: frozenset[str] = WHERE) -> Draft | None:
    """The draft without the sections that have faults, for a caller that only has to find bot and
    venue; it says nothing of how to trade. None where a section of `needed` has a fault."""
    wrong = {fault.text.partition(":")[0].partition(".")[0] for fault in draft.faults}
    if wrong & needed:
        return None
    source = draft.source
    kept = {key: value for key, value in source.content.items() if key not in wrong}
    source = msgspec.structs.replace(source, content=_PLACEHOLDERS | kept)
    found = draft_of(source)
    return None if found.faults else found


def finish(draft: Draft) -> BotConfig:
    """Import the strategies and check their parameters, and import the adapter. Raises ConfigFault
    with all faults."""
    live, faults = find_live(draft.source)
    shadows, wrong = find_shadows(draft.source)
    faults = sorted({*draft.faults, *faults, *wrong, *_adapter_faults(draft)})
    if faults or live is None:
        raise ConfigFault([_located(draft.source, fault) for fault in faults])
    file = draft.file
    rows = rows_of(file, draft.source, live.params())
    try:
        choice = live.choice()
    except ValueError as fault:
        line = draft.source.line_of(("strategy", "params"))
        found_at = Fault(line, f"strategy.params: {fault}")
        raise ConfigFault([_located(draft.source, found_at)]) from None
    return BotConfig(
        name=draft.name,
        trader=trader_settings(file, fold_ticker(file.series), draft.calendar.entries),
        make_strategy=maker(live),
        strategy_budget_ns=file.strategy.budget_ms * NS_PER_MS,
        shadows=shadows,
        strategy_name=file.strategy.name,
        venue=draft.venue,
        status=file.status,
        state=draft.state,
        records=draft.records,
        notices=file.notices,
        source=draft.source,
        choice=choice,
        paper=draft.paper,
        rows=(*rows, *draft.calendar.rows),
        outside_sources=polled_sources(file.fair_value.sources, draft.source.path.parent),
        makers=Makers(draft.source.path.parent),
    )


def _adapter_faults(draft: Draft) -> list[Fault]:
    """That of an installed adapter that cannot be made; the built-in one always can."""
    if draft.faults or draft.file.venue.adapter == BUILT_IN:
        return []
    try:
        adapter_named(draft.file.venue.adapter)
    except AdapterFault as fault:
        return [Fault(draft.source.line_of(("venue", "adapter")), str(fault))]
    return []


def _located(source: YamlText, fault: Fault) -> str:
    """The text of a fault after its file and line, or after the option that set its key."""
    where = "--set " if fault.line == SET_LINE else f"{source.path}:{fault.line}: "
    return f"{where}{fault.text}"


def trader_settings(
    file: File, series_ticker: Ticker, calendar: tuple[CalendarEntry, ...]
) -> TraderSettings:
    kinds = {each.name: each.type for each in msgspec.structs.fields(TraderSettings)}
    parts = {
        field: kinds[field](**in_ns(getattr(file, section)))
        for section, field in SETTINGS_OF.items()
    }
    keys = KeySettings(
        read=KeyPlace.of(Path(), file.venue, "read_key") is not None,
        standby=file.venue.standby_key_file is not None,
    )
    return TraderSettings(
        series_ticker=series_ticker,
        keys=keys,
        calendar=calendar,
        outside_sources=settings_of(file.fair_value.sources),
        **parts,
    )


def in_ns(part: Part) -> dict[str, Any]:
    return {
        field_of(key): value * NS_PER_MS if key.endswith("_ms") else value
        for key, value in part.model_dump().items()
    }
