"""Claims about `bot replay --writes`: the same trader sends the same, another is told apart."""

import gzip
from pathlib import Path

import msgspec
import pytest

from bench.simulated_journals import brutal
from bot.config.strategies import Makers, MakeStrategy
from bot.core import messages as m
from bot.core.execution.pre_trade_checks import HeldBack, PreTradeChecks, Verdict
from bot.core.planning.actions import AmendAction
from bot.core.recorder import RECORDING
from bot.io.journal.journal import read_journal
from bot.io.journal.records import Entry
from bot.lab.session import Until, runs_meant
from bot.lab.writes import WriteMatch, WriteReplayer, WriteReport
from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.io.commands import invoke, json_of
from tests.builders.record.made import damage, segment_file
from tests.builders.replay.recorded import recorded
from tests.builders.scale import cases
from tests.mutants.bug import Patch, planted
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Price

CORPUS = Path(__file__).parents[1] / "io/corpus"


@pytest.fixture(scope="module")
def state(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("writes") / "state"
    recorded(brutal(16, cases(60, quick=4) * NS_PER_SECOND), folder)
    return folder


@pytest.fixture(scope="module")
def calm(tmp_path_factory) -> list[Entry]:
    folder = tmp_path_factory.mktemp("calm") / "state"
    recorded(brutal(11, 4 * NS_PER_SECOND), folder)
    return list(read_journal(runs_meant(folder, every=False)[0].paths[0]))


def compared(path: Path, remake=None, until: Until | None = None) -> list[WriteReport]:
    return [
        WriteReplayer(run, remake or Makers(Path())).compare(*([] if until is None else [until]))
        for run in runs_meant(path, every=True)
    ]


def count(found: WriteReport, match: WriteMatch) -> int:
    return sum(found.counts[match].values())


def corpus(name: str, folder: Path) -> Path:
    (packed,) = (CORPUS / name).glob("*.gz")
    path = folder / packed.stem
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


# --- the same trader ------------------------------------------------------------------------------


def test_a_trader_sends_the_writes_of_its_own_runs_among_faults_at_the_same_ticks(state):
    reports = compared(state)
    assert len(reports) > 1
    assert sum(each.writes for each in reports) > 50
    for each in reports:
        assert count(each, WriteMatch.SAME) == each.writes
        assert each.differences == ()
        assert each.reads_now == each.reads_then


def test_no_write_that_differs_exits_with_0(state):
    done = invoke("replay", "--writes", "--quiet", state)
    assert done.exit_code == 0
    assert "only now" in done.stdout


def test_until_ends_the_comparison(calm, tmp_path):
    path = segment_file(tmp_path / "run.log", calm)
    (whole,), (part,) = compared(path), compared(path, until=Until(number=60))
    assert part.events == 60 < whole.events
    assert part.writes < whole.writes


# --- another trader -------------------------------------------------------------------------------


class Lower(Strategy):
    """Bids one cent lower than another strategy."""

    def __init__(self, inner: Strategy) -> None:
        super().__init__(inner.params)
        self._inner = inner

    def quote(self, view: EventView) -> Quotes:
        return {
            market_id: tuple(
                msgspec.structs.replace(each, price=Price(each.price - 1), limit=None)
                if isinstance(each, Quote) and each.side is BookSide.BID and each.price > 1
                else each
                for each in quotes
            )
            for market_id, quotes in self._inner.quote(view).items()
        }


def lower(choice: m.StrategyChoice) -> MakeStrategy:
    make = Makers(Path())(choice)
    return lambda: Lower(make())


def test_bids_that_are_lower_now_are_other_prices(calm, tmp_path):
    (found,) = compared(segment_file(tmp_path / "run.log", calm), lower)
    others = [each for each in found.differences if each.match is WriteMatch.OTHER_PRICE]
    assert others
    for each in others:
        assert each.then is not None
        assert each.now is not None
        assert each.now.side == "bid"
    assert any(each.now.price == each.then.price - 1 for each in others if each.now and each.then)
    assert found.unfollowed == 0


_may_send = PreTradeChecks.may_send
NO_AMENDS = Patch(
    PreTradeChecks,
    "may_send",
    lambda self, rung, action, now_ns: (
        Verdict(HeldBack.TOKENS)
        if isinstance(action, AmendAction)
        else _may_send(self, rung, action, now_ns)
    ),
)


def test_a_trader_that_sends_no_amends_goes_on_from_those_of_the_run(tmp_path):
    path = corpus("v7-demo", tmp_path)
    (whole,) = compared(path)
    with planted((NO_AMENDS,)):
        (found,) = compared(path)
    amends = whole.counts[WriteMatch.SAME]["amend"]
    assert found.counts[WriteMatch.THEN_FIRST]["amend"] > amends // 2
    assert "amend" not in found.counts[WriteMatch.SAME]
    assert found.counts[WriteMatch.SAME]["create"] > 0.9 * whole.counts[WriteMatch.SAME]["create"]
    assert found.unfollowed == 0


def test_a_create_that_the_run_did_not_send_is_only_now(calm, tmp_path):
    creates = [
        entry.message
        for entry in calm
        if isinstance(entry.message, m.Send) and isinstance(entry.message.request, m.Create)
    ]
    last = creates[-1]
    left = [
        entry
        for entry in calm
        if entry.message is not last
        and not (
            isinstance(entry.message, m.Response) and entry.message.request_id == last.request_id
        )
    ]
    (found,) = compared(segment_file(tmp_path / "run.log", left))
    assert isinstance(last.request, m.Create)
    only_now = [
        each.now for each in found.differences if each.match is WriteMatch.ONLY_NOW and each.now
    ]
    wanted = last.request.order.market_id, last.request.order.qty
    assert wanted in [(each.market_id, each.qty) for each in only_now if each.kind == "create"]


def test_a_run_of_an_earlier_trader_is_not_replayed(tmp_path):
    done = invoke("replay", corpus("v7-demo", tmp_path))
    assert done.exit_code == 3
    assert "compare the writes: `bot replay --writes`" in done.stderr


def test_an_earlier_run_sends_the_same_writes_now_but_for_steps_back_that_leave_sooner(tmp_path):
    found = json_of("replay", corpus("v7-demo", tmp_path), "--writes", code=4)
    writes = {match: sum(kinds.values()) for match, kinds in found["counts"].items()}
    assert found["writes"] == 183
    assert (writes.pop("same"), writes.pop("earlier"), writes.pop("later")) == (169, 8, 0)
    # Three places where an order that stepped back sooner takes another way from there.
    assert (sum(writes.values()), found["overtaken"]) == (7, 0)
    assert {each["place"]["entry"] // 100 for each in found["differences"]} == {7, 8, 9}


def test_a_run_of_an_earlier_version_is_compared(tmp_path):
    path = corpus("v5-one-create-open", tmp_path)
    found = json_of("replay", "--writes", "--quiet", path, code=4)
    assert found["version"] == 5
    assert found["writes"] > 30
    text = invoke("replay", "--writes", "--quiet", path).stdout
    assert "    then  " in text
    assert "    now   " in text


def test_a_recording_has_no_writes_to_compare(calm, tmp_path):
    started = calm[0].message
    assert isinstance(started, m.Started)
    assert started.configured is not None
    choice = msgspec.structs.replace(started.configured.strategy, name=RECORDING)
    configured = msgspec.structs.replace(started.configured, strategy=choice)
    entry = Entry(calm[0].at_ns, msgspec.structs.replace(started, configured=configured))
    done = invoke(
        "replay", "--writes", "--quiet", segment_file(tmp_path / "run.log", [entry, *calm[1:]])
    )
    assert done.exit_code == 3
    assert "nothing was traded" in done.stderr


def test_a_damaged_journal_is_compared_up_to_the_damage_and_exits_with_3(calm, tmp_path):
    path = segment_file(tmp_path / "run.log", calm)
    damage(path)
    done = invoke("replay", "--writes", "--quiet", path)
    assert done.exit_code == 3
    assert "damaged" in done.stdout
