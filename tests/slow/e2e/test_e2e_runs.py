"""Whole runs with real processes: the demo, a recorded tape, interrupts, and a pulled plug."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.builders.e2e.proxy import Proxy
from tests.builders.e2e.runs import (
    ROOT,
    TWO_SIDED_S,
    Venue,
    config_for,
    running_venue,
    start_bot,
    summary_of,
    summary_once_two_sided,
    wait_until,
)

DATA = Path(os.environ.get("LADDERMAKER_DATA", ROOT.parent / "shared" / "data"))
DEMO = "configs/demo.yaml"
FIGURES = {
    "first_two_sided_s",
    "rungs",
    "frames",
    "fills",
    "requests",
    "amends_kept_place",
    "amends_lost_place",
    "refused",
    "unknown_open",
    "self_trades",
    "rate_limited",
    "worst_case_loss_cents_max",
    "worst_case_limit_cents",
    "pnl_cents",
    "resting_after",
    "ledger_difference_cents",
}


def assert_clean(summary: dict) -> None:
    """What every run must end with, whatever the market did."""
    assert summary.keys() >= FIGURES
    assert set(summary["requests"]) == {"create", "amend", "cancel", "read"}
    assert summary["resting_after"] == 0
    assert summary["unknown_open"] == 0
    assert summary["self_trades"] == 0
    assert summary["rate_limited"] == 0
    assert summary["ledger_difference_cents"] == 0
    assert summary["worst_case_loss_cents_max"] <= summary["worst_case_limit_cents"]
    assert summary["findings"] == []


def demo(folder: Path, *arguments: str, config: str = DEMO) -> "subprocess.Popen[bytes]":
    """A demo that has just begun, its state in the folder."""
    return start_bot(
        "run", config, "--json", "--status-port", "0", "--state-dir", str(folder / "state"),
        *arguments, folder=folder,
    )  # fmt: skip


def fills(folder: Path) -> int:
    """What the newest line about the state of the run says."""
    found = re.findall(r'"fills": (\d+)', (folder / "bot.err").read_text())
    return int(found[-1]) if found else 0


def test_the_demo_quotes_every_rung_trades_and_leaves_nothing_however_often_it_is_interrupted(
    tmp_path,
):
    process = demo(tmp_path, "--seed", "11")
    log = tmp_path / "bot.err"
    wait_until(lambda: "two_sided_everywhere" in log.read_text(), TWO_SIDED_S)
    wait_until(lambda: fills(tmp_path) > 0, TWO_SIDED_S)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    summary = summary_of(process, TWO_SIDED_S)
    assert process.returncode == 0, log.read_text()[-2000:]
    assert_clean(summary)
    assert summary["first_two_sided_s"] is not None
    assert summary["rungs"] >= 8
    assert summary["fills"] > 0


@pytest.mark.parametrize("tape", ["kxinxu-2026-01", "inxd-23apr10"])
def test_the_demo_follows_a_recorded_tape(tmp_path, tape):
    if not (DATA / tape).is_dir():
        pytest.skip(f"no recorded tapes at {DATA}: set LADDERMAKER_DATA")
    # A jump of the tape is news, and may pull all quotes for as long as the run lasts.
    config = tmp_path / "demo.yaml"
    text = (ROOT / DEMO).read_text(encoding="utf-8")
    for before, after in (
        ("embedded: venue.yaml", f"embedded: {ROOT / 'configs/venue.yaml'}"),
        ("  print_qty: 0", "  jump_cents: 0\n  print_qty: 0"),
    ):
        assert before in text
        text = text.replace(before, after)
    config.write_text(text)
    process = demo(tmp_path, "--tape", str(DATA / tape), config=str(config))
    summary = summary_once_two_sided(process, tmp_path)
    assert process.returncode == 0, (tmp_path / "bot.err").read_text()[-2000:]
    assert_clean(summary)
    assert summary["requests"]["create"] > 0
    assert summary["first_two_sided_s"] is not None


def test_a_killed_bot_started_again_leaves_no_order_twice_or_alone(tmp_path):
    """Killed at the first resting order; the account is read raw before and after."""
    with running_venue(tmp_path, seed=21) as venue:
        config = str(config_for(venue, tmp_path))
        first = start_bot("run", config, folder=tmp_path)
        wait_until(lambda: bool(venue.orders("resting")), TWO_SIDED_S)
        first.kill()
        first.wait(5)
        assert first.stdout is not None
        first.stdout.close()
        time.sleep(0.2)
        left = {order["order_id"] for order in venue.orders("resting")}
        assert left, "the plug was pulled while orders rested"

        (tmp_path / "bot.err").unlink()
        second = start_bot("run", config, "--json", folder=tmp_path)
        summary = summary_once_two_sided(second, tmp_path)

        assert second.returncode == 0, (tmp_path / "bot.err").read_text()[-2000:]
        assert_clean(summary)
        assert summary["first_two_sided_s"] is not None
        assert venue.orders("resting") == []
        ended = {order["order_id"]: order for order in venue.orders("all")}
        assert all(ended[order_id]["status"] in ("filled", "canceled") for order_id in left)
        # Every create of both runs made one order at most; one that was on its way when the plug
        # was pulled may have made none, one that was answered has.
        made = _made(tmp_path / "state")
        assert made <= set(ended)
        assert len(made | left) <= len(ended) <= len(_creates(tmp_path / "state"))


def test_every_series_of_a_process_is_asked_by_its_own_file_at_the_one_page_there_is(tmp_path):
    with running_venue(tmp_path, seed=23) as venue:
        first, second = config_for(venue, tmp_path), tmp_path / "second.yaml"
        text = first.read_text().replace("AURELIA-VAL", "QUILLON-VAL")
        second.write_text(text.replace(str(tmp_path / "state"), str(tmp_path / "other")))
        bot = start_bot("run", str(first), str(second), "--json", folder=tmp_path)
        log = tmp_path / "bot.err"
        wait_until(lambda: log.read_text().count("two_sided_everywhere") == 2, TWO_SIDED_S)
        for config, series in ((first, "AURELIA-VAL"), (second, "QUILLON-VAL")):
            asked = start_bot("status", str(config), "--json", folder=tmp_path)
            assert summary_of(asked, 30)["report"]["series_ticker"] == series
            assert asked.returncode == 0
        bot.send_signal(signal.SIGTERM)
        assert summary_of(bot, 30)["exit_code"] == 0


def test_a_run_that_is_pointless_ends_with_three_and_what_to_do(tmp_path):
    """A key without a scope, an unknown key, a series that is not there, and no venue at all."""
    with running_venue(tmp_path, seed=22) as venue:
        config = config_for(venue, tmp_path)
        keys = {
            "reader": (venue.keys["reader"], "give the key the scope trade"),
            "trader": (venue.keys["trader"], "give the key the scope read"),
            "wrong": ("nobody-knows-this", "make a new one"),
        }
        for raw, advice in keys.values():
            (tmp_path / "maker.key").chmod(0o600)
            (tmp_path / "maker.key").write_text(raw)
            assert told(config, tmp_path, advice) == 3
        (tmp_path / "maker.key").write_text(venue.keys["maker"])
        config.write_text(config.read_text().replace("AURELIA-VAL", "NOWHERE-VAL"))
        assert told(config, tmp_path, "NOWHERE-VAL has no rungs there") == 3
    assert told(config, tmp_path, "see whether the venue runs") == 3


def told(config: Path, folder: Path, advice: str) -> int:
    """The exit code of a run that must say this."""
    (folder / "bot.err").unlink(missing_ok=True)
    bot = start_bot("run", str(config), "--for", "5s", "--json", folder=folder)
    bot.communicate(timeout=30)
    assert advice in (folder / "bot.err").read_text()
    return bot.returncode


def test_a_network_that_loses_things_loses_no_order(tmp_path):
    """Requests cut before and after the venue has them, wrong answers, a channel that breaks."""
    with running_venue(tmp_path, seed=31) as venue:
        real_port = int(venue.base_url.split(":")[2].split("/")[0])
        with Proxy(real_port, 31) as proxy:
            broken = venue.base_url.replace(str(real_port), str(proxy.port))
            config = config_for(Venue(broken, venue.keys), tmp_path)
            bot = start_bot("run", str(config), "--json", folder=tmp_path)
            for name, least in (("channels", 2), ("cut_before", 1), ("cut_after", 1)):
                wait_until(lambda n=name, m=least: proxy.seen[n] >= m, TWO_SIDED_S)
            wait_until(lambda: proxy.seen["unknown_after"] > 0, TWO_SIDED_S)
            bot.send_signal(signal.SIGTERM)
            summary = summary_of(bot, 60)

        said = (tmp_path / "bot.err").read_text()[-3000:]
        assert bot.returncode == 0, said
        assert summary["unknown_open"] == 0
        assert summary["self_trades"] == 0
        assert summary["ledger_difference_cents"] == 0
        assert summary["worst_case_loss_cents_max"] <= summary["worst_case_limit_cents"]
        assert venue.orders("resting") == []
        # A create that never reached the venue made none; none made two.
        assert len(venue.orders("all")) <= len(_creates(tmp_path / "state"))


def _creates(state: Path) -> set[str]:
    """Ids of every create that left, by the journals; each has one body only."""
    from bot.core.messages import Create, Send
    from bot.io.journal.journal import read_journal, segments

    bodies: dict[str, bytes] = {}
    for segment in segments(state):
        for entry in read_journal(segment):
            if isinstance(entry.message, Send) and isinstance(entry.message.request, Create):
                create = entry.message.request
                known = bodies.setdefault(create.order.client_order_id, create.body)
                assert known == create.body
                assert json.loads(create.body)["client_order_id"] == create.order.client_order_id
    return set(bodies)


def _made(state: Path) -> set[str]:
    """Ids of every order that an answer showed, by the journals."""
    from bot.core.messages import Ok, OrderBody, Response
    from bot.io.journal.journal import read_journal, segments

    return {
        str(entry.message.answer.body.order.order_id)
        for segment in segments(state)
        for entry in read_journal(segment)
        if isinstance(entry.message, Response)
        and isinstance(entry.message.answer, Ok)
        and isinstance(entry.message.answer.body, OrderBody)
    }
