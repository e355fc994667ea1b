"""Keys and tokens as the access commands leave them."""

import hashlib
import time

import pytest

from venue.engine.access import Access
from venue.engine.messages import (
    Accepted,
    AddKey,
    AddToken,
    KnownKey,
    KnownToken,
    Refused,
    RevokeKey,
)
from venue.wire.errors import Code
from venue.wire.names import UserId
from venue.wire.routes import KeyScope, TokenScope

ANNA = UserId("anna")


def sha(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def add_key(name: str, user_id: UserId | None = ANNA, *scopes: KeyScope) -> AddKey:
    return AddKey(sha(name), name[:4], user_id, scopes)


def add_token(name: str, application: str, user: str, expires_ns: int = 10) -> AddToken:
    return AddToken(sha(name), application, UserId(user), (TokenScope.MARKETS_READ,), expires_ns)


def test_an_added_key_is_found_by_its_hash_with_its_scopes() -> None:
    access = Access()
    assert (
        access.apply_command(add_key("one", ANNA, KeyScope.READ, KeyScope.TRADE), 0) == Accepted()
    )
    key = access.key(sha("one"))
    assert key == KnownKey(sha("one"), key.prefix, ANNA, (KeyScope.READ, KeyScope.TRADE), False)
    assert key.bucket_id == f"key:{sha('one')}"
    assert access.key(sha("two")) is None
    assert access.token(sha("one"), 0) is None


def test_a_key_may_have_no_scopes_and_no_usable_user() -> None:
    access = Access()
    assert access.apply_command(add_key("one", None), 0) == Accepted()
    key = access.key(sha("one"))
    assert key is not None
    assert (key.user_id, key.scopes) == (None, ())


def test_an_eleventh_active_key_is_refused_until_one_is_revoked() -> None:
    access = Access()
    for number in range(10):
        assert access.apply_command(add_key(f"key {number}"), 0) == Accepted()
    refused = access.apply_command(add_key("key 10"), 0)
    assert isinstance(refused, Refused)
    assert refused.code is Code.INVALID_REQUEST
    assert access.key(sha("key 10")) is None
    assert access.apply_command(add_key("another's", UserId("bruno")), 0) == Accepted()
    assert access.apply_command(RevokeKey(sha("key 3")), 0) == Accepted()
    assert access.apply_command(add_key("key 10"), 0) == Accepted()
    assert isinstance(access.apply_command(add_key("key 11"), 0), Refused)


def test_revoking_twice_makes_room_for_one_key_only() -> None:
    access = Access()
    for number in range(10):
        access.apply_command(add_key(f"key {number}"), 0)
    assert access.apply_command(RevokeKey(sha("key 0")), 0) == Accepted()
    assert access.apply_command(RevokeKey(sha("key 0")), 0) == Accepted()
    assert access.apply_command(add_key("key 10"), 0) == Accepted()
    assert isinstance(access.apply_command(add_key("key 11"), 0), Refused)


def test_a_revoked_key_is_still_known_as_revoked() -> None:
    access = Access()
    access.apply_command(add_key("one", ANNA, KeyScope.READ), 0)
    access.apply_command(RevokeKey(sha("one")), 0)
    key = access.key(sha("one"))
    assert key is not None
    assert key.revoked


@pytest.mark.parametrize("bad", ["", "abc", sha("x").upper(), sha("x") + "0", "g" * 64])
def test_a_malformed_hash_is_refused(bad: str) -> None:
    access = Access()
    assert isinstance(access.apply_command(AddKey(bad, "x", ANNA, ()), 0), Refused)
    assert isinstance(access.apply_command(AddToken(bad, "app", ANNA, (), 9), 0), Refused)
    assert isinstance(access.apply_command(RevokeKey(bad), 0), Refused)


def test_one_credential_is_added_once() -> None:
    access = Access()
    access.apply_command(add_key("one"), 0)
    assert isinstance(access.apply_command(add_key("one", UserId("bruno")), 0), Refused)
    assert isinstance(access.apply_command(add_token("one", "app", "anna"), 0), Refused)
    key = access.key(sha("one"))
    assert key is not None
    assert key.user_id == ANNA


def test_a_token_ends_at_its_instant() -> None:
    access = Access()
    access.apply_command(add_token("one", "app", "anna", expires_ns=10), 0)
    assert isinstance(access.token(sha("one"), 9), KnownToken)
    assert access.token(sha("one"), 10) is None


def test_an_expired_token_leaves_when_the_next_one_is_added() -> None:
    access = Access()
    access.apply_command(add_token("one", "app", "anna", expires_ns=10), 0)
    assert access.apply_command(add_token("one", "app", "anna", expires_ns=30), 20) == Accepted()
    assert access.token(sha("one"), 20) is not None


def test_tokens_of_one_application_and_user_share_a_bucket_and_no_others_do() -> None:
    access = Access()
    buckets = []
    for application, user in [("app", "anna"), ("app", "anna"), ("ap", "panna"), ("app", "bruno")]:
        name = f"token {len(buckets)}"
        access.apply_command(add_token(name, application, user), 0)
        token = access.token(sha(name), 0)
        assert token is not None
        buckets.append(token.bucket_id)
    assert buckets[0] == buckets[1]
    assert len(set(buckets)) == 3


def test_every_key_has_a_bucket_of_its_own() -> None:
    access = Access()
    for name in ("one", "two"):
        access.apply_command(add_key(name), 0)
    one, two = access.key(sha("one")), access.key(sha("two"))
    assert one is not None
    assert two is not None
    assert one.bucket_id != two.bucket_id


def test_adding_a_token_takes_as_long_however_many_there_are() -> None:
    access = Access()
    begun = time.process_time()
    for number in range(20_000):
        assert access.apply_command(add_token(f"token {number}", "app", "anna"), 0) == Accepted()
    assert time.process_time() - begun < 8


def test_tokens_that_have_expired_leave_before_the_next_one_comes() -> None:
    access = Access()
    for name, expires_ns in (("long", 30), ("short", 10), ("middle", 20), ("another", 20)):
        assert access.apply_command(add_token(name, "app", "anna", expires_ns), 0) == Accepted()
    again = Access.from_snapshot(access.to_snapshot())
    for one in (access, again):
        assert one.apply_command(add_token("last", "app", "anna", 40), 20) == Accepted()
        assert [kept.sha256_hex for kept in one.to_snapshot().tokens] == [sha("long"), sha("last")]
        assert one.apply_command(add_token("short", "app", "anna", 40), 20) == Accepted()
