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
def catalog():
    known = Catalog()
    for event in opening():
        known.apply(event)
    return known


def state(market_id, to):
    return m.MarketStateChanged(T0 + 5, market_id, to)


# --- looking up and ordering ---------------------------------------------------------------------


@pytest.mark.parametrize("market_id", TICKERS)
def test_a_market_is_found_by_ticker_or_uuid_in_any_case(catalog, market_id):
    ticker = TICKERS[market_id]
    for name in (ticker, ticker.lower(), market_id, market_id.upper()):
        assert catalog.find_market(name) == market_id


@pytest.mark.parametrize("name", ["ACME-VAL-26Q4-2.125B", "ACME-VAL-26Q4", "ACME-VAL", uid(77)])
def test_only_exact_market_tickers_find_a_market(catalog, name):
    assert catalog.find_market(name) is None


def test_markets_of_an_event_are_in_numeric_strike_order(catalog):
    binary = rung(uid(5), "ACME-VAL-26Q4-YES", "ACME-VAL-26Q4", None)
    catalog.apply(m.MarketListed(T0, binary))
    catalog.apply(m.MarketListed(T0, rung(uid(6), "ACME-VAL-26Q4-30B", "ACME-VAL-26Q4", "30")))
    event = catalog.event("acme-val-26q4")
    assert [r.strike_value for r in event.markets] == ["9.5", "30", "212.5", "2125", None]


def test_markets_are_in_strike_order_across_units(catalog):
    catalog.apply(m.EventListed(T0, ladder("ACME-VAL-27Q1", "ACME-VAL", ACME, "Next")))
    written = [("2", "USD billions"), ("500", "USD millions"), ("0.001", "USD trillions")]
    for number, (strike, unit) in enumerate(written, start=20):
        listed = rung(uid(number), f"ACME-VAL-27Q1-{number}", "ACME-VAL-27Q1", strike)
        listed = msgspec.structs.replace(listed, strike_unit=unit)
        catalog.apply(m.MarketListed(T0, listed))
    event = catalog.event("acme-val-27q1")
    assert [r.strike_value for r in event.markets] == ["500", "0.001", "2"]


def test_a_print_updates_last_price_and_updated_at(catalog):
    before = catalog.market(LOW)
    catalog.apply(printed(T0 + 9, 41))
    after = catalog.market(LOW)
    assert (after.last_price, after.created_at) == (41, before.created_at)
    assert after.updated_at > before.updated_at


def test_a_resolved_market_has_open_interest_0_and_keeps_its_ticker(catalog):
    catalog.apply(m.OpenInterestChanged(T0 + 1, LOW, 12))
    assert catalog.market(LOW).open_interest == 12
    catalog.apply(state(LOW, MarketState.RESOLVED))
    assert catalog.market(LOW).open_interest == 0
    assert catalog.find_market(TICKERS[LOW]) == LOW


# --- lists ---------------------------------------------------------------------------------------


def test_the_market_list_includes_halted_and_excludes_resolved_markets(catalog):
    catalog.apply(state(LOW, MarketState.HALTED))
    catalog.apply(state(HIGH, MarketState.RESOLVED))
    markets, place = catalog.active_markets(-1, 100)
    assert [market.market_id for market in markets] == [TIGHT, LOW, BINARY]
    assert place is None


def test_a_walk_lists_every_market_once_while_others_are_listed(catalog):
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
def test_a_search_is_literal_and_case_insensitive(catalog, q, found):
    assert set(catalog.matching_markets(MarketFilter(q))) == found


def test_a_search_does_not_fold_letters_into_ascii(catalog):
    catalog.apply(m.EventListed(T0, ladder("K-26Q4", "K", BOLT, "kilo")))
    catalog.apply(m.MarketListed(T0, rung(uid(60), "K-26Q4-1B", "K-26Q4", "1")))
    assert catalog.matching_markets(MarketFilter("\u212a-26")) == ()


def test_market_filters_combine_by_and(catalog):
    assert len(catalog.matching_markets(MarketFilter("212", "acme-val", ACME))) == 0
    assert len(catalog.matching_markets(MarketFilter("acme", "ACME-VAL", ACME))) == 3
    assert catalog.matching_markets(MarketFilter("acme", "acme-val", BOLT)) == ()
    assert catalog.matching_markets(MarketFilter("bolt", "ACME-VAL")) == ()


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


# --- the channel's directory ---------------------------------------------------------------------

NOW = T0 + 1
LATER = T0 + DIRECTORY_REFRESH_NS


def test_a_new_market_resolves_by_ticker_after_the_refresh(catalog):
    catalog.apply(m.MarketListed(NOW, rung(uid(70), "ACME-VAL-26Q4-70B", "ACME-VAL-26Q4", "70")))
    assert catalog.find_market("ACME-VAL-26Q4-70B") == uid(70)
    assert catalog.directory.resolve_ticker("ACME-VAL-26Q4-70B", LATER - 1) is Unresolvable.UNKNOWN
    assert catalog.directory.resolve_ticker("ACME-VAL-26Q4-70B", LATER) == uid(70)


def test_a_new_company_resolves_by_symbol_after_the_refresh(catalog):
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


def test_a_symbol_that_was_given_up_resolves_to_its_new_company(catalog):
    catalog.apply(m.CompanyListed(NOW, m.ListCompany(ACME, "Acme Robotics", "ACM")))
    catalog.apply(m.CompanyListed(NOW + 1, m.ListCompany(BOLT, "Bolt", "ACME")))
    assert catalog.directory.resolve_symbol("ACME", LATER) == BOLT


def test_resolving_a_symbol_does_not_slow_down_with_the_number_of_companies(catalog):
    for number in range(1_000, 6_000):
        catalog.apply(m.CompanyListed(NOW, m.ListCompany(uid(number), "name", f"C{number}")))
    begun = time.process_time()
    for number in range(1_000, 6_000):
        assert catalog.directory.resolve_symbol(f"C{number}", LATER) == uid(number)
    assert time.process_time() - begun < 1


def test_the_symbol_of_an_archived_company_may_go_to_an_older_company(catalog):
    catalog.apply(m.CompanyArchived(NOW, BOLT))
    catalog.apply(m.CompanyListed(NOW, m.ListCompany(ACME, "Acme Robotics", "BOLT")))
    assert catalog.directory.resolve_symbol("BOLT", LATER) == ACME
