"""The configuration file: one YAML per series, every unit in its key, every fault told at once.

Paths in the file are taken from the file's own folder; the state directory from where the program
is started. Nothing is guessed: an unknown key, a value outside its bounds or a key written out is
refused.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from bot.config.diff import KeyRow, digest_of, rows_of
from bot.config.records import (
    NoticeSettings,
    RecordsSettings,
    check_notices,
    check_records,
    notice_settings,
    records_settings,
)
from bot.config.secrets import KeyPlace, Wrong, check_address, check_key, file_in, is_loopback
from bot.config.sections import File, PaperQueue, Part, Status, Venue, beyond_caps
from bot.config.strategies import Makers, choice_of, find_live, find_shadows, maker
from bot.config.strict_yaml import Fault, Place, Plain, YamlFault, YamlText, read_yaml
from bot.config.validation import typed
from bot.core.messages import Configuration, StrategyChoice
from bot.core.settings import (
    JOURNAL_NAMES,
    BudgetSettings,
    Candidate,
    KeySettings,
    PaceSettings,
    RiskSettings,
    StalenessSettings,
    StartSettings,
    TraderSettings,
)
from bot.strategy.api import Strategy
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Cents, Qty
from venue.wire.names import Ticker, fold_ticker, is_path_segment
from venue.wire.routes import API_PREFIX, STREAM_PATH

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}", re.ASCII)


class ConfigFault(Exception):
    """A configuration cannot be used; `faults` has a line of text for each thing wrong."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(faults)  # as it came: so another process can make the same of it

    def __str__(self) -> str:
        return "\n".join(self.faults)


class EmbeddedSettings(msgspec.Struct, frozen=True):
    """Trade on a venue of our own, opened with this file."""

    config: Path


class ExternalSettings(msgspec.Struct, frozen=True):
    """Trade on a venue at these addresses; the key as in KeyPlace.

    read_key: for reads alone, and `key_file` for writes alone. standby_key: for cancels, should the
    first be refused.
    """

    base_url: str
    stream_url: str
    key_file: Path | None
    key_name: str | None
    key_env: str | None
    read_key: KeyPlace | None = None
    standby_key: KeyPlace | None = None


class ReaperSettings(msgspec.Struct, frozen=True):
    """The reaper's own key, as in ExternalSettings, and the silence after which it acts."""

    key_file: Path | None
    key_name: str | None
    key_env: str | None
    after_ns: int


class PaperSettings(msgspec.Struct, frozen=True):
    """A paper run. latency_ns: of an order there and back; None is that of the newest read. key:
    where the key to read the venue by is; None for an embedded venue's."""

    cash_cents: Cents
    queue_model: PaperQueue
    latency_ns: int | None
    key: KeyPlace | None


class StatusSettings(msgspec.Struct, frozen=True):
    """Where the status page answers. allowed_hosts: Host headers beside those of loopback.
    control: whether things may be asked there, with the token of the state directory."""

    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    control: bool = False


class StateSettings(msgspec.Struct, frozen=True):
    """Where the journal, the lock and the logs stand, and how much of the journal is kept."""

    directory: Path
    segment_bytes: int
    segments_kept: int


class Draft:
    """A file that was read, with what is wrong so far; the strategy has not been looked for."""

    def __init__(self, source: YamlText, file: File | None, faults: list[Fault]) -> None:
        self.source = source
        self._file = file
        self.faults = faults

    @property
    def file(self) -> File:
        """What the file says; only for a draft without faults."""
        assert self._file is not None
        return self._file

    @property
    def name(self) -> str:
        """The bot's name: the one given, else the file's."""
        return self.file.name or self.source.path.stem

    @property
    def state(self) -> StateSettings:
        """The state directory."""
        state = self.file.state
        return StateSettings(
            Path(state.dir) if state.dir is not None else Path("state") / self.name,
            state.journal_segment_mb * 1024 * 1024,
            state.journal_segments_kept,
        )

    @property
    def records(self) -> RecordsSettings:
        """Where fills and profit are kept."""
        return records_settings(self.file.records, self.source.path.parent)

    @property
    def venue(self) -> EmbeddedSettings | ExternalSettings:
        """The venue to trade on."""
        venue, folder = self.file.venue, self.source.path.parent
        if venue.embedded is not None:
            return EmbeddedSettings(folder / venue.embedded)
        assert venue.base_url is not None
        base_url = venue.base_url.rstrip("/")
        own = KeyPlace.of(folder, venue.key_file)
        read = KeyPlace.of(folder, venue.read_key_file, venue.read_key_name, venue.read_key_env)
        standby = KeyPlace.of(folder, venue.standby_key_file, venue.standby_key_name)
        return ExternalSettings(
            base_url,
            venue.stream_url or default_stream_url(base_url),
            own.key_file,
            venue.key_name,
            venue.key_env,
            read if venue.names_read_key else None,
            standby if venue.standby_key_file is not None else None,
        )

    @property
    def variables(self) -> frozenset[str]:
        """The environment variables in which it says that a secret stands."""
        rows = rows_of(self.file, self.source, {})
        return frozenset(each.value for each in rows if each.key.endswith("_env"))

    @property
    def reaper(self) -> ReaperSettings | None:
        """What the reaper is told; None when the file does not speak of one."""
        part = self.file.reaper
        if part is None:
            return None
        folder = self.source.path.parent
        key_file = None if part.key_file is None else file_in(folder, part.key_file)
        return ReaperSettings(key_file, part.key_name, part.key_env, part.after_ms * NS_PER_MS)

    @property
    def paper(self) -> PaperSettings:
        """What a paper run is told."""
        part, venue = self.file.paper, self.venue
        key: KeyPlace | None = None
        if part.names_key:
            folder = self.source.path.parent
            key = KeyPlace.of(folder, part.key_file, part.key_name, part.key_env)
        elif isinstance(venue, ExternalSettings):
            key = venue.read_key or KeyPlace(venue.key_file, venue.key_name, venue.key_env)
        latency_ns = None if part.latency_ms is None else part.latency_ms * NS_PER_MS
        return PaperSettings(Cents(part.cash_cents), part.queue_model, latency_ns, key)


class BotConfig(msgspec.Struct, frozen=True):
    """A whole, checked configuration. rows: the same key by key. makers: what makes other
    strategies than the one it names, from the same folder."""

    name: str
    trader: TraderSettings
    make_strategy: Callable[[], Strategy]
    strategy_budget_ns: int
    shadows: tuple[Candidate, ...]
    strategy_name: str
    venue: EmbeddedSettings | ExternalSettings
    status: StatusSettings
    state: StateSettings
    records: RecordsSettings
    notices: tuple[NoticeSettings, ...]
    source: YamlText
    choice: StrategyChoice
    paper: PaperSettings
    rows: tuple[KeyRow, ...]
    makers: Makers

    @property
    def digest(self) -> str:
        """Sixteen hex digits that are others for every other effective content."""
        return digest_of(self.rows)

    @property
    def configured(self) -> Configuration:
        """What the trader is told of it."""
        return Configuration(self.trader, self.choice, self.digest)


def default_stream_url(base_url: str) -> str:
    """The channel's address when none is given: ws for http, wss for https, plus /stream (S8)."""
    scheme, _, rest = base_url.partition("://")
    return f"{'wss' if scheme == 'https' else 'ws'}://{rest}{STREAM_PATH}"


def read_draft(path: Path, raw: bytes | None = None) -> Draft:
    """Read a file and check everything but the strategy. Raises ConfigFault only when it is no
    plain YAML at all; other faults are kept in the draft, to be told together. raw: its bytes where
    they have been read already."""
    try:
        source = read_yaml(path, raw)
    except YamlFault as fault:
        raise ConfigFault(list(fault.told)) from None
    return draft_of(source)


def draft_of(source: YamlText) -> Draft:
    """The draft of a content, wherever it came from; everything but the strategy is checked."""
    file, faults = typed(File, source.content, (), source)
    if file is not None:
        faults = _cross_checked(file, source)
    return Draft(source, file, faults)


WHERE: Final = frozenset({"name", "series", "venue", "status", "state"})
"""The parts that say where bot and venue are."""

FOR_THE_REAPER: Final = frozenset({"name", "series", "venue", "state", "reaper"})
"""The parts by which it watches, and cancels."""

_STANDING_IN: Final[dict[str, Plain]] = {
    "strategy": {"name": "none"},
    "risk": dict.fromkeys(
        ("event_loss_cents", "series_loss_cents", "rung_position_qty", "order_qty"), "1"
    ),
}


def spared(draft: Draft, needed: frozenset[str] = WHERE) -> Draft | None:
    """The draft without the parts in which something is wrong, for whoever only wants to know
    where the bot and its venue are: it says nothing of how to trade. None where what is wrong is
    in what is needed: the names of those parts."""
    wrong = {fault.text.partition(":")[0].partition(".")[0] for fault in draft.faults}
    if wrong & needed:
        return None
    source = draft.source
    kept = {key: value for key, value in source.content.items() if key not in wrong}
    source = msgspec.structs.replace(source, content=_STANDING_IN | kept)
    found = draft_of(source)
    return None if found.faults else found


def finish(draft: Draft) -> BotConfig:
    """Find the strategies, check their parameters. Raises ConfigFault with all that is wrong.

    Imports their modules, and so whatever they need.
    """
    found, faults = find_live(draft.source)
    shadows, wrong = find_shadows(draft.source)
    faults = sorted({*draft.faults, *faults, *wrong})
    if faults or found is None:
        raise ConfigFault([f"{draft.source.path}:{fault.line}: {fault.text}" for fault in faults])
    file = draft.file
    try:
        choice = choice_of(file.strategy.name, found)
    except ValueError as fault:
        line = draft.source.line_of(("strategy", "params"))
        raise ConfigFault([f"{draft.source.path}:{line}: strategy.params: {fault}"]) from None
    return BotConfig(
        name=draft.name,
        trader=trader_settings(file, fold_ticker(file.series)),
        make_strategy=maker(found),
        strategy_budget_ns=file.strategy.budget_ms * NS_PER_MS,
        shadows=shadows,
        strategy_name=file.strategy.name,
        venue=draft.venue,
        status=StatusSettings(
            file.status.host, file.status.port, file.status.allowed_hosts, file.status.control
        ),
        state=draft.state,
        records=draft.records,
        notices=notice_settings(file.notices, draft.source.path.parent),
        source=draft.source,
        choice=choice,
        paper=draft.paper,
        rows=rows_of(file, draft.source, {("strategy", "params"): found[1]}),
        makers=Makers(draft.source.path.parent),
    )


def trader_settings(file: File, series_ticker: Ticker) -> TraderSettings:
    """The trader's numbers, milliseconds turned into nanoseconds."""
    risk = file.risk
    return TraderSettings(
        series_ticker=series_ticker,
        risk=RiskSettings(
            event_loss_cents=Cents(risk.event_loss_cents),
            series_loss_cents=Cents(risk.series_loss_cents),
            account_loss_cents=Cents(risk.account_loss_cents),
            rung_position_qty=Qty(risk.rung_position_qty),
            order_qty=Qty(risk.order_qty),
            event_net_qty=Qty(risk.event_net_qty),
            event_gross_qty=Qty(risk.event_gross_qty),
            event_gross_cents=Cents(risk.event_gross_cents),
            resting_cents=Cents(risk.resting_cents),
            resting_orders=risk.resting_orders,
            flat_ns=risk.flat_ms * NS_PER_MS,
        ),
        pace=PaceSettings(**_in_ns(file.pace)),
        budget=BudgetSettings(**file.budget.model_dump()),
        staleness=StalenessSettings(**_in_ns(file.trust)),
        start=StartSettings(strangers=file.start.strangers),
        news=file.news.settings(),
        curfew=file.curfew.settings(),
        keys=KeySettings(
            read=file.venue.names_read_key, standby=file.venue.standby_key_file is not None
        ),
        breakers=file.breakers.settings(),
    )


def _in_ns(part: Part) -> dict[str, int]:
    """A part's numbers by the trader's names for them, with every `_ms` turned into `_ns`."""
    numbers: dict[str, int] = {}
    for key, value in part.model_dump().items():
        is_ms = key.endswith("_ms")
        name = f"{key[:-3]}_ns" if is_ms else key
        numbers[_FIELDS.get(name, name)] = value * NS_PER_MS if is_ms else value
    return numbers


_FIELDS: Final = {key: name for name, key in JOURNAL_NAMES.items()}


# --- checks over several keys ---------------------------------------------------------------------


def _cross_checked(file: File, source: YamlText) -> list[Fault]:
    faults: list[Fault] = []

    def wrong(place: Place, text: str) -> None:
        name = ".".join(str(step) for step in place)
        faults.append(Fault(source.line_of(place), f"{name}: {text}"))

    if file.name is not None and _NAME.fullmatch(file.name) is None:
        wrong(("name",), f"{file.name[:60]!r}; accepted: small letters, digits, - and _")
    elif file.name is None and _NAME.fullmatch(source.path.stem) is None:
        wrong(("name",), "missing, and the file's own name cannot stand for it")
    if not is_path_segment(file.series):
        wrong(("series",), f"{file.series[:60]!r}; accepted: letters, digits, dots and hyphens")
    for place in _blanks(source.content, ()):
        # A blank path would be the folder that it starts from, and a blank name is no key's.
        is_state = place == ("state", "dir")
        what = "a folder of the bot's own" if is_state else "what it is, or leave the key out"
        wrong(place, f"blank; accepted: {what}")
    _check_venue(file.venue, wrong)
    _check_reaper(file, wrong)
    _check_paper(file, wrong)
    _check_numbers(file, wrong)
    _check_status(file.status, wrong)
    check_records(file.records, source.path.parent, wrong)
    check_notices(file.notices, wrong)
    return faults


def _blanks(content: Plain, place: Place) -> Iterator[Place]:
    """Where a path, or the name of a key, says nothing; a strategy's parameters are its own."""
    if isinstance(content, str):
        last = str(place[-1])
        if not content.strip() and (last in ("dir", "embedded") or last.endswith(_SAID)):
            yield place
    elif place not in (("strategy",), ("shadow",)):
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for step, inner in pairs:
            yield from _blanks(inner, (*place, step))


_SAID: Final = ("file", "key_name")


def _check_venue(venue: Venue, wrong: Wrong) -> None:
    if (venue.embedded is None) == (venue.base_url is None):
        wrong(("venue",), "exactly one of embedded and base_url is wanted")
        return
    if venue.embedded is not None:
        for key in type(venue).model_fields:
            if key != "embedded" and getattr(venue, key) is not None:
                wrong(("venue", key), "not with embedded, which gives its own")
        return
    own = KeyPlace.of(Path(), venue.key_file, venue.key_name, venue.key_env)
    check_key("venue", own, wrong)
    if venue.names_read_key:
        read = KeyPlace.of(Path(), venue.read_key_file, venue.read_key_name, venue.read_key_env)
        check_key("venue", read, wrong, "read_")
    if venue.standby_key_name is not None and venue.standby_key_file is None:
        wrong(("venue", "standby_key_name"), "only beside standby_key_file")
    assert venue.base_url is not None
    check_address(("venue", "base_url"), venue.base_url, ("http", "https"), wrong)
    if not venue.base_url.rstrip("/").endswith(API_PREFIX):
        wrong(("venue", "base_url"), f"accepted: an address that ends in {API_PREFIX}")
    if venue.stream_url is not None:
        check_address(("venue", "stream_url"), venue.stream_url, ("ws", "wss"), wrong)


def _check_paper(file: File, wrong: Wrong) -> None:
    paper = file.paper
    if not paper.names_key:
        return
    if file.venue.embedded is not None:
        wrong(("paper",), "no key with an embedded venue, which gives its own")
    check_key("paper", KeyPlace.of(Path(), paper.key_file, paper.key_name, paper.key_env), wrong)


def _check_reaper(file: File, wrong: Wrong) -> None:
    if file.reaper is None:
        return
    if file.venue.embedded is not None:
        wrong(("reaper",), "not with an embedded venue, which ends with its bot")
    reaper = file.reaper
    own = KeyPlace.of(Path(), reaper.key_file, reaper.key_name, reaper.key_env)
    check_key("reaper", own, wrong)


_LEAST: Final = (
    ("series_loss_cents", "event_loss_cents", ""),
    ("account_loss_cents", "series_loss_cents", "for none"),
    ("event_gross_qty", "order_qty", "for what follows"),
    ("event_net_qty", "order_qty", "for what follows"),
    ("event_gross_cents", "event_loss_cents", "for what follows"),
    ("rung_position_qty", "order_qty", ""),
)
"""Limits that cannot be smaller than another one, and what 0 stands for where it is accepted."""


def _check_numbers(file: File, wrong: Wrong) -> None:
    risk, budget, trust = file.risk, file.budget, file.trust
    for key, least, off in _LEAST:
        value, bound = getattr(risk, key), getattr(risk, least)
        if value < bound and not (off and value == 0):
            also = f"; or 0 {off}" if off else ""
            wrong(("risk", key), f"{value} is below {least}; accepted: at least {bound}{also}")
    if budget.reserve >= budget.burst:
        why = "is not below burst: nothing could ever be quoted"
        accepted = f"at most {budget.burst - 1}, or a larger burst"
        wrong(("budget", "reserve"), f"{budget.reserve} {why}; accepted: {accepted}")
    if risk.resting_orders > budget.burst:
        why = "is above budget.burst: not all could be cancelled at once"
        most = f"accepted: at most {budget.burst}"
        wrong(("risk", "resting_orders"), f"{risk.resting_orders} {why}; {most}")
    if trust.recheck_ms >= trust.book_ms:
        why = "is not below book_ms: a book would be too old before it is checked"
        accepted = f"at most {trust.book_ms - 1}"
        wrong(("trust", "recheck_ms"), f"{trust.recheck_ms} {why}; accepted: {accepted}")
    for place, text in beyond_caps(file.breakers, risk.order_qty):
        wrong(place, text)


def _check_status(status: Status, wrong: Wrong) -> None:
    if not is_loopback(status.host) and not status.allowed_hosts:
        wrong(
            ("status", "host"),
            "not loopback; name the Host headers to answer to in allowed_hosts to mean it",
        )
