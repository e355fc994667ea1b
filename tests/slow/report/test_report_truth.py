"""Claims about `bot report`: its totals are those of `bot pnl` and of the venue's own ledger."""

import re
import shutil
from pathlib import Path

import msgspec
import pytest

from bench.simulated_journals import STRATEGY_FAULTS
from bot.config.strategies import Makers
from bot.core import messages as m
from bot.io.journal.journal import read_journal
from bot.io.journal.records import Entry, framed
from bot.lab.report.sources import sessions_of
from bot.lab.sim.scenario import draw, narrowed, often
from bot.lab.sim.world import SimulatedWorld
from tests.builders.io.commands import invoke, json_of
from tests.builders.record.made import segment_file
from tests.builders.replay.recorded import recorded
from tests.builders.report.lived import CONFIG, venue_millicents
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import dollars

pytestmark = pytest.mark.xdist_group("report")


class RecordedRun:
    """A recorded run: its world, its report in both forms, and what `bot pnl` says of it."""

    def __init__(self, folder: Path, run: tuple[Path, SimulatedWorld]) -> None:
        self.state, self.world = run
        config = folder / "bot.yaml"
        config.write_text(CONFIG)
        html = folder / "report.html"
        (self.said,) = json_of("report", self.state, "--html", html)["sessions"]
        self.html = html.read_text()
        self.pnl = json_of("pnl", config, "--state-dir", self.state, "--by", "rung")


@pytest.fixture(scope="module")
def recorded_run(tmp_path_factory, run) -> RecordedRun:
    return RecordedRun(tmp_path_factory.mktemp("truth"), run)


def test_the_totals_of_the_report_are_those_of_pnl(recorded_run):
    assert recorded_run.said["pnl_cents"] == recorded_run.pnl["pnl_cents"]
    assert recorded_run.said["seconds"] == recorded_run.pnl["seconds"]
    for key in ("total", "realised_cents", "settled_cents", "open_cents", "difference_millicents"):
        assert recorded_run.said["profit"][key] == recorded_run.pnl["profit"][key]
    assert recorded_run.said["profit"]["by"]["rung"] == recorded_run.pnl["profit"]["by"]["rung"]


def test_the_report_has_the_risk_of_what_was_held_in_each_event(recorded_run):
    world, known = recorded_run.world, recorded_run.said["risks"]
    report = world.process.trader.report(world.now_ns)
    one, other = (event.event_ticker for event in report.events)
    together = f"2 from {one} together, correlation 0"
    assert [each["name"] for each in known] == [one, other, together]
    for each, of in zip(known, (*report.events, *report.companies), strict=True):
        assert each["risk"] == msgspec.to_builtins(of.risk)
        assert each["shortfall_99_max_cents"] >= of.risk.shortfall_99_cents


def test_entries_after_the_end_of_a_run_are_ignored(recorded_run, tmp_path):
    """The loop keeps answers that come after it; the trader never had them."""
    state = tmp_path / "late"
    shutil.copytree(recorded_run.state, state)
    *_, newest = sorted(state.glob("journal-*.log"))
    *_, last = read_journal(newest)
    late_ns = last.at_ns + 60 * NS_PER_SECOND
    late = Entry(late_ns, m.Response(m.RequestId(999_999), m.Unknown("late")))
    with newest.open("ab") as file:
        file.write(framed(late))
    (said,) = json_of("report", state)["sessions"]
    assert said == recorded_run.said | {"name": "late"}
    (tmp_path / "bot.yaml").write_text(CONFIG)
    asked = ("pnl", tmp_path / "bot.yaml", "--state-dir", state, "--by", "rung")
    assert json_of(*asked) == recorded_run.pnl


def test_the_profit_agrees_with_the_ledger_of_the_venue(recorded_run):
    assert recorded_run.said["fills"] > 10
    assert recorded_run.said["sources_cents"]["profit"] == round(
        venue_millicents(recorded_run.world) / 1_000
    )
    assert recorded_run.said["ledger_difference_cents"] == 0


def test_the_sources_of_profit_add_up_and_name_the_payout(recorded_run):
    parts = dict(recorded_run.said["sources_cents"])
    profit = parts.pop("profit")
    assert sum(parts.values()) == profit
    assert parts["settlement"] != 0
    total = recorded_run.pnl["profit"]["total"]
    assert parts["drift"] + parts["settlement"] == total["drift_cents"]
    assert (parts["spread"], parts["adverse"]) == (total["spread_cents"], total["adverse_cents"])


def test_the_page_shows_the_same_sums(recorded_run):
    rows = dict(
        re.findall(r"<th scope='row'>(\w+)</th><td[^>]*>(-?\$[\d,.]+)</td>", recorded_run.html)
    )
    parts = recorded_run.said["sources_cents"]
    assert {name: rows[name] for name in parts} == {k: dollars(v) for k, v in parts.items()}


def test_the_markouts_on_the_page_are_those_of_pnl(recorded_run):
    for row in recorded_run.pnl["profit"]["total"]["markouts"]:
        name = f"{row['horizon_s']} s, {row['against']}"
        found = re.search(
            rf"{name}</th><td[^>]*>([-+.\d]+)</td><td>[^<]*</td><td>(\d+)</td>", recorded_run.html
        )
        assert found is not None
        assert float(found[1]) == pytest.approx(row["mean_cents"], abs=0.001)
        assert int(found[2]) == row["fills"]


def test_the_page_groups_every_fill_by_the_book_and_the_takers_before_it(recorded_run):
    for split in ("lean", "flow"):
        rows = recorded_run.said["profit"]["by"][split]
        assert sum(row["fills"] for row in rows) == recorded_run.said["fills"]
        for row in rows:
            name = f"{split} {row['name']}" + (" us" if row["name"] in ("with", "against") else "")
            shown = rf"{name}</th><td>{row['fills']}</td><td>{row['qty']:,}</td>"
            assert re.search(shown, recorded_run.html)


def test_uptime_counts_only_while_the_market_takes_orders(recorded_run):
    (session,) = sessions_of(recorded_run.state, Makers(Path()), every_s=1.0)
    resolved = recorded_run.world.auditor.truth.resolved
    looked_at: dict[bool, set[int]] = {True: set(), False: set()}
    for rung, pair in zip(session.rungs, session.uptime, strict=True):
        for up in pair:
            whole_ns = up.on_target_ns + up.missing_ns + up.idle_ns
            looked_at[rung.market_id in resolved].add(whole_ns)
    assert max(looked_at[True]) < min(looked_at[False]) / 2
    assert all(2 * ns < session.until_ns - session.begun_ns for ns in looked_at[True])


def test_requests_and_rejects_are_those_of_the_journal(recorded_run):
    sent: dict[str, int] = {}
    refused: dict[str, int] = {}
    for entry in read_journal(next(recorded_run.state.glob("journal-*.log"))):
        message = entry.message
        kind = type(message).__name__
        if kind == "Send":
            name = type(message.request).__name__
            short = name.removesuffix("Resting").lower() if "Read" not in name else "read"
            sent[short] = sent.get(short, 0) + 1
        elif kind == "Response" and type(message.answer).__name__ == "Rejected":
            status, code = message.answer.status, message.answer.code
            name = code or (f"http_{status}" if status else "not_connected")
            refused[name] = refused.get(name, 0) + 1
    assert recorded_run.said["requests"] == sent
    assert recorded_run.said["refused"] == refused


def test_a_reject_without_a_code_has_the_name_of_the_summary(tmp_path):
    calm = narrowed(draw(62, "calm"), without=STRATEGY_FAULTS, until_ns=2 * NS_PER_SECOND)
    world = recorded(often(calm, ("not_connected",)), tmp_path / "state")
    summed = world.processes[-1].trader.out.counters.refused
    assert summed["not_connected"] > 0
    (said,) = json_of("report", tmp_path / "state")["sessions"]
    assert said["refused"] == summed


def test_a_run_is_named_after_its_state_directory(recorded_run, monkeypatch):
    monkeypatch.chdir(recorded_run.state)
    *_, segment = sorted(Path().glob("journal-*.log"))
    for source in (".", segment):
        (said,) = json_of("report", source)["sessions"]
        assert said == recorded_run.said


@pytest.mark.parametrize("arguments", [(), ("x", "--compare", "a", "b")])
def test_a_report_needs_either_a_source_or_a_comparison(arguments):
    done = invoke("report", *arguments)
    assert done.exit_code == 2
    assert "--compare" in done.stderr


def test_a_run_compared_with_itself_has_no_difference(recorded_run, tmp_path):
    page = tmp_path / "page.html"
    asked = ("--compare", recorded_run.state, recorded_run.state, "--html", page)
    (pair,) = json_of("report", *asked)["pairs"]
    assert pair["unpaired"] == ""
    assert pair["paired"]["difference_cents"] == 0
    assert "Differences" in page.read_text()


def test_a_damaged_journal_is_reported_up_to_its_damage(recorded_run, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    (journal,) = recorded_run.state.glob("journal-*.log")
    whole = bytearray(journal.read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    (state / journal.name).write_bytes(whole)
    (said,) = json_of("report", state, code=3)["sessions"]
    assert "damaged at byte" in said["damage"]
    assert 0 < said["events"] < recorded_run.said["events"]


def test_the_report_of_an_unfinished_run_says_so(recorded_run, tmp_path):
    """As after a crash or a full disk, or while it goes on."""
    state, html = tmp_path / "state", tmp_path / "page.html"
    state.mkdir()
    (journal,) = recorded_run.state.glob("journal-*.log")
    *kept, last = read_journal(journal)
    assert isinstance(last.message, m.DrainComplete)
    segment_file(state / journal.name, kept)
    done = invoke("report", state, "--html", html)
    assert done.exit_code == 0, done.output
    text = "the journal holds no end of the run: it goes on, or broke off"
    assert text in done.stdout
    assert text in html.read_text()
    assert (text in recorded_run.html, recorded_run.said["ended"]) == (False, True)


@pytest.mark.parametrize("compared", [False, True])
def test_a_run_that_replays_differently_is_reported_up_to_there(recorded_run, tmp_path, compared):
    state, html = tmp_path / "state", tmp_path / "page.html"
    state.mkdir()
    (journal,) = recorded_run.state.glob("journal-*.log")
    entries = list(read_journal(journal))
    half = len(entries) // 2
    gone = next(at for at in range(half, len(entries)) if isinstance(entries[at].message, m.Send))
    kept = [*entries[:gone], *entries[gone + 1 :]]
    segment_file(state / journal.name, kept)
    asked = ("--compare", recorded_run.state, state) if compared else (state,)
    done = invoke("report", *asked, "--html", html)
    assert done.exit_code == 3, done.output
    assert "the run takes another course, from event" in html.read_text()


@pytest.mark.parametrize("content", [None, "", "{}", "# a text\n"])
def test_a_report_of_a_file_that_is_no_source_ends_with_3(tmp_path, content):
    source = tmp_path / ("x" * 300 if content is None else "source")
    if content is not None:
        source.write_text(content)
    done = invoke("report", source)
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr.startswith(f"{source}: ")
    assert invoke("report", tmp_path / "none").exit_code == 3
