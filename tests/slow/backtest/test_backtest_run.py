"""Claims about whole runs: the trader is given what had arrived, and both accounts meet."""

import json

import pytest

from bot.config.bot_config import finish, read_draft
from bot.core import messages as m
from bot.lab.backtest.run import Backtest, backtest, distinct, text
from bot.lab.backtest.tapes import tape_folders, winners
from bot.lab.exchange.assumptions import Latency, Terms
from bot.lab.exchange.exchange import DoesNotClose, PaperAccount
from bot.lab.exchange.queue_model import QueueModel
from bot.strategy.api import Quote, Strategy
from tests.builders.backtest.made import PROMPT, book, configured, top, trade, written
from venue.crowd.tape import TapeFault, read_tape
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import BookSide, Cents, Outcome, Price, Qty

ASKS = [[60, 50]]

# The trader is quoting long before second 20; see the venue's own tests for the sums.
QUIET = [book(second / 2, [[40, 30]], ASKS) for second in range(40)]
FLOW = [
    *QUIET,
    book(20, [[40, 60]], ASKS),
    book(21, [[40, 30]], ASKS),
    trade(22, 40, 20, "no"),
    trade(23, 40, 20, "no"),
    book(24, [[40, 10]], ASKS),
]


class Bids(Strategy):
    """Bids 12 at 40 on every rung, as long as nothing is held."""

    name = "bids"

    def __init__(self, params):
        super().__init__(params)
        self.seen = []

    def quote(self, view):
        self.seen.append((view.now_s, view.rungs[0].bids, view.rungs[0].net_qty))
        wanted = 12 - view.rungs[0].net_qty
        if wanted <= 0:
            return {}
        quote = Quote(BookSide.BID, Price(40), Qty(wanted))
        return {rung.market_id: (quote,) for rung in view.rungs}


@pytest.fixture
def settings(tmp_path):
    return finish(read_draft(configured(tmp_path, "fixed_spread"))).trader


def made():
    """A fresh strategy, which keeps what it saw."""
    return Bids(Bids.Params())


def played(folder, settings, bound=QueueModel.PESSIMISTIC, terms=PROMPT, **told):
    tape = read_tape(folder)
    return backtest(tape, settings, made, bound, terms, winners(tape, folder), **told)


@pytest.mark.parametrize(
    ("bound", "qty"),
    [(QueueModel.PESSIMISTIC, 10), (QueueModel.EXPECTED, 12), (QueueModel.OPTIMISTIC, 12)],
)
@pytest.mark.parametrize(("outcome", "pays"), [("yes", 100), ("no", 0)])
def test_the_profit_of_a_backtest_matches_a_hand_calculation(
    tmp_path, settings, bound, qty, outcome, pays
):
    came = played(written(tmp_path / "t", FLOW, outcome), settings, bound)
    assert (came.maker_qty, came.taker_qty, came.fees_cents) == (qty, 0, 0)
    assert came.net_millicents == 1000 * qty * (pays - 40)
    assert (came.settled, came.whole, came.printed_qty) == ("outcome", True, 40)


def test_the_fills_of_a_backtest_are_grouped_by_the_book_and_the_takers_before_them(
    tmp_path, settings
):
    deep = [[60, 90]]  # three times the bid
    flow = [row | {"no": [[40, 90]]} if row["type"] == "book" else row for row in FLOW]
    flow += [book(second, [[40, 10]], deep) for second in range(25, 60)]
    came = played(written(tmp_path / "t", flow), settings)
    (by_book,), (by_takers,) = came.by["lean"], came.by["flow"]
    # Bought while more was offered than bid for, just after somebody had sold twenty.
    assert (by_book.name, by_book.qty) == (by_takers.name, by_takers.qty) == ("against", 10)
    lines = text([came]).splitlines()
    (shown,) = [line for line in lines if line.startswith("lean against us")]
    assert shown.split()[3:] == ["1", "10", "+10.00", "+10.00", "-", "-"]


@pytest.mark.parametrize("outcome", [b'"YES"', b'"\xff"'])
def test_an_invalid_or_undecodable_outcome_is_rejected_with_its_file(tmp_path, outcome):
    folder = written(tmp_path / "tape", FLOW)
    path = folder / "catalog.json"
    path.write_bytes(path.read_bytes().replace(b'"yes"', outcome))
    with pytest.raises(TapeFault, match=r"catalog\.json: "):
        winners(read_tape(folder), folder)


def test_without_an_outcome_inventory_is_marked_at_the_last_mid(tmp_path, settings):
    came = played(written(tmp_path / "t", FLOW, None), settings)
    assert came.settled == "mid"
    assert came.net_millicents == 10 * 10_000  # 10 bought at 40, the middle is 50


def test_a_missing_outcome_is_unknown(tmp_path):
    folder = written(tmp_path / "t", FLOW)
    catalog = json.loads((folder / "catalog.json").read_text())
    del catalog["events"][0]["rungs"][0]["outcome"]
    (folder / "catalog.json").write_text(json.dumps(catalog))
    assert winners(read_tape(folder), folder) is None


def test_a_known_outcome_is_paid_while_an_unknown_one_is_marked_at_the_mid(tmp_path, settings):
    ended = {"40": "yes", "50": None}
    flow = [row | {"ticker": f"KX-1-{strike}"} for row in FLOW for strike in ended]
    came = played(written(tmp_path / "t", flow, rungs=ended), settings)
    assert (came.settled, came.maker_qty) == ("part", 20)
    assert came.net_millicents == 10 * 60_000 + 10 * 10_000  # bought at 40; the middle is 50


def test_the_ledger_of_the_trader_agrees_with_the_venue(tmp_path, settings):
    later = [book(25 + second / 2, [[40, 10]], ASKS) for second in range(40)]
    came = played(written(tmp_path / "t", FLOW + later), settings)
    assert came.ledger_difference_cents == 0
    assert came.profit is not None
    assert came.profit.qty == came.maker_qty == 10


@pytest.mark.parametrize(("latency_ms", "filled"), [(20, 12), (8_000, 0)])
def test_an_order_fills_only_once_its_request_has_arrived(tmp_path, settings, latency_ms, filled):
    # The first thing to sell to comes at second 10, two more seconds and it is over.
    records = [*QUIET[:24], trade(12, 39, 30, "no"), book(12.1, [[40, 30]], ASKS)]
    terms = Terms(latency=Latency(latency_ms * NS_PER_MS), feed_ns=NS_PER_MS)
    came = played(written(tmp_path / "t", records), settings, terms=terms)
    assert came.maker_qty == filled


def test_a_book_reaches_the_strategy_after_the_feed_latency(tmp_path, settings):
    later = [book(20 + second, [[41, 30]], ASKS) for second in range(5)]
    records = [*QUIET, *later]
    folder = written(tmp_path / "t", records)
    for feed_ms in (50, 1500):
        strategies = []

        def make(strategies=strategies):
            strategies.append(made())
            return strategies[-1]

        terms = Terms(latency=Latency(NS_PER_MS), feed_ns=feed_ms * NS_PER_MS)
        Backtest(read_tape(folder), settings, make, QueueModel.PESSIMISTIC, terms).run()
        # now_s counts from the start, a second before the first record.
        first_s = min(now_s for now_s, bids, _ in strategies[0].seen if bids[:1] == ((41, 30),))
        assert first_s >= 21 + feed_ms / 1000


def test_a_seed_determines_the_result_and_the_latencies(tmp_path, settings):
    folder = written(tmp_path / "t", FLOW)
    tape = read_tape(folder)

    def answers(seed):
        terms = Terms(latency=Latency(30 * NS_PER_MS, 0.5), seed=seed)
        instants = []
        run = Backtest(tape, settings, made, QueueModel.EXPECTED, terms)
        run.observed(lambda _event, _effects, now_ns: instants.append(now_ns)).run()
        return run.venue.account.fills, run.trader.report(run.recorded_ns), instants

    assert answers(1) == answers(1)
    assert answers(1)[2] != answers(2)[2]


def test_a_stopped_backtest_gives_a_partial_result(tmp_path, settings):
    folder = written(tmp_path / "t", FLOW)
    came = played(folder, settings, progress=lambda records: records < 43)
    assert (came.whole, came.records, came.settled) == (False, 43, "mid")


@pytest.mark.parametrize(("most_cents", "left"), [(300, 0), (10, 9)])
def test_an_exit_in_a_backtest_costs_no_more_than_its_cap(tmp_path, settings, most_cents, left):
    after = [book(24 + second / 2, [[40, 60]], ASKS) for second in range(40)]
    tape = read_tape(written(tmp_path / "t", [*FLOW, *after]))
    run = Backtest(tape, settings, made, QueueModel.PESSIMISTIC, PROMPT)
    asked = []

    def progress(records):
        if records > len(FLOW) + 10 and not asked:
            asked.append(run.trader.report(run.recorded_ns).events[0])
            event, within_ns = asked[0].event_ticker, 12 * NS_PER_SECOND
            run.deliver(m.ExitRequested(event, within_ns, Cents(most_cents), "home"))
        return True

    run.run(progress)
    (event,) = run.trader.report(run.recorded_ns).events
    assert asked[0].rungs[0].yes_qty == 10
    assert (event.exit.left_qty, event.state) == (left, "halted")
    assert event.exit.cost_cents <= most_cents
    assert sum(run.venue.account.shares.values()) == left


def test_an_account_that_differs_from_the_venue_raises():
    account = PaperAccount()
    account.cash_cents = 7
    with pytest.raises(DoesNotClose, match="7 cents, the venue: 8 cents"):
        account.prove(8)


def test_a_rung_derived_from_brackets_pays_when_a_higher_bracket_wins(tmp_path):
    ended = {"1": "no", "2": "no", "3": "yes", "4": "no"}
    tops = [top(second, strike, 24, 26) for second, strike in enumerate(ended)]
    folder = written(tmp_path / "t", tops, rungs=ended)
    tape = read_tape(folder)
    paid = winners(tape, folder)
    assert [paid[rung.market_id] for rung in tape.rungs] == [Outcome.YES, Outcome.YES, Outcome.NO]


def test_a_derived_rung_is_settled_where_the_known_brackets_decide_it(tmp_path):
    ended = {"1": None, "2": "yes", "3": None, "4": "no"}
    tops = [top(second, strike, 24, 26) for second, strike in enumerate(ended)]
    folder = written(tmp_path / "t", tops, rungs=ended)
    tape = read_tape(folder)
    first, _, last = (rung.market_id for rung in tape.rungs)
    assert winners(tape, folder) == {first: Outcome.YES, last: Outcome.NO}


def test_best_prices_are_backtested_once_for_all_queue_models(tmp_path, settings):
    rows = [
        top(4 * second + place, strike, 24 + second % 3, 26 + second % 3)
        for second in range(8)
        for place, strike in enumerate("1234")
    ]
    folder = written(tmp_path / "t", rows, rungs=dict.fromkeys("1234", "no"))
    tape = read_tape(folder)
    assert distinct(tape, tuple(QueueModel)) == {QueueModel.PESSIMISTIC: tuple(QueueModel)}
    came = [played(folder, settings, reading) for reading in QueueModel]
    assert len({(row.net_millicents, row.fills, row.events) for row in came}) == 1


def test_books_are_backtested_under_every_queue_model(tmp_path):
    tape = read_tape(written(tmp_path / "t", FLOW))
    wanted = (QueueModel.PESSIMISTIC, QueueModel.OPTIMISTIC)
    assert distinct(tape, wanted) == {reading: (reading,) for reading in wanted}


def test_a_folder_of_tapes_lists_each_tape_and_an_empty_one_is_rejected(tmp_path):
    for name in ("b", "a"):
        written(tmp_path / "all" / name, FLOW)
    assert [folder.name for folder in tape_folders(tmp_path / "all")] == ["a", "b"]
    assert tape_folders(tmp_path / "all" / "a") == (tmp_path / "all" / "a",)
    with pytest.raises(TapeFault, match="no tape here"):
        tape_folders(tmp_path / "none")


@pytest.mark.parametrize(
    "text", ["30", "lognormal:30ms", "lognormal:x:1", "uniform:30ms:0.5", "lognormal:1s:0.5"]
)
def test_an_invalid_latency_is_rejected(text):
    with pytest.raises(ValueError, match="want"):
        Latency.parse(text)


def test_latencies_are_read_from_text():
    assert Latency.parse("30ms") == Latency(30 * NS_PER_MS)
    assert Latency.parse("lognormal:1000ms:0.5") == Latency(NS_PER_SECOND, 0.5)


@pytest.mark.parametrize("bound", QueueModel)
def test_a_rung_without_a_recorded_book_yet_is_not_quoted(tmp_path, settings, bound):
    early = [row | {"ticker": "KX-1-40"} for row in QUIET]
    first = [book(15, [[40, 500]], [[44, 50]]), trade(15.1, 40, 100, "no")]
    late = [row | {"ticker": "KX-1-50"} for row in first]
    rungs = {"40": "yes", "50": "yes"}
    lines = sorted([*early, *late], key=lambda row: row["ts"])
    came = played(written(tmp_path / "t", lines, rungs=rungs), settings, bound)
    assert came.maker_qty == 0  # whoever was there stood before anybody who sees their book
