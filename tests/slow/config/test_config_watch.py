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


class WatchedFile:
    """A file whose contents are kept as they are checked; each means an event that is taken."""

    def __init__(self, path: Path, text: str = "first\n") -> None:
        self.path = path
        path.write_text(text)
        self.started_with = text.encode()
        self.checked: list[bytes | None] = []
        self.events: list[m.Event] = []
        self.taken = self.takes = True
        self.event: m.Event | None = BEAT
        self.digest = ""

    def check(self, raw: bytes | None) -> m.Event | None:
        self.checked.append(raw)
        return self.event

    def send_event(self, event: m.Event) -> None:
        self.events.append(event)
        self.taken = self.takes

    def is_taken(self) -> bool:
        return self.taken

    def confirmed(self) -> str:
        return self.digest


@pytest.fixture
async def file(tmp_path):
    file = WatchedFile(tmp_path / "bot.yaml")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FileWatch([file], poll_s=0.02, settle_s=0.05).run)
        await anyio.sleep(0.1)
        yield file
        tasks.cancel_scope.cancel()


async def checked(file: WatchedFile, *contents: bytes | None) -> None:
    """Wait until exactly these were checked, and see that no more are."""
    with anyio.fail_after(5):
        while len(file.checked) < len(contents):  # noqa: ASYNC110 - nothing tells
            await anyio.sleep(0.01)
    await anyio.sleep(0.15)
    assert file.checked == [*contents]


def hang_up() -> None:
    os.kill(os.getpid(), signal.SIGHUP)


def touch(path: Path) -> None:
    path.write_text("first\n")


def write(path: Path) -> None:
    path.write_text("second\n")


def replace(path: Path) -> None:
    fresh = path.with_name("fresh")
    fresh.write_text("second\n")
    fresh.replace(path)


def become_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("happens", "contents"),
    [
        (lambda path: None, []),
        (touch, []),
        (write, [b"second\n"]),
        (replace, [b"second\n"]),
        (lambda path: hang_up(), [b"first\n"]),
        (become_a_pipe, [b""]),
    ],
    ids=["nothing", "touched", "written", "replaced", "SIGHUP", "a pipe"],
)
async def test_a_file_is_checked_once_when_it_changes_or_on_sighup(file, happens, contents):
    happens(file.path)
    await checked(file, *contents)


async def test_a_folder_replaced_under_a_link_is_noticed(tmp_path):
    """As a cluster does with the files that it mounts."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bot.yaml").write_text(f"{name}\n")
    link = tmp_path / "data"
    link.symlink_to("one")
    file = WatchedFile(link / "bot.yaml", "one\n")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FileWatch([file], poll_s=0.02, settle_s=0.05).run)
        await anyio.sleep(0.1)
        (tmp_path / "fresh").symlink_to("two")
        (tmp_path / "fresh").replace(link)
        await checked(file, b"two\n")
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("asks", [False, True])
async def test_a_file_that_is_open_for_writing_is_not_checked(file, asks):
    with file.path.open("w") as half:
        half.write("half of it\n")
        half.flush()
        if asks:
            hang_up()
        await anyio.sleep(0.3)
        assert file.checked == []
        half.write("and the rest\n")
    await checked(file, b"half of it\nand the rest\n")


async def test_a_file_that_goes_on_changing_is_checked_once_it_rests(file):
    for number in range(12):
        file.path.write_text(f"{number}\n")
        await anyio.sleep(0.02)
    await checked(file, b"11\n")


async def test_a_deleted_file_is_checked_as_none_and_again_when_it_is_back(file):
    file.path.unlink()
    await checked(file, None)
    file.path.write_text("third\n")
    await checked(file, None, b"third\n")


async def test_the_next_content_is_checked_after_the_last_one_was_applied(file):
    file.takes = False
    file.path.write_text("second\n")
    await checked(file, b"second\n")
    file.path.write_text("third\n")
    await checked(file, b"second\n")
    file.taken = True
    await checked(file, b"second\n", b"third\n")


async def test_a_content_without_a_change_sends_no_event(file):
    file.event = None
    file.path.write_text("# second\n")
    await checked(file, b"# second\n")
    assert file.events == []


async def test_a_sighup_checks_every_file(tmp_path):
    files = [WatchedFile(tmp_path / name) for name in ("a.yaml", "b.yaml")]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(FileWatch(files, poll_s=0.02, settle_s=0.02).run)
        await anyio.sleep(0.1)
        hang_up()
        for file in files:
            await checked(file, b"first\n")
        tasks.cancel_scope.cancel()


class Hearing:
    def __init__(self, events: list[m.Event]) -> None:
        self.tell = events.append

    def asked_to_stop(self, name: str) -> None:
        raise AssertionError(name)


@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN])
async def test_the_handler_of_sighup_is_restored_when_the_watch_ends(tmp_path, before):
    outside = signal.signal(signal.SIGHUP, before)
    try:
        with anyio.move_on_after(0.05):
            await FileWatch([WatchedFile(tmp_path / "bot.yaml")], poll_s=0.02).run()
        assert signal.getsignal(signal.SIGHUP) == before
    finally:
        signal.signal(signal.SIGHUP, outside)


async def test_a_pause_signalled_before_the_run_begins_reaches_it():
    events: list[m.Event] = []
    with remembered():
        os.kill(os.getpid(), signal.SIGUSR1)
        with signals_to((Hearing(events),)):
            assert events == [m.PauseRequested("SIGUSR1")]
            os.kill(os.getpid(), signal.SIGUSR2)
            await anyio.sleep(0.05)
        os.kill(os.getpid(), signal.SIGUSR1)  # the run is over
    assert events == [m.PauseRequested("SIGUSR1"), m.ResumeRequested()]


async def test_a_sighup_before_the_watch_begins_is_remembered(tmp_path):
    file = WatchedFile(tmp_path / "bot.yaml")
    with remembered():
        os.kill(os.getpid(), signal.SIGHUP)
        with anyio.move_on_after(0.3):
            await FileWatch([file], poll_s=0.02, settle_s=0.05).run()
        assert file.checked == [b"first\n"]
        # The run is over, its records are being written.
        os.kill(os.getpid(), signal.SIGHUP)
