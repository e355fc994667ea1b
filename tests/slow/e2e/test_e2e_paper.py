"""Claims about a paper run beside a live bot of the same series: apart, kept, and lived again."""

import json
import re
from pathlib import Path

import httpx

from tests.builders.e2e.runs import (
    TWO_SIDED_S,
    Venue,
    config_for,
    running_venue,
    start_bot,
    summary_once_two_sided,
    wait_until,
)

DEPOSIT_CENTS = 10_000_000


def test_a_paper_run_next_to_a_live_bot_writes_nothing_and_survives_a_kill(tmp_path):
    live_folder, paper_folder = tmp_path / "live", tmp_path / "paper"
    live_folder.mkdir()
    paper_folder.mkdir()
    with running_venue(tmp_path, seed=41) as venue:
        config = _with_paper_key(config_for(venue, tmp_path), venue, tmp_path)
        live = start_bot("run", config, "--json", folder=live_folder)
        first = start_bot("run", "--paper", config, folder=paper_folder)
        log = paper_folder / "bot.err"
        page = tmp_path / "state-paper" / "page-address"
        wait_until(page.exists, TWO_SIDED_S)
        with httpx.Client(base_url=page.read_text().strip(), trust_env=False) as client:
            # The newest may not be on disk yet; the second run books it as made meanwhile.
            wait_until(lambda: _fills(client) >= 2, TWO_SIDED_S)
            shown = client.get("metrics").text
        assert 'laddermaker_paper{series="AURELIA-VAL"} 1.0' in shown
        first.kill()
        first.communicate(timeout=5)

        log.unlink()
        second = start_bot("run", "--paper", config, "--json", folder=paper_folder)
        summary = summary_once_two_sided(second, paper_folder)
        assert second.returncode == 0, log.read_text()[-2000:]
        assert summary["paper"] is True
        assert summary["resting_after"] == 0
        assert summary["ledger_difference_cents"] == 0
        assert summary["findings"] == []
        assert "shares_taken_over" in log.read_text(), "shares of the first run"

        sent = summary_once_two_sided(live, live_folder)["requests"]
        assert live.returncode == 0
        # A live start proves its trade scope by one cancel of an order that cannot exist.
        assert 0 < venue.writes() <= sent["create"] + sent["amend"] + sent["cancel"] + 1
        _assert_untouched(venue)
    replayed = start_bot(
        "replay", str(tmp_path / "state-paper"), "--all", "--json", folder=paper_folder
    )
    out, _ = replayed.communicate(timeout=60)
    assert [json.loads(line)["difference"] for line in out.splitlines()] == [None, None]


def _with_paper_key(config: Path, venue: Venue, folder: Path) -> str:
    """A key for paper that could trade, so that a write by it would have its effect."""
    key_file = folder / "guest.key"
    key_file.write_text(venue.keys["guest"])
    key_file.chmod(0o400)
    config.write_text(f"{config.read_text()}paper:\n  key_file: {key_file}\n")
    return str(config)


def _assert_untouched(venue: Venue) -> None:
    """Nothing was ever written on the account of the key of the paper runs."""
    for path in ("/orders?status=all", "/portfolio/fills", "/portfolio/balance"):
        answer = httpx.get(
            venue.base_url + path, headers={"X-API-KEY": venue.keys["guest"]}, trust_env=False
        ).json()
        rows = answer.get("orders", answer.get("fills", []))
        assert rows == []
        assert answer.get("available_cents", DEPOSIT_CENTS) == DEPOSIT_CENTS


def _fills(client: httpx.Client) -> float:
    """How many fills the page of a run counts."""
    found = re.search(r"^laddermaker_fills_total\S* (\S+)$", client.get("metrics").text, re.M)
    return float(found[1]) if found else 0
