"""Handlers of who may trade: account holders, their cash, keys and tokens.

A raw key or token is made here, told once in the reply, and kept nowhere.
"""

from venue import rawkeys
from venue.admin import bodies, replies
from venue.admin.bodies import as_body
from venue.admin.desk import NotFound, OperatorRequest
from venue.admin.operator import KnownKey
from venue.engine.messages import AddKey, AddToken, AddUser, Deposit, RevokeKey, Withdraw, key_id
from venue.wire.instant import NS_PER_SECOND, from_ns
from venue.wire.money import Cents
from venue.wire.names import UserId


async def list_users(call: OperatorRequest) -> replies.UsersReply:
    """GET users."""
    account = call.operator.views.account
    rows = [(user_id, account.balance(user_id)) for user_id in account.users()]
    return replies.UsersReply(
        tuple(
            [
                replies.UserReply(user_id, cash.available_cents, cash.reserved_cents)
                for user_id, cash in rows
            ]
        )
    )


async def add_user(call: OperatorRequest) -> replies.UserAddedReply:
    """POST users."""
    user_id = UserId(as_body(bodies.UserBody, call.fields).user_id)
    await call.submit(AddUser(user_id))
    call.recent.users[user_id] = None
    return replies.UserAddedReply(user_id)


async def deposit(call: OperatorRequest) -> replies.AmountReply:
    """POST users/{user_id}/deposits."""
    user_id, cents = UserId(call.segment), _amount(call)
    call.check_user(user_id)
    await call.submit(Deposit(user_id, cents))
    return replies.AmountReply(user_id, cents)


async def withdraw(call: OperatorRequest) -> replies.AmountReply:
    """POST users/{user_id}/withdrawals."""
    user_id, cents = UserId(call.segment), _amount(call)
    call.check_user(user_id)
    await call.submit(Withdraw(user_id, cents))
    return replies.AmountReply(user_id, cents)


def _amount(call: OperatorRequest) -> Cents:
    return Cents(as_body(bodies.AmountBody, call.fields).amount_cents)


async def list_keys(call: OperatorRequest) -> replies.KeysReply:
    """GET keys, of one holder or of all."""
    wanted = call.query.get("user_id")
    access = call.operator.access
    keys = access.keys() if wanted is None else access.keys_of(UserId(wanted))
    return replies.KeysReply(tuple(map(_shown, keys)))


async def create_key(call: OperatorRequest) -> replies.NewKeyReply:
    """POST keys: the only reply that ever holds the raw key."""
    body = as_body(bodies.KeyBody, call.fields)
    user_id = None if body.user_id is None else UserId(body.user_id)
    if user_id is not None:
        call.check_user(user_id)
    raw = rawkeys.made()
    known = rawkeys.fingerprint(raw)
    scopes = tuple(dict.fromkeys(body.scopes))
    await call.submit(AddKey(known.sha256_hex, known.prefix, user_id, scopes))
    return replies.NewKeyReply(raw, key_id(known.sha256_hex), known.prefix, user_id, scopes)


async def revoke_key(call: OperatorRequest) -> replies.KeyReply:
    """POST keys/{key_id}/revoke."""
    as_body(bodies.Empty, call.fields)
    key = call.operator.access.key_named(call.segment)
    if key is None:
        # What was asked for is not repeated: somebody may have put a raw key there.
        raise NotFound("no key with this key_id")
    await call.submit(RevokeKey(key.sha256_hex))
    return replies.KeyReply(call.segment, key.prefix, key.user_id, key.scopes, True)


async def create_token(call: OperatorRequest) -> replies.NewTokenReply:
    """POST tokens: the only reply that ever holds the raw token."""
    body = as_body(bodies.TokenBody, call.fields)
    user_id = UserId(body.user_id)
    call.check_user(user_id)
    raw = rawkeys.made()
    scopes = tuple(dict.fromkeys(body.scopes))
    expires_ns = call.operator.now_ns() + body.lifetime_s * NS_PER_SECOND
    sha256_hex = rawkeys.fingerprint(raw).sha256_hex
    await call.submit(AddToken(sha256_hex, body.application, user_id, scopes, expires_ns))
    return replies.NewTokenReply(raw, user_id, body.application, scopes, from_ns(expires_ns))


def _shown(key: KnownKey) -> replies.KeyReply:
    name = key_id(key.sha256_hex)
    return replies.KeyReply(name, key.prefix, key.user_id, key.scopes, key.revoked)
