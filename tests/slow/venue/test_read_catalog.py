"""Claims about the catalog: looking up, ordering, searching, and the channel's directory."""

import time

import msgspec
import pytest

from tests.builders.venue.rest_bench import (
    ACME,
    BINARY,
    BOLT,
    HIGH,
    LOW,
    T0,
    TICKERS,
    TIGHT,
    ladder,
    opening,
    printed,
    rung,
    uid,
)
from venue.engine import messages as m
from venue.views.catalog import Catalog, EventFilter, MarketFilter
from venue.views.directory import Unresolvable
from venue.wire.limits import DIRECTORY_REFRESH_NS
from venue.wire.model import EventStatus, MarketState


@pytest.fixture
def catalog() -> Catalog:
    known = Catalog()
    for event in opening():
        known.apply(event)
    return known


def state(market_id: str, to: MarketState) -> m.MarketStateChanged:
    return m.MarketStateChanged(T0 + 5, market_id, to)


# --- looking up and ordering ---------------------------------------------------------------------


@pytest.mark.parametrize("market_id", TICKERS)
def test_a_market_is_found_by_ticker_and_by_uuid_in_any_case(catalog, market_id):
    ticker = TICKERS[market_id]
    for name in (ticker, ticker.lower(), market_id, market_id.upper()):
        assert catalog.find_market(name) == market_id


@pytest.mark.parametrize("name", ["ACME-VAL-26Q4-2.125B", "ACME-VAL-26Q4", "ACME-VAL", uid(77)])
def test_dots_count_and_only_market_tickers_name_markets(catalog, name):
    assert catalog.find_market(name) is None


def test_rungs_stand_in_numeric_strike_order_and_a_binary_market_last(catalog):
    binary = rung(uid(5), "ACME-VAL-26Q4-YES", "ACME-VAL-26Q4", None)
    catalog.apply(m.MarketListed(T0, binary))
    catalog.apply(m.MarketListed(T0, rung(uid(6), "ACME-VAL-26Q4-30B", "ACME-VAL-26Q4", "30")))
    event = catalog.event("acme-val-26q4")
    assert [r.strike_value for r in event.markets] == ["9.5", "30", "212.5", "2125", None]


def test_rungs_stand_in_strike_order_whatever_unit_each_is_written_in(catalog):
    catalog.apply(m.EventListed(T0, ladder("ACME-VAL-27Q1", "ACME-VAL", ACME, "Next")))
    written = [("2", "USD billions"), ("500", "USD millions"), ("0.001", "USD trillions")]
    for number, (strike, unit) in enumerate(written, start=20):
        listed = rung(uid(number), f"ACME-VAL-27Q1-{number}", "ACME-VAL-27Q1", strike)
        listed = msgspec.structs.replace(listed, strike_unit=unit)
        catalog.apply(m.MarketListed(T0, listed))
    event = catalog.event("acme-val-27q1")
    assert [r.strike_value for r in event.markets] == ["500", "0.001", "2"]


def test_a_market_that_never_traded_shows_no_last_price(catalog):
    assert b"last_price" not in msgspec.json.encode(catalog.market(LOW))


def test_a_print_moves_last_price_and_updated_at(catalog):
    before = catalog.market(LOW)
    catalog.apply(printed(T0 + 9, 41))
    after = catalog.market(LOW)
    assert (after.last_price, after.created_at) == (41, before.created_at)
    assert after.updated_at > before.updated_at


def test_a_resolved_market_reads_open_interest_0_and_its_ticker_goes_on_resolving(catalog):
    catalog.apply(m.OpenInterestChanged(T0 + 1, LOW, 12))
    assert catalog.market(LOW).open_interest == 12
    catalog.apply(state(LOW, MarketState.RESOLVED))
    assert catalog.market(LOW).open_interest == 0
    assert catalog.find_market(TICKERS[LOW]) == LOW


def test_the_status_of_an_event_follows_the_engine(catalog):
    catalog.apply(m.EventStatusChanged(T0, "ACME-VAL-26Q4", EventStatus.CLOSED))
    assert catalog.event("ACME-VAL-26Q4").status is EventStatus.CLOSED


# --- lists ---------------------------------------------------------------------------------------


def test_the_plain_list_holds_halted_markets_and_leaves_resolved_ones_out(catalog):
    catalog.apply(state(LOW, MarketState.HALTED))
    catalog.apply(state(HIGH, MarketState.RESOLVED))
    markets, place = catalog.active_markets(-1, 100)
    assert [market.market_id for market in markets] == [TIGHT, LOW, BINARY]
    assert place is None


def test_a_walk_of_one_row_a_page_meets_every_market_once_while_others_are_listed(catalog):
    seen, place, extra = [], -1, 50
    while place is not None:
        markets, place = catalog.active_markets(place, 1)
        seen += [market.market_id for market in markets]
        if extra < 53:
            more = rung(uid(extra), f"ACME-VAL-26Q4-{extra}B", "ACME-VAL-26Q4", "1")
            catalog.apply(m.MarketListed(T0, more))
            extra += 1
    assert len(seen) == len(set(seen))
    assert {*TICKERS} <= {*seen}


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("robot", {LOW, HIGH, TIGHT}),  # within the company's name
        ("BOL", {BINARY}),  # within the symbol
        ("will it", {BINARY}),  # within the title
        ("acme-val-26q4-212", {HIGH, TIGHT}),  # beginning of market tickers
        ("acme-val-26q4-212.", {HIGH}),
        ("bolt-ipo-26", {BINARY}),  # beginning of an event ticker
        ("26q4", set()),  # inside a ticker, but not its beginning
        ("100% w", {BINARY}),  # a percent sign is a percent sign
        ("1__%", set()),
        ("a%c", set()),
        ("acme-val-26q4-212_5", set()),
        ("\u212aelvin", set()),
    ],
)
def test_a_search_is_literal_and_ignores_case(catalog, q, found):
    assert set(catalog.matching_markets(MarketFilter(q))) == found


def test_a_letter_that_folds_into_ascii_is_not_part_of_a_ticker(catalog):
    catalog.apply(m.EventListed(T0, ladder("K-26Q4", "K", BOLT, "kilo")))
    catalog.apply(m.MarketListed(T0, rung(uid(60), "K-26Q4-1B", "K-26Q4", "1")))
    assert catalog.matching_markets(MarketFilter("\u212a-26")) == ()


def test_filters_are_anded(catalog):
    assert len(catalog.matching_markets(MarketFilter("212", "acme-val", ACME))) == 0
    assert len(catalog.matching_markets(MarketFilter("acme", "ACME-VAL", ACME))) == 3
    assert catalog.matching_markets(MarketFilter("acme", "acme-val", BOLT)) == ()
    assert catalog.matching_markets(MarketFilter("bolt", "ACME-VAL")) == ()


def test_a_filtered_list_holds_resolved_markets_too(catalog):
    catalog.apply(state(LOW, MarketState.RESOLVED))
    assert len(catalog.matching_markets(MarketFilter(series_ticker="acme-val"))) == 3


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (EventFilter(), ["ACME-VAL-26Q4", "BOLT-IPO-26Q4"]),
        (EventFilter("bolt-ipo"), ["BOLT-IPO-26Q4"]),
        (EventFilter(project_id=ACME), ["ACME-VAL-26Q4"]),
        (EventFilter(status=EventStatus.OPEN), ["ACME-VAL-26Q4", "BOLT-IPO-26Q4"]),
        (EventFilter("ACME-VAL", BOLT), []),
        (EventFilter(status=EventStatus.SETTLED), []),
        (EventFilter("ACME"), []),
    ],
)
def test_events_are_filtered_by_series_company_and_status(catalog, wanted, found):
    events, place = catalog.events(wanted, -1, 100)
    assert ([event.event_ticker for event in events], place) == (found, None)


def test_a_series_is_walked_event_by_event(catalog):
    for quarter in ("27Q1", "27Q2"):
        catalog.apply(m.EventListed(T0, ladder(f"ACME-VAL-{quarter}", "ACME-VAL", ACME, "later")))
    seen, place = [], -1
    while place is not None:
        events, place = catalog.events(EventFilter("acme-val"), place, 1)
        seen += [event.event_ticker for event in events]
    assert seen == ["ACME-VAL-26Q4", "ACME-VAL-27Q1", "ACME-VAL-27Q2"]


# --- the channel's directory ---------------------------------------------------------------------

NOW = T0 + 1
LATER = T0 + DIRECTORY_REFRESH_NS


@pytest.mark.parametrize("to", [MarketState.ACTIVE, MarketState.RESOLVED])
def test_an_open_or_resolved_market_resolves_by_ticker(catalog, to):
    catalog.apply(state(LOW, to))
    assert catalog.directory.resolve_ticker(TICKERS[LOW], NOW) == LOW


def test_a_halted_market_does_not_resolve_by_ticker_until_it_is_resumed(catalog):
    catalog.apply(state(LOW, MarketState.HALTED))
    assert catalog.directory.resolve_ticker(TICKERS[LOW], NOW) is Unresolvable.HALTED
    catalog.apply(state(LOW, MarketState.ACTIVE))
    assert catalog.directory.resolve_ticker(TICKERS[LOW], NOW) == LOW


def test_an_archived_company_resolves_by_no_handle(catalog):
    assert catalog.directory.resolve_symbol("ACME", NOW) == ACME
    catalog.apply(m.CompanyArchived(NOW, ACME))
    assert catalog.directory.resolve_symbol("ACME", NOW) is Unresolvable.ARCHIVED
    assert catalog.directory.resolve_ticker(TICKERS[LOW], NOW) is Unresolvable.ARCHIVED
    assert catalog.directory.resolve_ticker(TICKERS[BINARY], NOW) == BINARY


@pytest.mark.parametrize("handle", ["ACME-VAL", "ACME-VAL-26Q4"])
def test_a_series_or_event_ticker_is_told_from_an_unknown_one(catalog, handle):
    assert catalog.directory.resolve_ticker(handle, NOW) is Unresolvable.NOT_A_MARKET
    assert catalog.directory.resolve_ticker(handle + "X", NOW) is Unresolvable.UNKNOWN


def test_a_market_listed_later_resolves_by_ticker_only_after_the_refresh(catalog):
    catalog.apply(m.MarketListed(NOW, rung(uid(70), "ACME-VAL-26Q4-70B", "ACME-VAL-26Q4", "70")))
    assert catalog.find_market("ACME-VAL-26Q4-70B") == uid(70)
    assert catalog.directory.resolve_ticker("ACME-VAL-26Q4-70B", LATER - 1) is Unresolvable.UNKNOWN
    assert catalog.directory.resolve_ticker("ACME-VAL-26Q4-70B", LATER) == uid(70)


def test_a_new_company_resolves_by_symbol_only_after_the_refresh(catalog):
    catalog.apply(m.CompanyListed(NOW, m.ListCompany(uid(71), "Cog", "cog")))
    assert catalog.directory.resolve_symbol("COG", LATER - 1) is Unresolvable.UNKNOWN
    assert catalog.directory.resolve_symbol("COG", LATER) == uid(71)


def test_a_renamed_company_keeps_its_old_symbol_until_the_refresh(catalog):
    catalog.apply(m.CompanyListed(NOW, m.ListCompany(ACME, "Acme Robotics", "ACM")))
    assert catalog.directory.resolve_symbol("ACME", LATER - 1) == ACME
    assert catalog.directory.resolve_symbol("ACM", LATER - 1) is Unresolvable.UNKNOWN
    assert catalog.directory.resolve_symbol("ACME", LATER) is Unresolvable.UNKNOWN
    assert catalog.directory.resolve_symbol("ACM", LATER) == ACME
    assert catalog.company(ACME).symbol == "ACM"


def test_a_symbol_that_was_given_up_may_go_to_another_company(catalog):
    catalog.apply(m.CompanyListed(NOW, m.ListCompany(ACME, "Acme Robotics", "ACM")))
    catalog.apply(m.CompanyListed(NOW + 1, m.ListCompany(BOLT, "Bolt", "ACME")))
    assert catalog.directory.resolve_symbol("ACME", LATER) == BOLT


def test_a_symbol_is_found_as_fast_however_many_companies_there_are(catalog):
    for number in range(1_000, 6_000):
        catalog.apply(m.CompanyListed(NOW, m.ListCompany(uid(number), "name", f"C{number}")))
    begun = time.process_time()
    for number in range(1_000, 6_000):
        assert catalog.directory.resolve_symbol(f"C{number}", LATER) == uid(number)
    assert time.process_time() - begun < 1


def test_the_symbol_of_an_archived_company_may_go_to_one_listed_before_it(catalog):
    catalog.apply(m.CompanyArchived(NOW, BOLT))
    catalog.apply(m.CompanyListed(NOW, m.ListCompany(ACME, "Acme Robotics", "BOLT")))
    assert catalog.directory.resolve_symbol("BOLT", LATER) == ACME
