"""Commands about who may trade: `venue user`, `venue key`, `venue token`.

A raw key or token goes to the file that `--out` names, for its owner only, or once to stdout.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from venue.admin.cli_ask import (
    DEFAULT_CONTROL,
    DEFAULT_TOKEN_FILE,
    EXIT_OPTIONS,
    AdminTarget,
    Control,
    Json,
    TokenFile,
    end,
    noun,
    parts,
    quoted,
)
from venue.durable import sync_directory

user = noun("user", "Account holders and their paper cash.", "list")
key = noun("key", "API keys.", "list --user anna")
token = noun("token", "Bearer tokens.", "create anna --application desk --scopes svc:markets:read")

User = Annotated[str, typer.Argument(help="The account holder.")]
Cents = Annotated[int, typer.Argument(help="Whole cents.")]
Out = Annotated[
    Path | None, typer.Option(help="Write it to this new file, for its owner only, instead.")
]

_OWNER_ONLY: Final = 0o600


@user.command("list", epilog="Example: venue user list")
def user_list(
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """List every account holder with their cash."""
    AdminTarget(control, token_file, as_json).run("GET", "users")


@user.command("add", epilog="Example: venue user add anna")
def user_add(
    user_id: User,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Add an account holder with no cash."""
    AdminTarget(control, token_file, as_json).run("POST", "users", {"user_id": user_id})


@user.command("deposit", epilog="Example: venue user deposit anna 1000000")
def user_deposit(
    user_id: User,
    amount_cents: Cents,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Add paper cash to an account."""
    body = {"amount_cents": amount_cents}
    AdminTarget(control, token_file, as_json).run("POST", f"users/{quoted(user_id)}/deposits", body)


@user.command("withdraw", epilog="Example: venue user withdraw anna 1000000")
def user_withdraw(
    user_id: User,
    amount_cents: Cents,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Take available cash out of an account."""
    body = {"amount_cents": amount_cents}
    AdminTarget(control, token_file, as_json).run(
        "POST", f"users/{quoted(user_id)}/withdrawals", body
    )


@key.command("list", epilog="Example: venue key list --user anna")
def key_list(
    of_user: Annotated[str | None, typer.Option("--user", help="Of one account holder.")] = None,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """List keys, revoked ones too; never the raw ones."""
    path = "keys" if of_user is None else f"keys?user_id={quoted(of_user)}"
    AdminTarget(control, token_file, as_json).run("GET", path)


@key.command("create", epilog="Example: venue key create anna --scopes read,trade --out anna.key")
def key_create(
    of_user: Annotated[str | None, typer.Argument(metavar="USER", help="Whose it is.")] = None,
    scopes: Annotated[str, typer.Option(help="read, trade, both with a comma, or empty.")] = "read",
    unusable: Annotated[
        bool, typer.Option("--unusable", help="No user: a key that answers api_key_misconfigured.")
    ] = False,
    out: Out = None,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Create a key; the raw one is shown this once."""
    if unusable == (of_user is not None):
        end(EXIT_OPTIONS, "USER or --unusable: exactly one of them is wanted")
    body = {"user_id": of_user, "scopes": parts(scopes)}
    _create(AdminTarget(control, token_file, as_json), "keys", body, "key", out)


@key.command("revoke", epilog="Example: venue key revoke 0123456789abcdef")
def key_revoke(
    key_id: Annotated[str, typer.Argument(help="As `venue key list` shows it.")],
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Stop a key, at once and for ever."""
    AdminTarget(control, token_file, as_json).run("POST", f"keys/{quoted(key_id)}/revoke")


@token.command(
    "create",
    epilog="\b\nExample: venue token create anna --application desk \\\n"
    "    --scopes svc:markets:read --lifetime-s 3600",
)
def token_create(
    user_id: User,
    application: Annotated[str, typer.Option(help="Which application acts for the user.")],
    scopes: Annotated[str, typer.Option(help="With commas, such as svc:markets:read.")],
    lifetime_s: Annotated[int, typer.Option(help="Seconds until it expires.")] = 3600,
    out: Out = None,
    control: Control = DEFAULT_CONTROL,
    token_file: TokenFile = DEFAULT_TOKEN_FILE,
    as_json: Json = False,
) -> None:
    """Create a bearer token; the raw one is shown this once."""
    body = {
        "user_id": user_id,
        "application": application,
        "scopes": parts(scopes),
        "lifetime_s": lifetime_s,
    }
    _create(AdminTarget(control, token_file, as_json), "tokens", body, "token", out)


def _create(
    asked: AdminTarget, path: str, body: dict[str, Any], secret: str, out: Path | None
) -> None:
    """Ask for a credential and put the raw one, the field `secret`, where it belongs."""
    if out is None:
        reply = asked.reply("POST", path, body)
        try:
            asked.tell(reply)
        except OSError:
            # On a full disk, or where nobody reads any more.
            typer.echo(_given_up(asked, reply), err=True)
            raise
        return
    # The file first: no credential is made that there is no place for.
    with _new_file(out) as descriptor:
        reply = asked.reply("POST", path, body)
        raw = reply.pop(secret)
        try:
            os.write(descriptor, f"{raw}\n".encode())
            os.fsync(descriptor)
            sync_directory(out.parent)
        except OSError as fault:
            end(EXIT_OPTIONS, f"--out {out}: {fault.strerror}; {_given_up(asked, reply)}")
    asked.tell({**reply, f"{secret}_file": str(out)})


def _given_up(asked: AdminTarget, made: dict[str, Any]) -> str:
    """What became of a credential that reached nobody: a key is revoked, for it would count."""
    if "key_id" not in made:
        return f"nobody has the token, which ends at {made['expires_at']}; make another"
    asked.reply("POST", f"keys/{made['key_id']}/revoke")
    return f"nobody has key {made['key_id']}, which is revoked; make another"


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[int]:
    """A new file for its owner only, gone again when the block fails."""
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
