"""Claims about the latch: durable or reported as failed, and cleared only by a person."""

import json
import os
import stat
from pathlib import Path

import msgspec
import pytest

from bot.core.inconsistency import Contradiction, Inconsistency
from bot.core.report import BreakerReport, Phase
from bot.io.metrics.metrics import Metrics
from bot.io.state import atomic_file as whole
from bot.io.state import kill_switch_file as crashes
from bot.io.state.kill_switch_file import CrashLog, KillSwitchFile, LatchFault, LatchRecord
from bot.io.state.locks import BOT_LOCK
from bot.io.status.snapshot import Snapshot
from tests.builders.io.commands import DEMO, invoke
from tests.builders.io.samples import report

WALL_NS = 1_800_000_000_000_000_000


def test_a_latch_is_a_private_file_that_another_process_reads(tmp_path):
    KillSwitchFile(tmp_path).set("loss_cents: 501, at most 500", "breaker", WALL_NS)
    assert KillSwitchFile(tmp_path).read_latch() == LatchRecord(
        "loss_cents: 501, at most 500", "2027-01-15T08:00:00.000000000Z", "breaker"
    )
    assert stat.S_IMODE(KillSwitchFile(tmp_path).path.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["latch.json"]


def test_the_first_reason_of_a_latch_is_kept(tmp_path):
    KillSwitchFile(tmp_path).set("first", "breaker", WALL_NS)
    assert KillSwitchFile(tmp_path).set("second", "reaper", WALL_NS).reason == "first"
    assert KillSwitchFile(tmp_path).read_latch().reason == "first"


def test_a_contradiction_replaces_another_reason_and_names_it(tmp_path):
    """Only a reset for a contradiction opens the books anew: the person has to know of it."""
    KillSwitchFile(tmp_path).set("silent", "reaper", WALL_NS)
    KillSwitchFile(tmp_path).set("cash_differs: by 5 cents.", "contradiction", WALL_NS)
    kept = KillSwitchFile(tmp_path).set("loss", "breaker", WALL_NS)
    assert (kept.by, kept.reason) == (
        "contradiction",
        "cash_differs: by 5 cents. Before that, reaper: silent",
    )


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"reason":1}', b'{"reason":"\xff"}', b"\x00" * 70_000]
)
def test_an_unreadable_latch_counts_as_set(tmp_path, content):
    KillSwitchFile(tmp_path).path.write_bytes(content)
    assert "holds no latch that can be read" in KillSwitchFile(tmp_path).read_latch().reason


def test_a_link_in_the_place_of_the_latch_counts_as_set_and_is_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text('{"reason":"secret","at":"","by":"x"}')
    KillSwitchFile(tmp_path).path.symlink_to(secret)
    record = KillSwitchFile(tmp_path).read_latch()
    assert record is not None
    assert record.reason != "secret"


def failing(monkeypatch: pytest.MonkeyPatch, *, blind: bool = False) -> None:
    """From here on no latch can be read; nor, `blind`, whether there is one."""

    def refused(*_arguments: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("bot.io.state.kill_switch_file.read_file", refused)
    if blind:
        monkeypatch.setattr(Path, "lstat", refused)


def test_a_failed_read_counts_as_a_latch_where_there_may_be_one(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        failing(patch)
        assert KillSwitchFile(tmp_path).read_latch() is None
        failing(patch, blind=True)
        assert KillSwitchFile(tmp_path).read_latch().is_doubt
    KillSwitchFile(tmp_path).set("x", "breaker", WALL_NS)
    failing(monkeypatch)
    record = KillSwitchFile(tmp_path).read_latch()
    assert "cannot be read: Input/output error" in record.reason
    assert not record.is_doubt


@pytest.mark.parametrize("blind", [False, True])
def test_a_latch_is_written_although_reading_it_fails(tmp_path, monkeypatch, blind):
    with monkeypatch.context() as broken:
        failing(broken, blind=blind)
        KillSwitchFile(tmp_path).set("loss_cents: 501, at most 500", "breaker", WALL_NS)
    assert KillSwitchFile(tmp_path).read_latch().reason == "loss_cents: 501, at most 500"


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_latch_that_cannot_be_written_is_a_fault_and_leaves_no_file(tmp_path, monkeypatch, call):
    def full(*_arguments: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with pytest.raises(LatchFault, match="No space left on device"):
        KillSwitchFile(tmp_path).set("x", "breaker", WALL_NS)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []


def test_a_replaced_file_is_synced_before_its_folder(tmp_path, monkeypatch):
    calls = []
    real_fsync, real_replace = os.fsync, Path.replace

    def fsync(handle: int) -> None:
        calls.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        real_fsync(handle)

    def replace(old: Path, new: Path) -> Path:
        calls.append("rename")
        return real_replace(old, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    whole.replace_file(tmp_path / "x", b"1")
    assert calls == ["file", "rename", "folder"]


# --- the command ----------------------------------------------------------------------------------


def reset(folder: Path, *more: str, answer: str | None = None):
    """Run `bot reset` for a bot whose state is in `folder`."""
    return invoke("reset", DEMO, "--state-dir", folder / "state", *more, input=answer)


def latched(folder: Path) -> KillSwitchFile:
    (folder / "state").mkdir()
    latch = KillSwitchFile(folder / "state")
    latch.set("loss_cents: 501, at most 500", "breaker", WALL_NS)
    return latch


def test_reset_shows_the_reason_and_clears_the_latch(tmp_path):
    latch = latched(tmp_path)
    done = reset(tmp_path, "--yes")
    assert done.exit_code == 0
    assert "by breaker: loss_cents: 501, at most 500" in done.stdout
    assert "the latch is cleared: a running bot quotes again" in done.stdout
    assert "(a paused one after bot resume)" in done.stdout
    assert latch.read_latch() is None
    assert not latch.clear()


def test_reset_prints_as_json_what_was_latched(tmp_path):
    latched(tmp_path)
    assert json.loads(reset(tmp_path, "--yes", "--json").stdout) == {
        "was_latched": True,
        "by": "breaker",
        "reason": "loss_cents: 501, at most 500",
        "crashes": False,
        "rests": "",
    }


def test_reset_after_a_contradiction_says_that_the_books_are_opened_again(
    tmp_path,
):
    (tmp_path / "state").mkdir()
    sentence = Contradiction(Inconsistency.CASH_DIFFERS, "5 cents").sentence
    KillSwitchFile(tmp_path / "state").set(sentence, "contradiction", WALL_NS)
    done = reset(tmp_path, "--yes")
    assert f"by contradiction: {sentence}" in done.stdout
    assert "once it has opened its books again" in done.stdout


def test_reset_with_nobody_to_ask_changes_nothing_and_ends_with_2(tmp_path):
    latch = latched(tmp_path)
    done = reset(tmp_path)
    assert done.exit_code == 2
    assert latch.read_latch() is not None


@pytest.mark.parametrize(("answer", "code"), [("n\n", 3), ("y\n", 0)])
def test_reset_does_what_the_person_answers(tmp_path, monkeypatch, answer, code):
    latch = latched(tmp_path)
    monkeypatch.setattr("bot.cli.common.is_interactive", lambda: True)
    done = reset(tmp_path, answer=answer)
    assert done.exit_code == code
    assert (latch.read_latch() is None) == (code == 0)


def test_reset_asks_on_stderr_when_it_prints_json(tmp_path, monkeypatch):
    latched(tmp_path)
    monkeypatch.setattr("bot.cli.common.is_interactive", lambda: True)
    done = reset(tmp_path, "--json", answer="y\n")
    echoed, line = done.stdout.splitlines()
    assert echoed.strip() == "y"  # as a terminal shows what is typed
    assert json.loads(line)["was_latched"] is True
    assert "by breaker: loss_cents: 501, at most 500" in done.stderr
    assert "may the bot quote again?" in done.stderr


def test_reset_without_a_latch_ends_with_0(tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / BOT_LOCK).touch()
    done = reset(tmp_path, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["was_latched"] is False


def test_reset_where_no_bot_has_run_ends_with_3_and_creates_nothing(tmp_path):
    done = reset(tmp_path, "--yes")
    assert done.exit_code == 3
    assert "no bot has run here" in done.stderr
    assert not (tmp_path / "state").exists()


def test_reset_of_an_unreadable_latch_ends_with_3(tmp_path, monkeypatch):
    latched(tmp_path)
    failing(monkeypatch, blind=True)
    done = reset(tmp_path, "--yes")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "latch.json cannot be read" in done.stderr
    assert "so nobody can say if the bot is latched" in done.stderr


def test_reset_forgets_the_crashes_and_keeps_the_mark_of_a_running_bot(tmp_path):
    latched(tmp_path)
    log = CrashLog(tmp_path / "state")
    log.mark_begun()
    log.mark_begun()
    assert json.loads(reset(tmp_path, "--yes", "--json").stdout)["crashes"] is True
    kept = json.loads((tmp_path / "state" / "crashes.json").read_bytes())
    assert kept["unclean"] == []
    assert kept["running"] is not None


@pytest.mark.parametrize("takes", [True, False])
def test_reset_on_a_full_disk_clears_the_latch_or_ends_with_3(tmp_path, monkeypatch, takes):
    """takes: whether the room of what stands there already can be written."""
    latch = latched(tmp_path)
    log = CrashLog(tmp_path / "state")
    log.mark_begun()
    log.mark_begun()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(crashes, "replace_file", full)
    if not takes:
        monkeypatch.setattr(crashes, "overwrite_file", full)
    done = reset(tmp_path, "--yes")
    assert (done.exit_code, latch.read_latch() is None) == ((0, True) if takes else (3, False))


def test_reset_of_a_latch_that_cannot_be_deleted_ends_with_3(tmp_path, monkeypatch):
    latch = latched(tmp_path)

    def refuse(_path: Path) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    done = reset(tmp_path, "--yes")
    monkeypatch.undo()
    assert done.exit_code == 3
    assert "Read-only file system" in done.stderr
    assert latch.read_latch() is not None


# --- what is shown --------------------------------------------------------------------------------


def test_metrics_and_health_show_a_latch():
    shown = msgspec.structs.replace(
        report(Phase.LATCHED),
        latched="loss_cents: 501, at most 500",
        breakers=(BreakerReport("loss_cents", 501, 500),),
    )
    text = Metrics(lambda: shown).text().decode()
    assert 'laddermaker_latched{series="X"} 1.0' in text
    assert 'laddermaker_phase{phase="latched",series="X"} 1.0' in text
    assert 'laddermaker_breaker_used{breaker="loss_cents",series="X"} 501.0' in text
    assert 'laddermaker_breaker_limit{breaker="loss_cents",series="X"} 500.0' in text
    snapshot = Snapshot(shown.now_ns, shown.now_ns, shown)
    assert snapshot.unhealthy() == "latched: loss_cents: 501, at most 500"


@pytest.mark.parametrize(
    ("resting", "faults", "is_over", "is_healthy"),
    [
        (0, ("x: KeyError", "x: KeyError"), False, False),
        (0, ("", "x: KeyError"), False, True),
        (3, ("x: KeyError", "x: KeyError"), False, True),
        (0, ("", ""), False, True),
        (0, ("", "x: KeyError"), True, False),
    ],
    ids=["everywhere", "one event", "with orders", "nowhere", "on every event still open"],
)
def test_a_bot_is_unhealthy_when_its_strategy_fails_everywhere_and_nothing_rests(
    resting, faults, is_over, is_healthy
):
    (event,) = (base := report(Phase.QUOTING)).events
    (over,) = report(Phase.QUOTING, blocked="resolved").events
    events = [msgspec.structs.replace(event, strategy_fault=fault) for fault in faults]
    if is_over:
        events[0] = over
    shown = msgspec.structs.replace(base, events=tuple(events), resting=resting)
    why = "" if is_healthy else "the strategy is at fault everywhere: x: KeyError"
    assert Snapshot(shown.now_ns, shown.now_ns, shown).unhealthy() == why


def test_a_bot_that_may_send_no_order_is_unhealthy_with_the_reason():
    text = "401 unauthorized on the trade key: nothing is sent on it"
    shown = msgspec.structs.replace(report(Phase.QUOTING), withheld=text)
    assert Snapshot(shown.now_ns, shown.now_ns, shown).unhealthy() == f"no new order: {text}"


def test_a_quoting_bot_without_resting_orders_says_why_by_rung():
    (event,) = report(Phase.QUOTING).events
    rung = event.rungs[0]
    rungs = (
        *[msgspec.structs.replace(rung, blocked="decided")] * 2,
        msgspec.structs.replace(rung, blocked="", wanted_bids=(), wanted_asks=(), fair_cents=None),
    )
    events = (msgspec.structs.replace(event, rungs=rungs),)
    shown = msgspec.structs.replace(report(Phase.QUOTING), events=events, resting=0)
    idle = "nothing rests: decided (2 rungs); no fair value (1 rungs)"
    assert Snapshot(shown.now_ns, shown.now_ns, shown).idle == idle
    resting = msgspec.structs.replace(shown, resting=3)
    assert Snapshot(shown.now_ns, shown.now_ns, resting).idle == ""
    paused = msgspec.structs.replace(shown, phase=Phase.PAUSED)
    assert Snapshot(shown.now_ns, shown.now_ns, paused).idle == ""
