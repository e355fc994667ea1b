"""Claims about the operator's commands: what they change, what is refused, what is already so."""

import time

import msgspec
import pytest

from tests.builders.core.histories import event, listing, uuid
from tests.builders.core.world import CASH, NO, YES, M, World
from venue.engine import messages as m
from venue.engine.ledger import CASH_CENTS_MAX
from venue.wire.errors import Code
from venue.wire.model import EventStatus, MarketState, VenueState
from venue.wire.money import FeeRate

EVENT = event(26)
MARKET = listing(101, "ACM-26Q1", ("0", "0"))
NEW_EVENT = event(27)
NEW_MARKET = listing(103, "ACM-26Q1")


def changed(command, **fields):
    return msgspec.structs.replace(command, **fields)


SETTING_UP = [
    m.ListCompany(uuid(2), "Other", "OTH"),
    m.ListCompany(uuid(1), "Acme", "ACM.NEW"),
    NEW_EVENT,
    NEW_MARKET,
    m.AddUser("e"),
    m.Deposit("a", 1),
    m.Withdraw("a", CASH),
    m.HaltMarket(M),
    m.SetVenueState(VenueState.HALTED),
    m.SetEventStatus("ACM-26Q1", EventStatus.CLOSED),
    m.ArchiveCompany(uuid(1)),
    m.PublishImpliedValue(uuid(1), "212.5", "0.85"),
]


@pytest.mark.parametrize("command", SETTING_UP, ids=lambda c: type(c).__name__)
def test_a_command_that_changes_the_venue_is_accepted_with_one_event(command):
    world = World()
    assert world.do(command) == m.Accepted()
    assert len(world.events) == 1


ALREADY_SO = [
    m.ListCompany(uuid(1), "Acme", "ACME"),
    EVENT,
    MARKET,
    m.AddUser("a"),
    m.ResumeMarket(M),
    m.SetVenueState(VenueState.OPEN),
    m.SetEventStatus("ACM-26Q1", EventStatus.OPEN),
    m.ArchiveCompany(uuid(2)),
]


@pytest.mark.parametrize("command", ALREADY_SO, ids=lambda c: type(c).__name__)
def test_a_command_that_changes_nothing_is_accepted_without_an_event(command):
    world = World()
    world.do(m.ListCompany(uuid(2), "Other", "OTH"))
    world.do(m.ArchiveCompany(uuid(2)))
    before = world.engine.state_hash()
    assert world.do(command) == m.Accepted()
    assert world.events == []
    assert world.engine.state_hash() == before


BAD = [
    m.ListCompany("not a uuid", "Name", "SYM"),
    m.ListCompany(uuid(2), "", "SYM"),
    m.ListCompany(uuid(2), "Name", "sym"),
    m.ListCompany(uuid(2), "Name", "A B"),
    m.ListCompany(uuid(2), "Name", "A" * 65),
    m.ListCompany(uuid(2), "Name", "ACME"),
    m.ArchiveCompany(uuid(2)),
    changed(EVENT, title="another"),
    changed(NEW_EVENT, project_id=uuid(2)),
    changed(NEW_EVENT, event_ticker="XYZ-27Q1"),
    changed(NEW_EVENT, event_ticker="ACM-"),
    changed(NEW_EVENT, event_ticker="ACM-27q1"),
    changed(NEW_EVENT, event_ticker="ACM-26Q1-101B"),
    changed(NEW_EVENT, event_ticker="ACM-26Q1-X", series_ticker="ACM-26Q1"),
    changed(NEW_EVENT, series_ticker="acm"),
    changed(NEW_EVENT, project_market_id="ladder"),
    changed(NEW_EVENT, project_market_id=EVENT.project_market_id),
    changed(NEW_EVENT, status=EventStatus.SETTLED),
    changed(MARKET, name="another"),
    changed(NEW_MARKET, event_ticker="ACM-28Q1"),
    changed(NEW_MARKET, ticker=MARKET.ticker),
    changed(NEW_MARKET, ticker="ACM-26Q1"),
    changed(NEW_MARKET, ticker="ACM-27Q1-103B"),
    changed(NEW_MARKET, ticker="ACM-26Q1-" + "9" * 56),
    changed(NEW_MARKET, market_id="103"),
    changed(NEW_MARKET, market_id=uuid(103).replace("4000", "400A")),
    changed(NEW_MARKET, strike_value="1e3"),
    changed(NEW_MARKET, strike_value=None),
    changed(NEW_MARKET, taker_fee_rate=FeeRate(10**8 + 1)),
    changed(NEW_MARKET, maker_fee_rate=FeeRate(-1)),
    m.SetEventStatus("ACM-26Q1", EventStatus.SETTLED),
    m.SetEventStatus("ACM-26Q1", EventStatus.UNKNOWN),
    m.AddUser(""),
    m.Deposit("nobody", 1),
    m.Deposit("a", 0),
    m.Deposit("a", -5),
    m.Deposit("a", CASH_CENTS_MAX - 4 * CASH + 1),
    m.Withdraw("a", 0),
    m.Withdraw("nobody", 1),
    m.PublishImpliedValue(uuid(2), "1", "0.5"),
    m.PublishImpliedValue(uuid(1), "-1", "0.5"),
    m.PublishImpliedValue(uuid(1), "much", "0.5"),
    m.PublishImpliedValue(uuid(1), "1", "1.01"),
]


@pytest.mark.parametrize("command", BAD, ids=lambda c: type(c).__name__)
def test_a_bad_command_is_rejected_and_changes_nothing(command):
    world = World()
    before = world.engine.state_hash()
    assert world.do(command).code is Code.INVALID_REQUEST
    assert world.events == []
    assert world.engine.state_hash() == before


@pytest.mark.parametrize(
    "command",
    [
        m.HaltMarket(uuid(7)),
        m.ResumeMarket(uuid(7)),
        m.SetEventStatus("ACM-28Q1", EventStatus.OPEN),
    ],
)
def test_a_command_for_an_unlisted_market_or_event_is_not_found(command):
    assert World().do(command).code is Code.MARKET_NOT_FOUND


def test_a_series_belongs_to_one_company():
    world = World()
    world.do(m.ListCompany(uuid(2), "Other", "OTH"))
    command = changed(NEW_EVENT, project_id=uuid(2))
    assert world.do(command).code is Code.INVALID_REQUEST


def test_an_archived_company_frees_its_symbol_and_is_not_renamed():
    world = World()
    world.do(m.ArchiveCompany(uuid(1)))
    assert world.do(m.ListCompany(uuid(2), "Other", "ACME")) == m.Accepted()
    assert world.do(m.ListCompany(uuid(1), "Acme", "NEW")).code is Code.INVALID_REQUEST


def test_a_company_that_changes_its_symbol_frees_the_old_one():
    world = World()
    world.do(m.ListCompany(uuid(1), "Acme", "NEW"))
    assert world.do(m.ListCompany(uuid(2), "Other", "ACME")) == m.Accepted()
    assert world.do(m.ListCompany(uuid(3), "Third", "NEW")).code is Code.INVALID_REQUEST
    assert world.do(m.ListCompany(uuid(1), "Acme", "ACME")).code is Code.INVALID_REQUEST


def test_an_event_is_a_ladder_of_strikes_or_a_single_binary_market():
    world = World()
    world.do(NEW_EVENT)
    binary = changed(listing(200, NEW_EVENT.event_ticker), ticker="ACM-27Q1-YES", strike_value=None)
    assert world.do(binary) == m.Accepted()
    for late in (
        listing(201, NEW_EVENT.event_ticker),
        changed(listing(202, NEW_EVENT.event_ticker), strike_value=None),
    ):
        assert world.do(late).code is Code.INVALID_REQUEST


def test_listing_an_event_does_not_slow_down_with_their_number():
    world = World()
    begun = time.process_time()
    for number in range(100, 20_100):
        assert world.do(event(number, f"S{number}")) == m.Accepted()
    assert time.process_time() - begun < 8


def test_reserved_cash_cannot_be_withdrawn():
    world = World()
    world.buy("a", YES, 50, 10)
    assert world.do(m.Withdraw("a", CASH - 499)).code is Code.INSUFFICIENT_BALANCE
    assert world.do(m.Withdraw("a", CASH - 500)) == m.Accepted()


def test_a_halted_market_keeps_its_orders_and_trades_again_when_resumed():
    world = World()
    world.buy("a", YES, 50, 10)
    world.do(m.HaltMarket(M))
    assert [e.state for e in world.events_of(m.MarketStateChanged)] == [MarketState.HALTED]
    assert world.bids() == [(50, 10)]
    world.do(m.ResumeMarket(M))
    assert world.buy("b", NO, 50, 10).order.filled_qty == 10
