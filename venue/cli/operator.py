"""The operator's commands: each is one request to a running venue, and its reply.

A command is one function here: its parameters fill the path and the body of the request. The venue
alone checks the values and says what it accepts. A raw key or token goes to the file that `--out`
names, for its owner only, or once to stdout.

Exit codes: 0 done, 2 bad options, 3 the venue cannot be reached or refuses the token, 4 refused by
the venue.
"""

import contextlib
import functools
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from venue.cli.groups import NonBlankGroup, arg, end, opt

EXIT_OPTIONS: Final = 2
EXIT_UNREACHABLE: Final = 3
EXIT_REFUSED: Final = 4

DEFAULT_CONTROL: Final = "127.0.0.1:8091"
DEFAULT_TOKEN_FILE: Final = Path("state/venue-control-token")
_BULK_PATH: Final = "listings"
_OWNER_ONLY: Final = 0o600
_PATH_PARAMETER: Final = re.compile(r"\{(\w+)\}")

Body = dict[str, Any]


class AdminTarget:
    """One venue to ask, and how to print its replies."""

    def __init__(self, control: str, token_file: Path, as_json: bool) -> None:
        self._control = control
        self._token_file = token_file
        self._as_json = as_json

    def request(self, method: str, path: str, body: Body | None = None) -> Body:
        """The reply to one request. Ends the process when there is none."""
        from venue.admin.listener import ControlFault
        from venue.cli import client
        from venue.cli.client import MAY_BE_DONE, Refused, Rejected, Unreachable

        timeout_s = client.BULK_TIMEOUT_S if path == _BULK_PATH else client.TIMEOUT_S
        try:
            made = client.ControlClient(self._control, self._token_file)
            return made.request(method, path, body, timeout_s)
        except (ControlFault, Rejected) as fault:
            end(EXIT_OPTIONS, str(fault))
        except Unreachable as fault:
            end(EXIT_UNREACHABLE, str(fault))
        except Refused as fault:
            end(EXIT_REFUSED, str(fault))
        except KeyboardInterrupt:
            if method != "GET":
                typer.echo(f"interrupted: {MAY_BE_DONE}", err=True)
            raise

    def print_reply(self, reply: Body) -> None:
        """As one JSON object, or as lines for people."""
        from venue.cli.client import reply_lines

        for line in [json.dumps(reply)] if self._as_json else reply_lines(reply):
            typer.echo(line)


def _parameter(name: str, kind: Any, option: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


_TARGET_PARAMETERS: Final = (
    _parameter(
        "control",
        str,
        opt("Where the venue's control interface listens.", "--control"),
        DEFAULT_CONTROL,
    ),
    _parameter(
        "token_file",
        Path,
        opt("The file with its token.", "--token-file"),
        DEFAULT_TOKEN_FILE,
    ),
    _parameter("as_json", bool, opt("Print the reply as one JSON object.", "--json"), False),
)

_groups: Final[dict[str, typer.Typer]] = {}
_commands: Final[list[tuple[str, Callable[..., None], str]]] = []
"""Of no group: name, function, example."""

ENDPOINTS: Final[dict[tuple[str, str], str]] = {}
"""Method and path of every request that a command makes, and the command's words; a test compares
them with the venue's."""


def _group(name: str, about: str, example: str) -> None:
    _groups[name] = typer.Typer(
        name=name,
        cls=NonBlankGroup,
        help=about,
        epilog=f"\b\nExample: venue {name} {example}",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
    )


def _command(
    words: str, example: str, method: str, path: str, raw_field: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as the command `words`.

    Its parameters fill `{name}` in the path, and the others are the body, where None is left out. A
    function may return the body, or the path of a request without one, instead.
    raw_field: the field of the reply that goes to the file of the option `--out`, if it is given.
    """
    ENDPOINTS[method, path] = words
    in_path = _PATH_PARAMETER.findall(path)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(*, control: str, token_file: Path, as_json: bool, **values: Any) -> None:
            target = AdminTarget(control, token_file, as_json)
            out = values.pop("out", None)
            made = function(**values)
            body = made if isinstance(made, dict) else None
            if isinstance(made, str):
                asked = made
            else:
                asked = path.format(**{name: _quoted(values[name]) for name in in_path})
                if made is None:
                    rest = {name: each for name, each in values.items() if name not in in_path}
                    body = _without_none(rest) or None
            if raw_field:
                _create(target, asked, body or {}, raw_field, out)
            else:
                target.print_reply(target.request(method, asked, body))

        signature = inspect.signature(function)
        parameters = [
            each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for each in signature.parameters.values()
        ]
        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*parameters, *_TARGET_PARAMETERS], return_annotation=None
        )
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        group, _, name = words.rpartition(" ")
        epilog = (
            example if example.startswith("\b") else f"Example: venue {words} {example}".rstrip()
        )
        if group:
            _groups[group].command(name, epilog=epilog)(run)
        else:
            _commands.append((name, run, epilog))
        return function

    return register


def mount(app: typer.Typer) -> None:
    """Add every operator's command to the venue's command line."""
    for group in _groups.values():
        app.add_typer(group)
    for name, function, epilog in _commands:
        app.command(name, epilog=epilog)(function)


def _without_none(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not None}


def _parts(text: str) -> list[str]:
    """The words between the commas; none of an empty text."""
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _quoted(name: str) -> str:
    """A name as one segment of a path. Ends the process for one that no path can hold."""
    from urllib.parse import quote

    try:
        return quote(name, safe="")
    except UnicodeEncodeError:
        end(EXIT_OPTIONS, f"{name!a}: accepted is a name in UTF-8")


def _create(target: AdminTarget, path: str, body: Body, raw_field: str, out: Path | None) -> None:
    """Ask for a credential, and put the raw one into the file `out`, if that is given."""
    from venue.storage.folder import sync_directory

    if out is None:
        reply = target.request("POST", path, body)
        try:
            target.print_reply(reply)
        except OSError:
            # A full disk, or a closed pipe.
            typer.echo(_abandon(target, reply), err=True)
            raise
        return
    # The file first: no credential is made that there is no place for.
    with _new_file(out) as descriptor:
        reply = target.request("POST", path, body)
        raw = reply.pop(raw_field)
        try:
            os.write(descriptor, f"{raw}\n".encode())
            os.fsync(descriptor)
            sync_directory(out.parent)
        except OSError as fault:
            end(EXIT_OPTIONS, f"--out {out}: {fault.strerror}; {_abandon(target, reply)}")
    target.print_reply({**reply, f"{raw_field}_file": str(out)})


def _abandon(target: AdminTarget, made: Body) -> str:
    """Revoke a key that reached nobody, for it would count; a token ends by itself."""
    if "key_id" not in made:
        return f"nobody has the token, which ends at {made['expires_at']}; make another"
    target.request("POST", f"keys/{made['key_id']}/revoke")
    return f"nobody has key {made['key_id']}, which is revoked; make another"


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[int]:
    """A new file for its owner only, removed when the block fails."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, _OWNER_ONLY)
    except OSError as fault:
        end(EXIT_OPTIONS, f"--out {path}: cannot be made: {fault.strerror}")
    is_whole = False
    try:
        yield descriptor
        is_whole = True
    finally:
        os.close(descriptor)
        if not is_whole:
            path.unlink()


_group("company", "Companies whose valuations are traded.", "list")
_group("event", "Quarterly events of a series.", "status OSIER-VAL-26Q4 closed")
_group("market", "Rungs and binary markets of an event.", "halt OSIER-VAL-26Q4-2.5B")
_group("listing", "Companies, events and markets in bulk.", "add listings.json")
_group("user", "Account holders and their paper cash.", "list")
_group("key", "API keys.", "list --user anna")
_group("token", "Bearer tokens.", "create anna --application desk --scopes svc:markets:read")
_group("lag", "Latency of reads and the channel behind the engine.", "set 250")
_group("fault", "Faults of the REST interface, for developing clients against.", "list")


@_command("status", "--json", "GET", "status")
def _status() -> None:
    """Show the running venue at a glance."""


@_command("hash", "", "GET", "state-hash")
def _hash() -> None:
    """Show the hash of the exchange's state, and after which command."""


@_command("state", "cancel-only", "PUT", "venue-state")
def _state(
    wanted: Annotated[str, arg("open, cancel-only or halted.", metavar="STATE")],
) -> Body:
    """Stop the whole venue, let it take cancels only, or open it again."""
    return {"state": wanted.replace("-", "_")}


@_command("lag set", "250", "PUT", "projection")
def _lag_set(lag_ms: Annotated[int, arg("Milliseconds.", metavar="MS")]) -> None:
    """Set the latency of reads and the channel behind the engine."""


@_command("fault list", "", "GET", "faults")
def _fault_list() -> None:
    """List the faults in force."""


@_command("fault add", "drop_after --share 0.25 --verbs create", "POST", "faults")
def _fault_add(
    kind: Annotated[str, arg("One of those above.")],
    count: Annotated[int | None, opt("The next so many requests.")] = None,
    share: Annotated[str | None, opt("A share of the requests, 0 to 1.")] = None,
    verbs: Annotated[str | None, opt("create, amend, cancel, with commas; all otherwise.")] = None,
    seed: Annotated[int | None, opt("What the share is drawn from.")] = None,
    delay_ms: Annotated[int | None, opt("Of reply_delay, required: milliseconds.")] = None,
    on: Annotated[str | None, opt("Of reply_delay, required: writes, reads or all.")] = None,
    retry_after_s: Annotated[
        int | None, opt("Of rate_limited, required: seconds.", "--retry-after")
    ] = None,
    limit: Annotated[
        int | None, opt("Of rate_limit_lowered, required: tokens in a bucket.")
    ] = None,
) -> Body:
    """Put a fault in force, instead of the one of its kind if there is one.

    Of writes, with --count or --share. Not carried out: engine_unavailable, engine_overloaded,
    result_unknown_before, internal_error_before, drop_before. Carried out: result_unknown_after,
    internal_error_after, drop_after.

    Of every request: reply_delay, rate_limited (the next one, without --count or --share) and
    rate_limit_lowered. Of reads: market_data_down, accounts_down.
    """
    body: Body = {"kind": kind, "count": count, "share": share}
    body |= {"verbs": None if verbs is None else _parts(verbs), "seed": seed, "delay_ms": delay_ms}
    return _without_none({**body, "on": on, "retry_after_s": retry_after_s, "limit": limit})


@_command("fault clear", "drop_after", "DELETE", "faults/{kind}")
def _fault_clear(
    kind: Annotated[str | None, arg("One kind; all of them otherwise.")] = None,
) -> str:
    """Take one fault, or all of them, out of force."""
    return "faults" if kind is None else f"faults/{_quoted(kind)}"


Company = Annotated[str, arg("UUID or symbol.")]
Market = Annotated[str, arg("Ticker or UUID.")]


@_command("company list", "--json", "GET", "companies")
def _company_list() -> None:
    """List every company, archived ones too."""


@_command("company add", '"Osier Labs" OSIER', "POST", "companies")
def _company_add(
    name: Annotated[str, arg("What it is called.")],
    symbol: Annotated[str, arg("Its handle on the channel.")],
    project_id: Annotated[str | None, opt("Its UUID; derived from the name otherwise.")] = None,
) -> None:
    """Add a company."""


@_command("company archive", "WILLOW", "POST", "companies/{company}/archive")
def _company_archive(company: Company) -> None:
    """Take a company's handles out of the directory; its UUIDs go on resolving."""


@_command("company rename", "OSIER WILLOW", "POST", "companies/{company}/symbol")
def _company_rename(company: Company, symbol: Annotated[str, arg("The new symbol.")]) -> None:
    """Give a company another symbol."""


@_command(
    "company value",
    "OSIER 2500000000 --confidence 0.8",
    "POST",
    "companies/{company}/implied-value",
)
def _company_value(
    company: Company,
    value_dollars: Annotated[str, arg("What it is thought to be worth, dollars.")],
    confidence: Annotated[str, opt("A decimal number of 0 to 1.")],
) -> None:
    """Publish a company's implied value on the channel."""


@_command(
    "event add",
    "\b\nExample: venue event add --company OSIER --series OSIER-VAL --quarter 26Q4 \\\n"
    '    --title "Valuation of Osier" --category valuation',
    "POST",
    "events",
)
def _event_add(
    company: Annotated[str, opt("UUID or symbol.", "--company")],
    series_ticker: Annotated[str, opt("The series' ticker.", "--series")],
    quarter: Annotated[str, opt("Such as 26Q4.")],
    title: Annotated[str, opt("The question.")],
    category: Annotated[str, opt("Such as valuation.")],
    status: Annotated[str, opt("unopened, open or closed.")] = "open",
    mutually_exclusive: Annotated[
        bool,
        opt(
            "Tell clients that one rung at most will resolve yes; nothing is enforced.",
            "--mutually-exclusive",
        ),
    ] = False,
    resolution_date: Annotated[
        str | None, opt("An RFC3339 instant in the quarter; its end otherwise.")
    ] = None,
    sub_title: Annotated[str | None, opt("A second line.")] = None,
    resolution_source: Annotated[str | None, opt("Who says how it ended.")] = None,
    project_market_id: Annotated[
        str | None, opt("Its UUID; derived from the ticker otherwise.")
    ] = None,
) -> None:
    """Add a series' event of one quarter; its markets follow with `venue market add`."""


@_command("event status", "OSIER-VAL-26Q4 closed", "PUT", "events/{event_ticker}/status")
def _event_status(
    event_ticker: Annotated[str, arg("The event's ticker.")],
    status: Annotated[str, arg("unopened, open or closed.")],
) -> None:
    """Open or close an event."""


@_command(
    "market add",
    "\b\nExample: venue market add OSIER-VAL-26Q4 2.5B \\\n"
    "    --maker-fee 0.01 --taker-fee 0.0175 \\\n"
    '    --strike-value 2.5 --strike-unit "USD billions"',
    "POST",
    "markets",
)
def _market_add(
    event_ticker: Annotated[str, arg("The event's ticker.", metavar="EVENT")],
    label: Annotated[str, arg("The rung's label; YES for a binary market.")],
    maker_fee_rate: Annotated[str, opt("A decimal fraction of 0 to 1.", "--maker-fee")],
    taker_fee_rate: Annotated[str, opt("A decimal fraction of 0 to 1.", "--taker-fee")],
    strike_value: Annotated[
        str | None, opt("A decimal number; else the one the label begins with.")
    ] = None,
    strike_unit: Annotated[
        str | None, opt("Such as USD billions; else that of the event's other rungs.")
    ] = None,
    name: Annotated[str | None, opt("Derived otherwise.")] = None,
    outcome_label: Annotated[str | None, opt("Derived otherwise.")] = None,
    description: Annotated[str | None, opt("The rules in words.")] = None,
    market_id: Annotated[str | None, opt("Its UUID; derived from the ticker otherwise.")] = None,
) -> None:
    """Add a market to an event."""


@_command("listing add", "listings.json", "POST", _BULK_PATH)
def _listing_add(
    file: Annotated[
        Path, arg("JSON: lists `companies`, `events`, `markets` of what a single add sends.")
    ],
) -> Body:
    """Add all companies, events and markets of a file, in this order; known ones stay."""
    try:
        listings = json.loads(file.read_text(encoding="utf-8"))
    except OSError as fault:
        end(EXIT_OPTIONS, f"{file}: {fault.strerror}")
    except ValueError as fault:
        end(EXIT_OPTIONS, f"{file}: not JSON: {fault}")
    if not isinstance(listings, dict):
        end(EXIT_OPTIONS, f"{file}: accepted is an object of companies, events, markets")
    return listings


@_command("market halt", "OSIER-VAL-26Q4-2.5B", "POST", "markets/{market}/halt")
def _market_halt(market: Market) -> None:
    """Refuse creates and amends on a market; cancels work."""


@_command("market resume", "OSIER-VAL-26Q4-2.5B", "POST", "markets/{market}/resume")
def _market_resume(market: Market) -> None:
    """Make a halted market active again."""


@_command("market resolve", "OSIER-VAL-26Q4-2.5B yes", "POST", "markets/{market}/resolve")
def _market_resolve(market: Market, winner: Annotated[str, arg("yes or no.")]) -> None:
    """Pay 100 cents to every share of the winner, for ever."""


User = Annotated[str, arg("The account holder.")]
Cents = Annotated[int, arg("Whole cents.")]
Out = Annotated[Path | None, opt("Write it to this new file, for its owner only, instead.")]


@_command("user list", "", "GET", "users")
def _user_list() -> None:
    """List every account holder with their cash."""


@_command("user add", "anna", "POST", "users")
def _user_add(user_id: User) -> None:
    """Add an account holder with no cash."""


@_command("user deposit", "anna 1000000", "POST", "users/{user_id}/deposits")
def _user_deposit(user_id: User, amount_cents: Cents) -> None:
    """Add paper cash to an account."""


@_command("user withdraw", "anna 1000000", "POST", "users/{user_id}/withdrawals")
def _user_withdraw(user_id: User, amount_cents: Cents) -> None:
    """Take available cash out of an account."""


@_command("key list", "--user anna", "GET", "keys")
def _key_list(
    of_user: Annotated[str | None, opt("Of one account holder.", "--user")] = None,
) -> str:
    """List keys, revoked ones too; never the raw ones."""
    return "keys" if of_user is None else f"keys?user_id={_quoted(of_user)}"


@_command("key create", "anna --scopes read,trade --out anna.key", "POST", "keys", raw_field="key")
def _key_create(
    of_user: Annotated[str | None, arg("Whose it is.", metavar="USER")] = None,
    scopes: Annotated[str, opt("read, trade, both with a comma, or empty.")] = "read",
    unusable: Annotated[
        bool, opt("No user: a key that answers api_key_misconfigured.", "--unusable")
    ] = False,
    out: Out = None,
) -> Body:
    """Create a key; the raw one is shown this once."""
    if unusable == (of_user is not None):
        end(EXIT_OPTIONS, "USER or --unusable: exactly one of them is wanted")
    return {"user_id": of_user, "scopes": _parts(scopes)}


@_command("key revoke", "0123456789abcdef", "POST", "keys/{key_id}/revoke")
def _key_revoke(
    key_id: Annotated[str, arg("As `venue key list` shows it.")],
) -> None:
    """Stop a key, at once and for ever."""


@_command(
    "token create",
    "\b\nExample: venue token create anna --application desk \\\n"
    "    --scopes svc:markets:read --lifetime-s 3600",
    "POST",
    "tokens",
    raw_field="token",
)
def _token_create(
    user_id: User,
    application: Annotated[str, opt("Which application acts for the user.")],
    scopes: Annotated[str, opt("With commas, such as svc:markets:read.")],
    lifetime_s: Annotated[int, opt("Seconds until it expires.")] = 3600,
    out: Out = None,
) -> Body:
    """Create a bearer token; the raw one is shown this once."""
    body = {"user_id": user_id, "application": application, "scopes": _parts(scopes)}
    return {**body, "lifetime_s": lifetime_s}
