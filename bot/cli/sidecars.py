"""The sidecars of a run, made from its configuration: the records and the notices."""

import time
from contextlib import closing
from pathlib import Path

import structlog

from bot.config.bot_config import SQLITE_NAME, BotConfig, ExternalSettings, RecordsSettings
from bot.config.secrets import KeyPlace, Wrong, check_address
from bot.config.sections import NoticePart
from bot.core.account.markouts import MILLI
from bot.core.messages import LossRecord
from bot.core.risk.loss_budgets import ProfitAt, budgets_of, rebuilt
from bot.io import secret
from bot.io.notices import Notices, Target, What
from bot.io.run.runner import Sidecar
from bot.io.secret import Secret, SecretFault
from bot.records.daily_summary import DailySummary, StorePlace, store_at
from bot.records.database import Sqlite, StoreFault, is_read_only_mount
from bot.records.recorder import Recorder
from bot.records.rows import BUCKET_S
from bot.records.store import Store
from venue.wire.instant import NS_PER_SECOND


def sidecars_of(config: BotConfig, state: Path, *, paper: bool = False) -> tuple[Sidecar, ...]:
    """Those that a configuration asks for; those of a paper run have "paper" in their names.

    Raises SecretFault if a password or an address that it names cannot be read, so that the run
    ends before it trades.
    """
    name = f"{config.name} (paper)" if paper else config.name
    notices = Notices(name, [_target(each, config.source.path.parent) for each in config.notices])
    found: list[Sidecar] = [notices] if config.notices else []
    records = config.records
    if records.keep:
        password = password_of(records)
        venue = config.venue
        is_lasting = isinstance(venue, ExternalSettings)
        label = venue.base_url if isinstance(venue, ExternalSettings) else "embedded"
        is_wanted = any(What.DAILY_SUMMARY in each.events for each in config.notices)
        place = _place(records, config.name, state)
        found.append(
            Recorder(
                lambda: store_at(place, password),
                state,
                f"paper at {label}" if paper else label,
                keep_days=records.keep_days,
                series=config.trader.series_ticker,
                is_lasting=is_lasting,
                password=password,
                summary=DailySummary(place, password) if is_wanted else None,
                notify=lambda text, at_ns: notices.notify(What.DAILY_SUMMARY, text, at_ns),
            )
        )
    return tuple(found)


def losses_by_records(config: BotConfig, state: Path) -> LossRecord | None:
    """What the records say of the loss budgets, for a state directory that has lost them; None
    where they cannot be read or say nothing."""
    budgets = budgets_of(config.trader.loss_budgets)
    if not (budgets and config.records.keep and isinstance(config.venue, ExternalSettings)):
        return None
    now_ns = time.time_ns()
    from_ns = min(each.start_ns(now_ns) for each in budgets) - BUCKET_S * NS_PER_SECOND
    try:
        with closing(open_store(config.records, config.name, state)) as store:
            rows = [
                ProfitAt(row.at_ns, row.started_ns, round(row.profit / MILLI))
                for account in store.accounts()
                if account.label == config.venue.base_url
                for row in store.profits(account.account, from_ns, now_ns)
            ]
    except (StoreFault, SecretFault) as fault:
        structlog.stdlib.get_logger("bot").info("loss_budgets_not_rebuilt", reason=str(fault))
        return None
    return rebuilt(config.trader.loss_budgets, rows, now_ns)


def require_secrets(config: BotConfig) -> None:
    """Raise SecretFault as `sidecars_of` would, without making anything."""
    for each in config.notices:
        _target(each, config.source.path.parent)
    if config.records.keep:
        password_of(config.records)


def open_store(records: RecordsSettings, book: str, state: Path) -> Store:
    """The records of a bot, to read from; on a read-only mount nothing is written at all.

    Raises StoreFault if there are none, and SecretFault for their password.
    """
    password = password_of(records)
    path = records.file or state / SQLITE_NAME
    if not records.keep:
        raise StoreFault("no records are kept (records.keep: false)")
    read_only = False
    try:
        exists = records.address is not None or path.exists()
        read_only = records.address is None and exists and is_read_only_mount(path)
    except OSError as fault:  # such as in the folder of another user
        raise StoreFault(f"{path}: {fault.strerror}") from None
    if not exists:
        raise StoreFault(f"{path}: no records there; name the state directory of the bot")
    if read_only:
        return Store(lambda: Sqlite(path.absolute(), is_read_only=True), book)
    return store_at(_place(records, book, state), password)


def password_of(records: RecordsSettings) -> Secret | None:
    """The password of the PostgreSQL, if one is named. Raises SecretFault."""
    return None if records.password is None else _secret(records.password, "password")


def _place(records: RecordsSettings, book: str, state: Path) -> StorePlace:
    return StorePlace(book, (records.file or state / SQLITE_NAME).absolute(), records.address)


def _target(part: NoticePart, folder: Path) -> Target:
    """A webhook with its address. Raises SecretFault for a text that is no address."""
    place = KeyPlace.of(folder, part, "url")
    assert place is not None
    address = _secret(place, "address of the webhook")
    faults: list[str] = []
    wrong: Wrong = lambda _, text: faults.append(text)  # noqa: E731 - a list with a name
    # The part behind the path is the webhook's secret, and may hold a query.
    check_address((), address.reveal().partition("?")[0], ("http", "https"), wrong)
    if faults:
        where = place.key_file or f"environment variable {place.key_env}"
        raise secret.SecretFault(f"{where}: not the address of a webhook: {faults[0]}")
    return Target(address, part.form, frozenset(part.events), part.per_minute, part.repeat_s)


def _secret(place: KeyPlace, what: str) -> Secret:
    if place.key_file is not None:
        return secret.from_file(place.key_file, what=what)
    assert place.key_env is not None
    return secret.from_environment(place.key_env, what=what)
