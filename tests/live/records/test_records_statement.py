"""Claims about statements: every day closes to the cent, the next begins where it ended, and a
missing or wrong record is reported."""

import csv
import datetime
import io
import itertools
from html.parser import HTMLParser

import msgspec
import pytest

from bot.records.database import Sqlite, StoreFault
from bot.records.day import bounds, choose, gather
from bot.records.output import as_csv, as_text, cents_of, curves, page, plain, summary_line
from bot.records.rows import (
    AccountRow,
    BalanceRow,
    Batch,
    MarkRow,
    ProfitRow,
    TraderSample,
    account_of,
)
from bot.records.statement import Statement, state
from bot.records.store import Store
from tests.builders.records.days import ACCOUNT, BOOK, RUNGS, Days, busy_days
from tests.builders.records.lived import NIGHT_NS
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS

TWENTIETH = datetime.date(2026, 11, 20)
FAR_NS = NIGHT_NS * 2


def on(store: Store, number: int) -> Statement:
    """The statement of the 20th and so many days after it."""
    date = TWENTIETH + datetime.timedelta(days=number)
    return state(gather(store, ACCOUNT, date, FAR_NS))


@pytest.fixture
def sqlite(tmp_path):
    store = Store(lambda: Sqlite(tmp_path / "records.sqlite3"), BOOK)
    yield store
    store.close()


def assert_true_to(days: Days, statements: list[Statement]) -> None:
    for before, after in itertools.pairwise(statements):
        assert after.cash_open_cents == before.cash_close_cents
        ends = {
            line.name: (line.yes_close, line.no_close, line.value_close)
            for line in before.rungs
            if line.yes_close or line.no_close
        }
        begins = {line.name: (line.yes_open, line.no_open, line.value_open) for line in after.rungs}
        assert ends.items() <= begins.items()
    for (cash_cents, held, _), statement in zip(days.at_midnight, statements, strict=False):
        assert statement.cash_close_cents == cash_cents
        for line in statement.rungs:
            key = f"m{line.name.removesuffix('0B')[-1]}"
            assert (line.yes_close, line.no_close) == held[key]


@pytest.mark.parametrize("seed", range(8))
def test_the_statement_of_every_day_closes_and_is_true(sqlite, seed):
    days = busy_days(sqlite, seed)
    statements = [on(sqlite, number) for number in range(days.now_s // 86_400 + 1)]
    for statement in statements:
        assert statement.closes, statement.checks
    assert_true_to(days, statements)
    # What all days earned together is what cash and shares are worth more in the end.
    last = statements[-1]
    worth = 1_000 * (days.cash_cents - 1_000_000)
    for line in last.rungs:
        yes_qty, no_qty, value = line.yes_close, line.no_close, line.value_close or 0
        worth += 1_000 * PAYOUT_CENTS * no_qty + (yes_qty - no_qty) * value
    assert sum(statement.total.profit for statement in statements) == worth
    for statement in statements:
        total = statement.total
        parts = total.spread + total.adverse + total.drift - 1_000 * total.fees_cents
        assert total.profit == parts
        assert total.profit == sum(line.profit for line in statement.rungs)


def test_both_stores_make_the_same_statement(connect, sqlite):
    other = Store(connect, BOOK)
    busy_days(sqlite, 3)
    busy_days(other, 3)
    for number in range(3):
        assert plain(on(other, number)) == plain(on(sqlite, number))
    other.close()


def test_shares_held_before_the_records_began_are_carried_forward(sqlite):
    days = busy_days(sqlite, 5, opening=(200, 100))
    first = on(sqlite, 0)
    assert first.closes
    assert {(line.yes_open, line.no_open) for line in first.rungs} == {(200, 100)}
    assert_true_to(days, [on(sqlite, number) for number in range(3)])


def test_a_first_snapshot_that_shows_a_fill_late_makes_no_short_position(sqlite):
    days = Days(1, sqlite)
    before = dict(days.held)
    days.trade()
    [fill] = days.fills
    assert fill.side == "buy"
    after, days.held = days.held, before
    days.go_on(1)
    forget(sqlite, "DELETE FROM marks")
    days.look()  # the trader has not booked the fill yet
    days.held = after
    days.go_on(60)
    days.resolve(int(fill.market_id[1:]), fill.outcome)
    days.go_on(60)
    days.look()
    found = on(sqlite, 0)
    assert found.closes
    [line] = [each for each in found.rungs if each.fills]
    assert (line.yes_open, line.no_open) == (0, 0)
    assert found.total.paid_out_cents == PAYOUT_CENTS * fill.qty


def snapshot_out_of_turn(sqlite) -> Days:
    """Two orders fill on one rung within a second, and the first picture shows the later one."""
    days = Days(1, sqlite)
    days.trade()
    [first] = days.fills
    key, (yes_qty, no_qty) = first.market_id, days.held[first.market_id]
    assert (yes_qty, no_qty) == (first.qty, 0)
    days.go_on(1)
    later = msgspec.structs.replace(
        first, fill_id="later", order_id="2", created_ns=days.now_ns, outcome="no", qty=5
    )
    sqlite.write([Batch(ACCOUNT, fills=[later])], None)
    days.cash_cents -= 5 * first.price + first.fee_cents
    days.go_on(1)
    forget(sqlite, "DELETE FROM marks")
    days.held[key] = (0, 5)
    days.look()
    days.held[key] = (yes_qty, 5)
    days.go_on(60)
    return days


def test_a_snapshot_may_show_a_later_fill_before_an_earlier_one(sqlite):
    days = snapshot_out_of_turn(sqlite)
    days.look()
    found = on(sqlite, 0)
    assert found.closes
    [line] = [each for each in found.rungs if each.fills]
    assert (line.yes_open, line.no_open) == (0, 0)
    assert (line.yes_close, line.no_close) == days.held[days.fills[0].market_id]


def test_a_missing_fill_is_found_despite_a_snapshot_out_of_turn(sqlite):
    days = snapshot_out_of_turn(sqlite)
    key = days.fills[0].market_id
    days.held[key] = (days.held[key][0] + 1, 5)
    days.look()
    found = on(sqlite, 0)
    [shares] = [check for check in found.checks if check.name == "shares"]
    assert not shares.closes


@pytest.mark.parametrize("seconds", [2, 5])
def test_a_payout_right_after_midnight_is_booked_on_the_new_day(sqlite, seconds):
    days = Days(2, sqlite)
    days.live(40, 30)
    days.go_on(86_400 - 3 - days.now_s)
    days.look()
    days.go_on(seconds)
    won = days.held["m0"][0]
    assert won
    days.resolve(0, "yes")
    days.go_on(60)
    days.look()
    statements = [on(sqlite, number) for number in range(2)]
    assert all(statement.closes for statement in statements)
    assert statements[1].total.paid_out_cents == PAYOUT_CENTS * won
    if seconds > 3:
        assert_true_to(days, statements)


@pytest.mark.parametrize("late", ["marks", "balances"])
def test_of_two_possible_openings_the_one_seen_during_the_day_is_taken(sqlite, late):
    days = Days(1, sqlite, opening=(10, 0))
    days.trade()
    [bought] = days.fills
    key = bought.market_id
    forget(sqlite, "DELETE FROM fills")
    for table in ("marks", "balances"):
        forget(sqlite, f"DELETE FROM {table}")
    seen = [(10, 1_000_000), (3, 1_000_280), (10, 1_000_000)]
    for number, side in enumerate(["sell", "", "buy"]):
        if side:
            row = msgspec.structs.replace(
                bought, fill_id=side, created_ns=days.now_ns, outcome="yes", side=side, qty=7,
                price=40, fee_cents=0,
            )  # fmt: skip
            sqlite.write([Batch(ACCOUNT, fills=[row])], None)
        days.go_on(2)
        held, cents = seen[number]
        # The first look at one of them shows the fill before it late.
        if number == 0:
            held, cents = (10, 1_000_280) if late == "marks" else (3, 1_000_000)
        mark = MarkRow(key, days.now_ns, 40_000, held, 0)
        sqlite.write_sample(ACCOUNT.account, TraderSample((mark,), None))
        balance = BalanceRow(days.now_ns, days.now_ns + 1, cents)
        sqlite.write([Batch(ACCOUNT, balances=[balance])], None)
        days.go_on(900)
    found = on(sqlite, 0)
    assert found.closes
    [line] = [each for each in found.rungs if each.fills]
    assert (line.yes_open, line.yes_close) == (10, 10)
    assert (found.cash_open_cents, found.cash_close_cents) == (1_000_000, 1_000_000)


def test_a_day_without_events_carries_the_holdings(sqlite):
    days = Days(1, sqlite)
    days.live(20, 30)
    later = on(sqlite, 9)
    assert later.closes
    assert later.cash_open_cents == later.cash_close_cents == days.cash_cents
    assert {line.name[-3:]: (line.yes_open, line.no_open) for line in later.rungs} == {
        f"{n}0B": days.held[f"m{n}"] for n in range(RUNGS) if any(days.held[f"m{n}"])
    }


# --- what does not close --------------------------------------------------------------------------


def forget(store: Store, statement: str, *values: object) -> None:
    with store._database.writing():
        store._database.run(statement, values)


@pytest.mark.parametrize(
    ("statement", "check"),
    [
        ("DELETE FROM fills WHERE fill_id = 'f5'", {"cash", "shares"}),
        ("UPDATE fills SET fee_cents = fee_cents + 1 WHERE fill_id = 'f5'", {"cash"}),
        ("UPDATE fills SET qty = qty + 1 WHERE fill_id = 'f5'", {"cash", "shares"}),
        ("UPDATE balances SET total_cents = total_cents + 1 WHERE is_last = 1", {"cash"}),
        ("UPDATE marks SET yes_qty = yes_qty + 1 WHERE is_last = 1", {"shares"}),
    ],
)
def test_a_missing_or_wrong_record_keeps_the_statement_from_closing(sqlite, statement, check):
    days = Days(2, sqlite)
    days.live(40, 60)
    assert on(sqlite, 0).closes
    forget(sqlite, statement)
    found = on(sqlite, 0)
    assert {each.name for each in found.checks if not each.closes} == check
    assert "DOES NOT CLOSE" in as_text(found)
    assert "DOES NOT CLOSE" in summary_line(found)


def test_a_deposit_is_reported_to_the_cent_and_only_on_its_day(sqlite):
    days = Days(4, sqlite)
    days.live(20, 30)
    days.cash_cents += 12_345
    days.go_on(60)
    days.live(20, 30)
    found = on(sqlite, 0)
    assert not found.closes
    assert "$123.45 unexplained" in found.checks[0].text
    days.go_on(86_400)
    days.live(20, 30)
    assert on(sqlite, 1).closes


def test_a_fill_after_the_last_balance_does_not_close(sqlite):
    days = Days(4, sqlite)
    days.live(20, 30)
    days.go_on(600)
    days.trade()
    found = on(sqlite, 0)
    assert [each.name for each in found.checks if not each.closes] == ["cash", "shares"]


def test_a_payout_without_a_winner_does_not_close(sqlite):
    days = Days(6, sqlite, opening=(50, 10))
    days.live(20, 30)
    days.resolve(1, "yes")
    days.go_on(60)
    days.look()
    assert on(sqlite, 0).closes
    forget(sqlite, "UPDATE rungs SET winner = NULL")
    assert not on(sqlite, 0).closes


def test_fills_of_other_series_are_stated_separately(sqlite):
    days = Days(7, sqlite)
    days.live(20, 30)
    alien = msgspec.structs.replace(
        days.fills[0], fill_id="x", market_id="alien", created_ns=days.now_ns, side="buy",
        price=10, qty=5, fee_cents=1,
    )  # fmt: skip
    sqlite.write([Batch(ACCOUNT, fills=[alien])], None)
    days.cash_cents -= 51
    days.go_on(30)
    days.look()
    found = on(sqlite, 0)
    assert found.closes
    assert (found.other_fills, found.other_cents) == (1, -51)
    assert found.total.fills == len(days.fills)
    assert found.cash_close_cents - found.cash_open_cents == found.total.cash_cents - 51


def test_the_account_of_a_day_is_the_newest_that_has_something_of_it(sqlite):
    Days(1, sqlite).live(4, 10)
    newer = AccountRow(account_of(BOOK, "run b"), BOOK, "run b", NIGHT_NS + 5)
    older = AccountRow(account_of(BOOK, "run a"), BOOK, "run a", NIGHT_NS - 5)
    sqlite.write([Batch(newer), Batch(older)], None)
    assert choose(sqlite, TWENTIETH) == (ACCOUNT, 0)
    with pytest.raises(StoreFault, match="no records of 'run b'"):
        choose(sqlite, TWENTIETH, "run b")
    with pytest.raises(StoreFault, match="on or before 2026-11-19"):
        choose(sqlite, TWENTIETH - datetime.timedelta(days=1))


def test_a_named_account_is_stated_also_on_a_day_without_events(sqlite):
    Days(1, sqlite).live(4, 10)
    newer = AccountRow(account_of(BOOK, "run b"), BOOK, "run b", NIGHT_NS + 5)
    balance = BalanceRow(NIGHT_NS + 6, NIGHT_NS + 7, 500)
    sqlite.write([Batch(newer, balances=[balance])], None)
    quiet = TWENTIETH + datetime.timedelta(days=2)
    assert choose(sqlite, quiet, ACCOUNT.label) == (ACCOUNT, 0)
    assert choose(sqlite, quiet) == (newer, 0)


def test_days_are_those_of_utc():
    begun, ended = bounds(TWENTIETH)
    assert begun == NIGHT_NS
    assert ended - begun == 86_400 * NS_PER_SECOND


# --- as it is shown -------------------------------------------------------------------------------


def test_the_csv_adds_up_and_has_every_fill(sqlite):
    days = busy_days(sqlite, 1)
    found = on(sqlite, 0)
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    of = {kind: [row for row in rows if row["kind"] == kind] for kind in ("rung", "total", "fill")}
    for name in ("profit_cents", "spread_cents", "adverse_cents", "drift_cents", "fees_cents"):
        total = int(of["total"][0][name])
        # Each rung is rounded by itself: half a cent apiece at most.
        rounding = 0 if name == "fees_cents" else 2 * RUNGS
        assert abs(sum(int(row[name]) for row in of["rung"]) - total) <= rounding
    assert sum(int(row["cash_cents"]) for row in of["rung"]) == int(of["total"][0]["cash_cents"])
    ids = [fill.fill_id for fill in days.fills if fill.created_ns < bounds(TWENTIETH)[1]]
    assert [row["fill_id"] for row in of["fill"]] == ids
    parts = cents_of(found.total)
    told = parts["spread_cents"] + parts["adverse_cents"] + parts["drift_cents"]
    assert told - parts["fees_cents"] == parts["profit_cents"]


def test_no_name_from_the_venue_is_a_formula_in_the_csv(sqlite):
    busy_days(sqlite, 1)
    found = on(sqlite, 0)
    told = found.fills[0]
    fill = msgspec.structs.replace(told.fill, fill_id="=1+1", trade_id="@t", ticker="-a\rb")
    odd = msgspec.structs.replace(found, fills=(msgspec.structs.replace(told, fill=fill),))
    row = list(csv.DictReader(io.StringIO(as_csv(odd))))[-1]
    assert (row["fill_id"], row["trade_id"], row["name"]) == ("'=1+1", "'@t", "'-a b")


class Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.addresses += [value or "" for key, value in attrs if key in ("src", "href")]


def test_the_page_of_a_statement_is_self_contained_with_plots_and_fills(sqlite):
    busy_days(sqlite, 1)
    found = on(sqlite, 0)
    day = gather(sqlite, ACCOUNT, TWENTIETH, FAR_NS)
    told = page(found, day.profits)
    outline = Outline()
    outline.feed(told)
    assert outline.addresses == ["#main"]  # within the page
    assert "script" not in outline.tags
    assert outline.tags["svg"] == 3
    assert all(fill.fill.fill_id in told for fill in found.fills)
    assert "the statement closes" in told


def test_no_name_of_a_rung_is_cut_off_in_a_plot(sqlite):
    busy_days(sqlite, 1)
    found = on(sqlite, 0)
    long = "A-COMPANY-OF-A-LONG-NAME-VAL-26Q4-1206.25B"
    rungs = tuple(msgspec.structs.replace(each, name=long) for each in found.rungs)
    shown = msgspec.structs.replace(found, rungs=rungs)
    pictures = page(shown, ()).split("<svg ")[1:]
    assert len(pictures) == 2
    for each in pictures:
        texts = each.partition("</svg>")[0].split("<text x='")[1:]
        names = [text for text in texts if f">{long}<" in text]
        assert len(names) == len(rungs)
        assert all("text-anchor='end'" in name for name in names)
        # Letters are twelve high; such as these take six tenths of it across.
        assert all(float(name.split("'")[0]) > 0.6 * 12 * len(long) for name in names)


def test_a_page_of_an_empty_day_can_be_drawn(sqlite):
    Days(1, sqlite)
    assert page(on(sqlite, 3), ()).startswith("<!doctype html>")


def test_the_profit_curve_of_a_day_continues_over_a_new_run():
    rows = [
        ProfitRow(at, begun, profit, profit, 0, 0, 0, 0, 0)
        for at, begun, profit in ((1, 0, 500_000), (2, 0, 700_000), (3, 9, 0), (4, 9, 100_000))
    ]
    assert [value for _, value in curves(rows)["profit"]] == [0.0, 2.0, 2.0, 3.0]
