"""Claims about a night on call, from a real Prometheus and Alertmanager: one cause, one page."""

import contextlib
import os
import signal
import time
from collections.abc import Callable

import pytest

from tests.builders.deploy.on_call import Night, night
from tests.builders.deploy.site import small_disk, until
from tests.builders.scale import FULL

pytestmark = [
    pytest.mark.xdist_group("prometheus"),
    pytest.mark.skipif(os.environ.get(FULL) != "1", reason=f"takes minutes; {FULL}=1 runs it"),
]

LASTS_S = 110.0
"""Of every fault: the slowest of its first alerts fires and is sent within it."""

CLEAR_S = 60.0


def settled(site: Night) -> None:
    until(site.is_scraped, 60, "Prometheus has scraped both")
    until(lambda: bool(site.query("laddermaker_resting_orders > 10")), 60, "quotes")
    until(lambda: bool(site.query("laddermaker_reaper_key_works == 1")), 60, "a reaper")


def pages_of(
    site: Night, fault: str, cause: Callable[[], None], mend: Callable[[], None]
) -> list[str]:
    """The pages that a fault sends, in their order; all clear within a minute of its mending.
    Prints its row of the table in docs/operations.md."""
    settled(site)
    assert site.pager.pages == []
    cause()
    time.sleep(LASTS_S)
    inhibited = sorted(site.pages_firing() - {*site.pager.pages})
    mend()
    mended_s = time.monotonic()
    until(lambda: not site.pages_firing(), CLEAR_S, "no page fires")
    clear_s = round(time.monotonic() - mended_s)
    sent = ", ".join(site.pager.pages)
    print(f"| {fault} | {sent} | {', '.join(inhibited) or '-'} | {clear_s} s |")
    return site.pager.pages


def test_a_dead_venue_is_one_page(tmp_path):
    with night(tmp_path) as site:
        assert pages_of(site, "venue dead", site.stop_venue, site.let_venue_go_on) == ["VenueDown"]


def test_a_dead_channel_is_one_page(tmp_path):
    with night(tmp_path) as site:
        assert site.proxy is not None
        assert pages_of(site, "channel dead", site.proxy.silence, site.proxy.heal) == ["FeedStale"]


def test_a_dead_bot_is_one_page(tmp_path):
    with night(tmp_path) as site:
        dies = lambda: site.signal("bot", signal.SIGKILL)  # noqa: E731
        assert pages_of(site, "bot dead", dies, site.restart_bot) == ["BotDown"]


def test_a_dead_reaper_is_one_page(tmp_path):
    with night(tmp_path) as site:
        dies = lambda: site.kill("reaper")  # noqa: E731
        assert pages_of(site, "reaper dead", dies, site.start_reaper) == ["ReaperAbsent"]


def test_a_revoked_key_is_one_page(tmp_path):
    with night(tmp_path) as site:

        def mend() -> None:
            """Another key of the same account, in the file that the bot reads at its start."""
            file = tmp_path / "maker.key"
            file.unlink()
            site.venue("key", "create", "maker", "--scopes", "read,trade", "--out", str(file))
            site.restart_bot()

        assert pages_of(site, "key revoked", site.revoke_key, mend) == ["KeyRefused"]


def test_a_full_disk_is_one_page(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    filler = disk / "filler"

    def fill() -> None:
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1_000_000))

    try:
        with small_disk(disk, 1_200), night(tmp_path, disk / "state") as site:

            def mend() -> None:
                filler.unlink()
                site.restart_bot()

            # Filled at once: the bot ends before DiskLow, which would come long before otherwise.
            assert pages_of(site, "disk full at once", fill, mend) == ["BotDown"]
    except PermissionError as fault:
        pytest.skip(str(fault))
