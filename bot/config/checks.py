"""Checks over several keys of the configuration file; the bounds of one key are in its row."""

import os
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bot.config.calendar_entries import INSTANT, is_instant
from bot.config.outside_sources import check_sources
from bot.config.secrets import (
    SHORT_NAME,
    VARIABLE,
    KeyPlace,
    Wrong,
    check_address,
    check_key,
    file_in,
    is_loopback,
)
from bot.config.sections import Breakers, File, LossBudgets, NoticePart, Records, Venue
from bot.config.strict_yaml import Fault, Place, Plain, YamlText
from bot.core.risk.breakers import ORDER_NOTIONAL_CENTS_CAP, ORDER_QTY_CAP, TICKS_THROUGH_CAP
from bot.io.adapter import BUILT_IN, adapter_names
from venue.wire.names import is_path_segment
from venue.wire.routes import API_PREFIX

NOTICES_MAX: Final = 4


def check_file(file: File, source: YamlText) -> list[Fault]:
    faults: list[Fault] = []

    def wrong(place: Place, text: str) -> None:
        name = ".".join(str(step) for step in place)
        faults.append(Fault(source.line_of(place), f"{name}: {text}"))

    if file.name is not None and SHORT_NAME.fullmatch(file.name) is None:
        wrong(("name",), f"{file.name[:60]!r}; accepted: small letters, digits, - and _")
    elif file.name is None and SHORT_NAME.fullmatch(source.path.stem) is None:
        wrong(("name",), "missing, and the file's own name is no short name")
    if not is_path_segment(file.series):
        wrong(("series",), f"{file.series[:60]!r}; accepted: letters, digits, dots and hyphens")
    for place in _blanks(source.content, ()):
        # A blank path would be the folder that it starts from, and a blank name is no key's.
        is_state = place == ("state", "dir")
        accepted = "a folder of the bot's own" if is_state else "a value, or leave the key out"
        wrong(place, f"blank; accepted: {accepted}")
    _check_venue(file.venue, wrong)
    _check_own_keys(file, wrong)
    _check_numbers(file, wrong)
    if not is_loopback(file.status.host) and not file.status.allowed_hosts:
        wrong(
            ("status", "host"),
            "not loopback; name the Host headers to answer to in allowed_hosts to mean it",
        )
    _check_records(file.records, source.path.parent, wrong)
    _check_notices(file.notices, wrong)
    check_sources(file.fair_value.sources, wrong)
    return faults


def _blanks(content: Plain, place: Place) -> Iterator[Place]:
    """Paths and names of keys that are blank; a strategy's parameters are its own."""
    if isinstance(content, str):
        last = str(place[-1])
        if not content.strip() and (
            last in ("dir", "embedded") or last.endswith(("file", "key_name"))
        ):
            yield place
    elif place not in (("strategy",), ("shadow",)):
        pairs = content.items() if isinstance(content, dict) else enumerate(content)
        for step, inner in pairs:
            yield from _blanks(inner, (*place, step))


def _check_venue(venue: Venue, wrong: Wrong) -> None:
    if (venue.embedded is None) == (venue.base_url is None):
        wrong(("venue",), "exactly one of embedded and base_url is wanted")
        return
    if venue.embedded is not None:
        for key, field in type(venue).model_fields.items():
            if key != "embedded" and getattr(venue, key) != field.default:
                wrong(("venue", key), "not with embedded, which gives its own")
        return
    check_key("venue", venue, wrong)
    if KeyPlace.of(Path(), venue, "read_key") is not None:
        check_key("venue", venue, wrong, "read_key")
    if venue.standby_key_name is not None and venue.standby_key_file is None:
        wrong(("venue", "standby_key_name"), "only with standby_key_file")
    assert venue.base_url is not None
    check_address(("venue", "base_url"), venue.base_url, ("http", "https"), wrong)
    if venue.adapter != BUILT_IN and venue.adapter not in (names := adapter_names()):
        wrong(("venue", "adapter"), f"{venue.adapter[:60]!r}; accepted: {', '.join(names)}")
    if venue.adapter == BUILT_IN and not venue.base_url.rstrip("/").endswith(API_PREFIX):
        wrong(("venue", "base_url"), f"accepted: an address that ends in {API_PREFIX}")
    if venue.stream_url is not None:
        check_address(("venue", "stream_url"), venue.stream_url, ("ws", "wss"), wrong)


def _check_own_keys(file: File, wrong: Wrong) -> None:
    is_embedded = file.venue.embedded is not None
    if file.reaper is not None:
        if is_embedded:
            wrong(("reaper",), "not with an embedded venue, which ends with its bot")
        check_key("reaper", file.reaper, wrong)
    if KeyPlace.of(Path(), file.paper) is not None:
        if is_embedded:
            wrong(("paper",), "no key with an embedded venue, which gives its own")
        check_key("paper", file.paper, wrong)


_AT_LEAST: Final = (
    ("series_loss_cents", "event_loss_cents", ""),
    ("account_loss_cents", "series_loss_cents", "for none"),
    ("event_gross_qty", "order_qty", "for what follows"),
    ("event_net_qty", "order_qty", "for what follows"),
    ("event_gross_cents", "event_loss_cents", "for what follows"),
    ("rung_position_qty", "order_qty", ""),
)
"""Limits that cannot be smaller than another one, and what 0 means where it is accepted."""


def _check_numbers(file: File, wrong: Wrong) -> None:
    risk, budget, staleness, breakers = file.risk, file.budget, file.staleness, file.breakers
    for key, least, off in _AT_LEAST:
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
    if staleness.recheck_ms >= staleness.book_ms:
        why = "is not below book_ms: a book would be stale before it is read again"
        accepted = f"at most {staleness.book_ms - 1}"
        wrong(("staleness", "recheck_ms"), f"{staleness.recheck_ms} {why}; accepted: {accepted}")
    exit_ms, stop_ms = file.wind_down.exit_ms, file.wind_down.stop_ms
    if 0 < exit_ms <= stop_ms:
        accepted = f"more than wind_down.stop_ms ({stop_ms}), which ends it, or 0 for none"
        wrong(("wind_down", "exit_ms"), f"{exit_ms}; accepted: {accepted}")
    for place, text in beyond_caps(breakers, risk.order_qty):
        wrong(place, text)
    _check_loss_budgets(file.loss_budgets, wrong)


def _check_loss_budgets(budgets: LossBudgets, wrong: Wrong) -> None:
    since, section = budgets.since, "loss_budgets"
    if bool(since) is not bool(budgets.since_cents):
        wrong((section, "since"), "exactly with since_cents above 0; accepted: both, or neither")
    elif since and not is_instant(since):
        wrong((section, "since"), f"{since[:60]!r}; accepted: {INSTANT}")
    if budgets.reduce_only_pct < budgets.reduced_pct:
        text = f"{budgets.reduce_only_pct} is below reduced_pct; accepted: at least"
        wrong((section, "reduce_only_pct"), f"{text} {budgets.reduced_pct}")


def beyond_caps(breakers: Breakers, order_qty: int) -> Iterator[tuple[Place, str]]:
    """Every number that a compiled cap refuses: to pass it two people have to change two files."""
    for place, value, cap in (
        (("risk", "order_qty"), order_qty, ORDER_QTY_CAP),
        (
            ("breakers", "order_notional_cents"),
            breakers.order_notional_cents,
            ORDER_NOTIONAL_CENTS_CAP,
        ),
        (("breakers", "ticks_through"), breakers.ticks_through, TICKS_THROUGH_CAP),
    ):
        if value > cap:
            yield place, f"{value} is beyond the compiled cap of {cap} (bot/core/risk/breakers.py)"


def _check_records(part: Records, folder: Path, wrong: Wrong) -> None:
    # Not pathlib's, which raises for a folder that is not to be looked into.
    if part.file is not None and os.path.isdir(file_in(folder, part.file)):  # noqa: PTH112
        wrong(("records", "file"), f"{part.file!r} is a folder; accepted: the path of a file")
    if part.file is not None and part.postgres_url is not None:
        wrong(("records", "file"), "a file or postgres_url, not both")
    for name in ("postgres_password_file", "postgres_password_env", "postgres_ca_file"):
        if getattr(part, name) is not None and part.postgres_url is None:
            wrong(("records", name), "only with postgres_url")
    if part.postgres_password_file is not None and part.postgres_password_env is not None:
        wrong(("records", "postgres_password_env"), "a file or a variable, not both")
    _check_variable(part.postgres_password_env, ("records", "postgres_password_env"), wrong)
    if part.postgres_url is not None:
        _check_postgres(part.postgres_url, wrong)


def _check_postgres(text: str, wrong: Wrong) -> None:
    place = ("records", "postgres_url")
    try:
        url = urllib.parse.urlsplit(text)
        host, _ = url.hostname, url.port
    except ValueError:
        wrong(place, "not an address")
        return
    if url.password is not None:
        # Not shown: it has been written where everybody reads it.
        wrong(place, "a password has no place here; name postgres_password_file or _env")
    elif url.scheme != "postgresql" or not (host and url.username and url.path[1:]):
        wrong(place, "accepted: postgresql://user@host:port/database")
    elif url.query or url.fragment or "/" in url.path[1:]:
        wrong(place, "no query or fragment in it")


def _check_notices(parts: tuple[NoticePart, ...], wrong: Wrong) -> None:
    if len(parts) > NOTICES_MAX:
        wrong(("notices", NOTICES_MAX), f"{NOTICES_MAX} receivers at most")
    for number, part in enumerate(parts):
        if (part.url_file is None) == (part.url_env is None):
            wrong(("notices", number), "exactly one of url_file and url_env is wanted")
        _check_variable(part.url_env, ("notices", number, "url_env"), wrong)
        if not part.events:
            wrong(("notices", number, "events"), "at least one")


def _check_variable(name: str | None, place: Place, wrong: Wrong) -> None:
    if name is not None and VARIABLE.fullmatch(name) is None:
        wrong(place, "not the name of a variable; never write the secret itself here")
