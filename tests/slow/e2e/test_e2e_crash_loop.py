"""Claims about starts that are refused after a crash: they leave nothing of ours resting."""

import subprocess

from tests.builders.e2e.crash_loop import crash_loop, until_it_quotes
from tests.builders.e2e.runs import BOT, ROOT, config_for, running_venue, start_bot

SETTLE_S = 2.0
"""A cancel that was on its way at the exit has come to the venue by then."""


def test_a_bot_that_stays_down_after_three_crashes_leaves_no_order_resting(tmp_path):
    with running_venue(tmp_path, seed=391) as venue:
        live = until_it_quotes(tmp_path, venue)
        found = crash_loop(tmp_path, venue, live, reaper=False, settle_s=SETTLE_S)
    assert found.kills == 3
    assert found.at_last_kill >= 20


def test_a_start_that_is_refused_after_a_crash_cancels_the_orders_of_the_killed_run(tmp_path):
    with running_venue(tmp_path, seed=392) as venue:
        config = config_for(venue, tmp_path)
        whole, live = config.read_text(), until_it_quotes(tmp_path, venue)

        def killed() -> None:
            bot = start_bot("run", str(config), folder=tmp_path)
            assert live(bot)
            bot.kill()
            bot.communicate(timeout=10)

        def refused(text: str, code: int) -> str:
            config.write_text(text)
            done = subprocess.run(
                [*BOT, "run", str(config)], cwd=ROOT, capture_output=True, text=True, timeout=60,
                check=False,
            )  # fmt: skip
            config.write_text(whole)
            assert done.returncode == code, done.stderr
            for name in ("latch.json", "crashes.json"):
                (tmp_path / "state" / name).unlink(missing_ok=True)
            return done.stderr

        killed()
        elsewhere = refused(whole.replace(venue.base_url, "http://127.0.0.1:9/v1"), 4)
        assert "orders of the journal may rest: " in elsewhere, elsewhere
        assert venue.orders("resting") != []

        no_series = refused(whole.replace("series: AURELIA-VAL", "series: NOWHERE-VAL"), 3)
        assert "nothing of ours rests, as a list at " in no_series, no_series
        assert venue.orders("resting") == []

        killed()
        wrong_key = refused(whole.replace("ladder_joint", "ladder_joimt"), 2)
        assert "strategy.name: no strategy 'ladder_joimt'" in wrong_key, wrong_key
        assert "nothing of ours rests, as a list at " in wrong_key
        assert venue.orders("resting") == []
