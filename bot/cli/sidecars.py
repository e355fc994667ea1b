"""What stands beside a run, made of its configuration: the records that are kept, who is told."""

from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.bot_config import SQLITE_NAME, RecordsSettings
from bot.config.secrets import KeyPlace, Wrong, check_address
from bot.config.sections import NoticePart
from bot.io import secret
from bot.io.notices import Notices, Target, What
from bot.io.run.runner import Sidecar
from bot.io.secret import Secret
from bot.records.database import Sqlite, StoreFault, takes_no_writes
from bot.records.recorder import Recorder
from bot.records.store import Store
from bot.records.telling import Place, Teller, store_at

if TYPE_CHECKING:
    from bot.config.bot_config import BotConfig


def companions_of(config: "BotConfig", state: Path, *, paper: bool = False) -> tuple[Sidecar, ...]:
    """Those that a configuration asks for. paper: True for a paper run, which they name so.

    Raises SecretFault when a password or an address that it names cannot be had: that is told
    before anything is traded."""
    from bot.config.bot_config import ExternalSettings

    name = f"{config.name} (paper)" if paper else config.name
    notices = Notices(name, [_target(each, config.source.path.parent) for each in config.notices])
    found: list[Sidecar] = [notices] if config.notices else []
    records = config.records
    if records.keep:
        password = password_of(records)
        venue = config.venue
        is_lasting = isinstance(venue, ExternalSettings)
        label = venue.base_url if isinstance(venue, ExternalSettings) else "embedded"
        label = f"paper at {label}" if paper else label
        is_wanted = any(What.DAILY_SUMMARY in each.events for each in config.notices)
        place = _place(records, config.name, state)
        found.append(
            Recorder(
                lambda: open_store(records, config.name, state, password),
                state,
                label,
                keep_days=records.keep_days,
                series=config.trader.series_ticker,
                is_lasting=is_lasting,
                password=password,
                teller=Teller(place, password) if is_wanted else None,
                told=lambda text, at_ns: notices.notify(What.DAILY_SUMMARY, text, at_ns),
            )
        )
    return tuple(found)


def refuse_missing(config: "BotConfig") -> None:
    """Raise SecretFault for the first address of a webhook, or password of the records, that cannot
    be had: what `companions_of` would refuse, without making anything."""
    for each in config.notices:
        _target(each, config.source.path.parent)
    if config.records.keep:
        password_of(config.records)


def open_store(records: RecordsSettings, book: str, state: Path, password: Secret | None) -> Store:
    """The records of a bot. Raises StoreFault."""
    return store_at(_place(records, book, state), password)


def _place(records: RecordsSettings, book: str, state: Path) -> Place:
    return Place(book, (records.file or state / SQLITE_NAME).absolute(), records.address)


def existing_store(
    records: RecordsSettings, book: str, state: Path, password: Secret | None
) -> Store:
    """The same to read from, but none is made: raises StoreFault when there is no file yet.

    On a file system that is mounted read-only it is read as it stands.
    """
    path = records.file or state / SQLITE_NAME
    if not records.keep:
        raise StoreFault("no records are kept (records.keep: false)")
    unwritten = False
    try:
        there = records.address is not None or path.exists()
        unwritten = records.address is None and there and takes_no_writes(path)
    except OSError as fault:  # such as in the folder of another user
        raise StoreFault(f"{path}: {fault.strerror}") from None
    if not there:
        raise StoreFault(f"{path}: no records there; name the state directory of the bot")
    if unwritten:
        return Store(lambda: Sqlite(path.absolute(), is_read_only=True), book)
    return open_store(records, book, state, password)


def password_of(records: RecordsSettings) -> Secret | None:
    """The password of the PostgreSQL, if one is named. Raises SecretFault."""
    return None if records.password is None else _secret(records.password, "password")


def _target(part: NoticePart, folder: Path) -> Target:
    """A receiver with its address. Raises SecretFault when that is none to send to."""
    place = KeyPlace.named(folder, part.url_file, None, part.url_env)
    address = _secret(place, "address of the webhook")
    faults: list[str] = []
    wrong: Wrong = lambda _, text: faults.append(text)  # noqa: E731 - a list with a name
    # What stands behind the path of a webhook is its secret, and may hold a query.
    check_address((), address.reveal().partition("?")[0], ("http", "https"), wrong)
    if faults:
        where = place.key_file or f"environment variable {place.key_env}"
        raise secret.SecretFault(f"{where}: no address of a webhook: {faults[0]}")
    return Target(address, part.form, frozenset(part.events), part.per_minute, part.repeat_s)


def _secret(place: KeyPlace, what: str) -> Secret:
    if place.key_file is not None:
        return secret.from_file(place.key_file, what=what)
    assert place.key_env is not None
    return secret.from_environment(place.key_env, what=what)
