"""Claims about explaining from journals: several runs, orders kept, what is missing or torn."""

import json
from pathlib import Path

import pytest

from bot.core import messages as m
from bot.io.journal.records import Entry, JournalFault
from bot.lab.order_histories import OrderNotFound, read_order_histories
from bot.lab.session import runs
from tests.builders.explain import lived as lives
from tests.builders.explain.lived import FIRST, SECOND, Lived, config
from tests.builders.io import commands
from tests.builders.record.made import damage, segment_file
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND, Instant, from_ns


def invoke(state: Path, *words: object, config_path: Path | None = None):
    path = config_path or config(state.parent)
    return commands.invoke("explain", path, *words, "--state-dir", state)


def explained(state: Path, order: str, *more: str) -> dict:
    done = invoke(state, order, "--json", *more)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Lived:
    """A run whose orders rest when it is killed."""
    run = Lived(config(tmp_path_factory.mktemp("first")))
    run.begin()
    return run


@pytest.fixture(scope="module")
def state(first, tmp_path_factory) -> Path:
    """Two runs: the second keeps the orders of the first and moves one of them."""
    folder = tmp_path_factory.mktemp("both")
    state = first.written(folder / "state")
    second = Lived(config(folder), SECOND)
    second.orders, second._made, second.now_ns = dict(first.orders), 100, first.now_ns + 10**10
    second.begin(state)
    second.mids = [70, 46, 30]
    second.live(3)
    return second.written(state, 2)


def test_an_order_adopted_from_an_earlier_run_is_explained_from_both_journals(state):
    order = explained(state, f"{FIRST}-1", "--every")
    assert order["order"]["inherited"] == [SECOND]
    runs_of = [each["deed"]["run"] for each in order["decisions"]]
    kinds = [each["deed"]["kind"] for each in order["decisions"]]
    assert (runs_of[0], kinds[0]) == (FIRST, "create")
    assert SECOND in runs_of[1:]
    places = [each["decision"]["place"]["segment"] for each in order["decisions"]]
    assert places[0] == "journal-00000001.log"
    assert places[-1] == "journal-00000002.log"


def test_a_book_with_an_unreadable_time_is_ignored(tmp_path):
    path = config(tmp_path)
    run = Lived(path)
    run.begin()
    rung = next(iter(run.orders.values()))
    book = model.Orderbook(rung.ticker, rung.market_id, Instant("soon"), (), ())
    run.give(m.Response(m.RequestId(10**6), m.Ok(m.BookBody(book))))
    run.mids = [70, 46, 30]
    run.live(3)
    order = explained(run.written(tmp_path / "state"), run.newest[0])
    assert order["decisions"][-1]["decision"]["frame"]["kind"] == "frame of the channel"


def test_by_default_the_first_and_last_request_are_explained(state):
    order = explained(state, f"{FIRST}-1")
    assert len(order["decisions"]) == 2


def test_the_runs_of_a_state_directory_are_found_newest_first(state):
    assert [run.started.boot_nonce for run in runs(state)] == [SECOND, FIRST]


def test_an_earlier_time_is_explained_from_the_run_of_that_time(state, first):
    at_ns = first.now_ns - NS_PER_SECOND
    done = invoke(state, "--rung", "110B", "--at", from_ns(at_ns), "--json")
    assert done.exit_code == 0, done.output
    decision = json.loads(done.stdout)
    assert decision["place"]["segment"] == "journal-00000001.log"
    assert decision["at_ns"] <= at_ns
    assert decision["choice"] is None
    assert decision["token"] is None


def test_an_unknown_order_ends_with_2(state):
    done = invoke(state, "nothing")
    assert done.exit_code == 2
    assert "no order 'nothing' in the journal" in done.stderr


def test_an_ambiguous_prefix_ends_with_2_and_names_the_orders(state):
    done = invoke(state, FIRST[:5])
    assert done.exit_code == 2
    assert f"{FIRST}-1" in done.stderr


def test_a_whole_id_that_is_a_prefix_of_another_is_its_own_order(state):
    """The venue's id 1 begins the ids 10, 101 and so on."""
    assert explained(state, "1")["order"]["order_ids"] == ["1"]


def test_explain_without_a_journal_ends_with_3(tmp_path):
    (tmp_path / "state").mkdir()
    for folder in (tmp_path / "state", tmp_path / "none"):
        done = invoke(folder, "x")
        assert done.exit_code == 3
        assert "no journal here" in done.stderr or "No such file" in done.stderr


def test_an_order_before_a_damage_is_explained_with_a_warning(first, tmp_path):
    state = first.written(tmp_path / "state")
    damage(state / "journal-00000001.log", -2_000)
    done = invoke(state, f"{FIRST}-1", "--json")
    assert done.exit_code == 0, done.output
    assert "journal damaged at byte" in done.stderr
    assert json.loads(done.stdout)["decisions"][0]["decision"]["curve"] is not None


def test_a_damage_before_the_order_is_reported(first, tmp_path):
    state = first.written(tmp_path / "state")
    path = state / "journal-00000001.log"
    damage(path, path.read_bytes().index(b"BookUpdate"))
    done = invoke(state, f"{FIRST}-1")
    assert done.exit_code in (2, 3)
    assert "journal damaged at byte" in done.stderr


def test_an_order_of_a_run_without_its_beginning_has_its_history_alone(first, tmp_path):
    made = [
        at
        for at, entry in enumerate(first.entries)
        if isinstance(entry.message, m.Send) and isinstance(entry.message.request, m.Create)
    ]
    state = first.written(tmp_path / "state", from_entry=made[0] + 1)
    done = invoke(state, "1")
    assert done.exit_code == 3
    assert f"order {FIRST}-1" in done.stdout
    assert "no longer holds" in done.stderr
    later = invoke(state, "2")
    assert "create: quote" in later.stdout
    rung = invoke(state, "--rung", "100B")
    assert rung.exit_code == 3


@pytest.mark.parametrize("left", [0, 12], ids=["emptied", "torn in its head"])
def test_a_journal_without_a_whole_entry_ends_with_3(first, tmp_path, left):
    state = first.written(tmp_path / "state")
    (path,) = state.glob("journal-*")
    path.write_bytes(path.read_bytes()[:left])
    for order in ((), ("1",)):
        done = invoke(state, *order)
        assert done.exit_code == 3
        assert f"{path}: holds nothing whole" in done.stderr


def test_an_empty_segment_is_reported_and_the_run_explained(first, tmp_path):
    state = first.written(tmp_path / "state")
    (path,) = state.glob("journal-*")
    path.rename(state / "journal-00000002.log")
    path.touch()
    done = invoke(state, f"{FIRST}-1")
    assert done.exit_code == 0
    assert "warning" in done.stderr
    assert f"{path}: holds nothing whole" in done.stderr


def test_a_run_that_replays_differently_has_its_history_and_ends_with_3(first, tmp_path):
    state = first.written(tmp_path / "state")
    beat = next(at for at, each in enumerate(first.entries) if type(each.message) is m.Tick)
    added = [*first.entries[:beat], Entry(first.entries[beat - 1].at_ns, m.Latched("planted"))]
    (path,) = state.glob("journal-*")
    segment_file(path, [*added, *first.entries[beat:]])
    done = invoke(state, f"{FIRST}-1")
    assert done.exit_code == 3
    assert "create: quote" in done.stdout
    assert "takes another course" in done.stderr


def test_a_run_is_explained_with_its_own_configuration(first, tmp_path):
    state = first.written(tmp_path / "state")
    other = config(tmp_path, lives.CONFIG.replace("order_qty: 100", "order_qty: 5"))
    done = invoke(state, f"{FIRST}-1", "--json", config_path=other)
    assert done.exit_code == 0, done.output


def test_an_event_at_which_the_trader_raised_is_replayed_as_it_was(tmp_path, monkeypatch):
    from bot.core.trader import Trader

    receive = Trader.receive

    def raising(self: Trader, event: m.Event, now_ns: int) -> list[m.Effect]:
        if isinstance(event, m.FeedClosed):
            raise RuntimeError("a bug")
        return receive(self, event, now_ns)

    monkeypatch.setattr(Trader, "receive", raising)
    run = Lived(config(tmp_path))
    run.begin()
    run.entries.append(Entry(run.now_ns, m.FeedClosed("gone")))
    run.mids = [67, 50, 30]
    run.live(3)
    order_id, _ = run.newest
    state = run.written(tmp_path / "state")
    assert explained(state, order_id)["decisions"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("1", "--rung", "110B"),
        ("1", "--at", "5s"),
        ("--rung", "110B", "--at", "yesterday"),
        ("--rung", "110B", "--at", "2020-01-01T00:00:00Z"),
        ("--rung", "999B"),
    ],
)
def test_contradictory_options_end_with_2(state, arguments):
    done = invoke(state, *arguments)
    assert done.exit_code == 2, done.output


def test_the_list_of_orders_has_a_line_for_each(state):
    done = invoke(state)
    assert done.exit_code == 0
    assert f"{FIRST}-1 " in done.stdout


def test_a_resting_order_is_listed_with_the_time_of_its_last_response(first, tmp_path):
    state = first.written(tmp_path / "state")
    life = read_order_histories(state).find(f"{FIRST}-1")
    answered_ns = max(each.answered_ns for each in life.deeds)
    done = invoke(state)
    (row,) = [row for row in done.stdout.splitlines() if row.startswith(f"{FIRST}-1 ")]
    assert row.endswith(f" 0 filled, open when last seen, {from_ns(answered_ns)[:19]}Z")


def test_an_unknown_response_does_not_count_as_seeing_the_order(tmp_path):
    class Mute(Lived):
        def answer(self, request: m.Request) -> m.Answer:
            if isinstance(request, m.CancelResting):
                return m.Unknown("no reply")
            return super().answer(request)

    run = Mute(config(tmp_path))
    run.begin()
    begun_ns = run.now_ns
    run.give(m.StopRequested("test"))
    run.live(1)
    life = read_order_histories(run.written(tmp_path / "state")).find(f"{FIRST}-1")
    assert max(each.answered_ns for each in life.deeds) > begun_ns
    assert life.resting_ns is not None
    assert life.resting_ns <= begun_ns


def test_order_histories_are_read_without_a_replay(state):
    found = read_order_histories(state)
    life = found.find(f"{FIRST}-1")
    assert life.deeds[0].kind == "create"
    assert life.deeds[0].answer.startswith("order 1 open")
    assert life.deeds[0].frame is not None
    with pytest.raises(OrderNotFound, match="no order 'zz'"):
        found.find("zz")


def test_a_newer_version_of_the_journal_is_refused(first, tmp_path):
    state = first.written(tmp_path / "state")
    path = state / "journal-00000001.log"
    path.write_bytes(b"LMKJ\xff" + path.read_bytes()[5:])
    with pytest.raises(JournalFault, match="journal version 255"):
        read_order_histories(state)
