"""Claims about ids: what they depend on, what they hide, and what a clash of two comes to."""

import hashlib

import pytest

from tests.builders.core.world import YES, World
from venue.engine.identity import Identity
from venue.engine.messages import Refused
from venue.wire.errors import Code
from venue.wire.names import is_order_id

PAIRS = [(f"user {u}", f"id {c}") for u in range(40) for c in range(50)]


def test_an_order_id_is_one_to_twenty_digits():
    identity = Identity(b"key")
    assert all(is_order_id(identity.order_id(*pair)) for pair in PAIRS)


def test_an_order_id_is_a_function_of_key_user_and_client_order_id():
    first, second = Identity(b"key"), Identity(b"key")
    assert [first.order_id(*pair) for pair in PAIRS] == [second.order_id(*pair) for pair in PAIRS]
    assert first.order_id("u", "c") != Identity(b"another key").order_id("u", "c")


def test_order_ids_of_different_names_differ():
    identity = Identity(b"key")
    assert len({identity.order_id(*pair) for pair in PAIRS}) == len(PAIRS)


def test_an_order_id_depends_on_the_border_between_user_and_client_order_id():
    identity = Identity(b"key")
    assert identity.order_id("ab", "c") != identity.order_id("a", "bc")
    assert identity.order_id("a", "1:b:c") != identity.order_id("a:1:b", "c")


def test_trade_and_fill_ids_are_unique_and_do_not_rise_with_their_number():
    identity = Identity(b"key")
    ids = [identity.match_ids(number)[0] for number in range(100)]
    assert len(set(ids)) == 100
    assert ids != sorted(ids)
    assert len(set(identity.match_ids(1))) == 3


def test_ids_are_the_keyed_hash_of_their_names():
    identity = Identity(b"key")
    named = hashlib.blake2b(b"3:ann:id 1", key=b"key", digest_size=8, person=b"order")
    assert identity.order_id("ann", "id 1") == str(int.from_bytes(named.digest()))
    names = (b"trade:12", b"maker:12", b"taker:12")
    assert identity.match_ids(12) == tuple(
        hashlib.blake2b(name, key=b"key", digest_size=16, person=b"trade").hexdigest()
        for name in names
    )


@pytest.mark.parametrize("key", [b"", b"x" * 65])
def test_an_unusable_id_key_is_rejected(key):
    with pytest.raises(ValueError, match="id key"):
        Identity(key)


class Narrow(Identity):
    """Eight bits only, so that names meet soon."""

    def order_number(self, user_id, client_order_id):
        return super().order_number(user_id, client_order_id) % 256


def test_a_client_order_id_that_hashes_to_another_user_s_order_is_rejected(monkeypatch):
    monkeypatch.setattr("venue.engine.engine.Identity", Narrow)
    world = World()
    owners = {}
    clashes = 0
    for number in range(600):
        user = "abcd"[number % 4]
        answer = world.buy(user, YES, 1, 1, cid=f"id {number}")
        if isinstance(answer, Refused):
            assert answer.code is Code.DUPLICATE_ORDER_ID
            clashes += 1
        else:
            assert answer.fresh
            assert answer.order.user_id == user
            assert owners.setdefault(answer.order.order_id, user) == user
    assert clashes >= 600 - 256
