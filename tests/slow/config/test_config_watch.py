"""Claims about the watch over the files: when one is read, and that no half of one ever counts."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from bot.core import messages as m
from bot.io.run.config_watcher import FileWatch
from bot.io.run.runner import signals_to
from bot.io.signals import remembered

pytestmark = pytest.mark.anyio

BEAT = m.Tick()


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Kept:
    """A file whose contents are kept as they are judged; each means an event that is taken."""

    def __init__(self, path: Path, text: str = "first\n") -> None:
        self.path = path
        path.write_text(text)
        self.started_with = text.encode()
        self.judged: list[bytes | None] = []
        self.told: list[m.Event] = []
        self.taken = self.takes = True
        self.event: m.Event | None = BEAT
        self.digest = ""

    def check(self, raw: bytes | None) -> m.Event | None:
        self.judged.append(raw)
        return self.event

    def send_event(self, event: m.Event) -> None:
        self.told.append(event)
        self.taken = self.takes

    def is_taken(self) -> bool:
        return self.taken

    def confirmed(self) -> str:
        return self.digest


@pytest.fixture
async def kept(tmp_path):
    file = Kept(tmp_path / "bot.yaml")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FileWatch([file], poll_s=0.02, settle_s=0.05).run)
        await anyio.sleep(0.1)
        yield file
        tasks.cancel_scope.cancel()


async def judged(file: Kept, *contents: bytes | None) -> None:
    """Wait until exactly these were judged, and see that no more are."""
    with anyio.fail_after(5):
        while len(file.judged) < len(contents):  # noqa: ASYNC110 - nothing tells
            await anyio.sleep(0.01)
    await anyio.sleep(0.15)
    assert file.judged == [*contents]


def hang_up() -> None:
    os.kill(os.getpid(), signal.SIGHUP)


async def test_a_file_that_is_as_it_was_is_not_judged(kept):
    await judged(kept)


async def test_a_file_that_is_touched_but_the_same_is_not_judged(kept):
    kept.path.write_text("first\n")
    await judged(kept)


async def test_a_file_written_in_place_is_judged_once(kept):
    kept.path.write_text("second\n")
    await judged(kept, b"second\n")
    assert kept.told == [BEAT]


async def test_a_file_put_in_its_place_is_judged_once(kept):
    fresh = kept.path.with_name("fresh")
    fresh.write_text("second\n")
    fresh.replace(kept.path)
    await judged(kept, b"second\n")


async def test_a_folder_that_is_exchanged_under_a_link_is_seen(tmp_path):
    """As a cluster does with the files that it mounts."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bot.yaml").write_text(f"{name}\n")
    link = tmp_path / "data"
    link.symlink_to("one")
    file = Kept(link / "bot.yaml", "one\n")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FileWatch([file], poll_s=0.02, settle_s=0.05).run)
        await anyio.sleep(0.1)
        (tmp_path / "fresh").symlink_to("two")
        (tmp_path / "fresh").replace(link)
        await judged(file, b"two\n")
        tasks.cancel_scope.cancel()


async def test_a_hang_up_has_it_judged_though_it_is_as_it_was(kept):
    hang_up()
    await judged(kept, b"first\n")


@pytest.mark.parametrize("asks", [False, True])
async def test_a_file_that_is_open_for_writing_is_not_judged_however_long_it_rests(kept, asks):
    with kept.path.open("w") as file:
        file.write("half of it\n")
        file.flush()
        if asks:
            hang_up()
        await anyio.sleep(0.3)
        assert kept.judged == []
        file.write("and the rest\n")
    await judged(kept, b"half of it\nand the rest\n")


async def test_a_file_that_goes_on_changing_is_judged_once_it_rests(kept):
    for number in range(12):
        kept.path.write_text(f"{number}\n")
        await anyio.sleep(0.02)
    await judged(kept, b"11\n")


async def test_a_file_that_is_gone_is_judged_as_none_and_again_when_it_is_back(kept):
    kept.path.unlink()
    await judged(kept, None)
    kept.path.write_text("third\n")
    await judged(kept, None, b"third\n")


async def test_a_pipe_in_its_place_holds_nothing_up(kept):
    kept.path.unlink()
    os.mkfifo(kept.path)
    await judged(kept, b"")


async def test_the_next_content_waits_until_the_one_before_is_taken_in(kept):
    kept.takes = False
    kept.path.write_text("second\n")
    await judged(kept, b"second\n")
    kept.path.write_text("third\n")
    await judged(kept, b"second\n")
    kept.taken = True
    await judged(kept, b"second\n", b"third\n")


async def test_a_content_that_changes_nothing_is_told_to_nobody(kept):
    kept.event = None
    kept.path.write_text("# second\n")
    await judged(kept, b"# second\n")
    assert kept.told == []


async def test_a_hang_up_is_for_every_file(tmp_path):
    files = [Kept(tmp_path / name) for name in ("a.yaml", "b.yaml")]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FileWatch(files, poll_s=0.02, settle_s=0.02).run)
        await anyio.sleep(0.1)
        hang_up()
        for file in files:
            await judged(file, b"first\n")
        tasks.cancel_scope.cancel()


class Hearing:
    def __init__(self, told: list[m.Event]) -> None:
        self.tell = told.append

    def asked_to_stop(self, name: str) -> None:
        raise AssertionError(name)


@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN])
async def test_the_signal_is_given_back_when_the_watch_ends(tmp_path, before):
    outside = signal.signal(signal.SIGHUP, before)
    try:
        with anyio.move_on_after(0.05):
            await FileWatch([Kept(tmp_path / "bot.yaml")], poll_s=0.02).run()
        assert signal.getsignal(signal.SIGHUP) == before
    finally:
        signal.signal(signal.SIGHUP, outside)


async def test_a_pause_asked_for_before_anybody_hears_it_is_told_to_whoever_does():
    told: list[m.Event] = []
    with remembered():
        os.kill(os.getpid(), signal.SIGUSR1)
        with signals_to((Hearing(told),)):
            assert told == [m.PauseRequested("SIGUSR1")]
            os.kill(os.getpid(), signal.SIGUSR2)
            await anyio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGUSR1)  # the run is over
    assert told == [m.PauseRequested("SIGUSR1"), m.ResumeRequested()]


async def test_a_signal_before_the_watch_begins_has_the_files_read_once_it_does(tmp_path):
    file = Kept(tmp_path / "bot.yaml")
    with remembered():
        os.kill(os.getpid(), signal.SIGHUP)
        with anyio.move_on_after(0.3):
            await FileWatch([file], poll_s=0.02, settle_s=0.05).run()
        assert file.judged == [b"first\n"]
        # The run is over, its records are being written.
        os.kill(os.getpid(), signal.SIGHUP)
