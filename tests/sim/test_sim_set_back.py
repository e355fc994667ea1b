"""Claims about worlds whose venue is set back: it is what it was, and the bot has to find out."""

from dataclasses import replace

import pytest

from bot.core import messages as m
from bot.lab.bugs import hunt as bugs
from bot.lab.sim.odds import SECOND, draw
from bot.lab.sim.run import run
from bot.lab.sim.venue.exchange import MAKER, Exchange
from bot.lab.sim.world import World
from venue.wire.money import BookSide

CALM = replace(draw(2, "calm"), strategy="fixed_spread", cash_cents=10**7)
BACK = replace(CALM, variants={"set_back": "8000"})


def reads(exchange: Exchange) -> list[m.Answer]:
    """What both copies answer to reads of the account."""
    asked = (m.ReadBalance(), m.ReadPositions(""), m.ReadFills(""), m.ReadResting(""))
    return [
        exchange.read(each, copy.views) for copy in (exchange.fast, exchange.slow) for each in asked
    ]


def test_a_venue_that_was_set_back_is_what_it_was_to_the_hash_and_reads_as_it_did():
    world = World(CALM)
    world.crowd.open(world.now_ns)
    world.start(world.process)
    world.crowd_acts(world.now_ns + 6 * SECOND)
    world.run_until(world.now_ns + 4 * SECOND)
    exchange = world.exchange
    backup = exchange.backup(world.now_ns)
    told, books = (exchange.engine.state_hash(), reads(exchange)), world.venue_audit.kept()
    truth = world.auditor.kept()
    world.run_until(world.now_ns + 2 * SECOND)
    assert (exchange.engine.state_hash(), reads(exchange)) != told
    exchange.put_back(backup)
    world.venue_audit.put_back(books)
    world.auditor.put_back(truth)
    assert (exchange.engine.state_hash(), reads(exchange)) == told
    for market, tape in exchange.tapes.items():
        bids, asks = tape.levels()
        assert list(bids) == exchange.engine.depth(market, BookSide.BID)
        assert list(asks) == exchange.engine.depth(market, BookSide.ASK)
    assert world.auditor.truth.total_cents == exchange.fast.views.account.balance(MAKER).total_cents
    assert world.auditor.is_set_back


def test_its_orders_rest_as_is_wanted_in_the_end_whatever_it_has_forgotten():
    world = run(BACK)
    assert world.seen.counts["set_back"] == 1
    assert not world.auditor.truth.resting()


def test_a_venue_is_set_back_amid_faults_too_where_there_are_any():
    odds = replace(draw(3, "brutal"), cash_cents=10**7, variants={"set_back": "2000"})
    amid = replace(odds, variants={**odds.variants, "back_amid": "500"}, episodes={})
    world = run(amid)
    assert world.seen.counts["set_back"] == world.seen.counts["set_back_amid"] == 1
    assert (amid.back_amid_ns, odds.back_amid_ns) == (SECOND // 2, None)
    assert replace(BACK, variants=amid.variants).back_amid_ns is None


def test_the_venue_of_a_world_whose_ids_change_is_not_set_back():
    both = replace(BACK, variants={"set_back": "8000", "amend_ids": "change"})
    assert (BACK.set_back_ns, both.set_back_ns) == (8 * SECOND, None)


@pytest.mark.parametrize("name", ["forgotten-fills-untold", "absent-order-never-gone"])
def test_a_bot_that_does_not_find_out_is_found(name):
    bug = bugs.named(name)
    assert bugs.hunt(bug).invariant in bug.breaks
