"""Claims about the log: logging never waits for a slow reader or disk."""

import logging
import os
import subprocess
import sys
import threading

import pytest

from bot.io.logs import FileWriter, LineWriter


def logger(handler: logging.Handler) -> logging.Logger:
    made = logging.Logger("of this test")
    made.addHandler(handler)
    return made


@pytest.fixture
def pipe():
    """The reading end of a pipe, and a stream into it."""
    reads, writes = os.pipe()
    with os.fdopen(reads, "rb") as reader, os.fdopen(writes, "w") as stream:
        yield reader, stream


def test_all_lines_are_written_in_order(pipe):
    reader, stream = pipe
    handler = LineWriter(stream)
    log = logger(handler)
    for number in range(500):
        log.warning("line %d", number)
    handler.close()
    stream.close()
    assert reader.read().decode().splitlines() == [f"line {number}" for number in range(500)]


def test_lines_for_a_full_pipe_are_dropped_counted_and_reported_later(pipe):
    reader, stream = pipe
    handler = LineWriter(stream, lines_max=10)
    log = logger(handler)
    for _ in range(200):
        log.warning("x" * 4_000)
    assert handler.dropped > 100
    read: list[bytes] = []
    emptied = threading.Thread(target=lambda: read.append(reader.read()))
    emptied.start()
    handler.close()
    stream.close()
    emptied.join()
    assert b'"event": "log_lines_dropped"' in read[0]


def test_logging_goes_on_when_the_reader_has_gone(pipe):
    reader, stream = pipe
    reader.close()
    handler = LineWriter(stream)
    log = logger(handler)
    for _ in range(3):
        log.warning("heard by nobody")
    handler.close()
    assert handler.dropped == 0


def test_a_process_ends_although_its_log_cannot_be_written():
    said = (
        "import logging, sys; from bot.io.logs import LineWriter; "
        "log = logging.getLogger(); log.addHandler(LineWriter(sys.stderr)); "
        "[log.warning('x' * 4000) for _ in range(100)]; print('over')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", said], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.wait(30) == 0
        assert process.stdout is not None
        assert process.stdout.read() == b"over\n"


def test_a_stalled_disk_does_not_delay_logging_to_a_file(tmp_path):
    said = (
        "import logging, os, sys; from pathlib import Path; "
        "from bot.io.logs import SecretRedactor, configure_logs; "
        "place = sys.argv[1]; os.mkfifo(place); never_read = os.open(place, os.O_RDWR); "
        "configure_logs(SecretRedactor(), Path(place)); "
        "[logging.getLogger('bot').warning('x' * 4000) for _ in range(100)]; print('over')"
    )
    command = [sys.executable, "-c", said, str(tmp_path / "bot.log")]
    done = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, b"over\n")


def write_lines(file, bytes_max: int, count: int = 30) -> None:
    handler = FileWriter(file, bytes_max, kept=2)
    log = logger(handler)
    for number in range(count):
        log.warning("%099d", number)
    handler.close()


def test_full_log_files_are_rotated_and_the_oldest_deleted(tmp_path):
    file = tmp_path / "bot.log"
    write_lines(file, 1_000, 15)
    write_lines(file, 1_000, 20)
    names = ["bot.log", "bot.log.1", "bot.log.2"]
    assert sorted(each.name for each in tmp_path.iterdir()) == names
    assert all((tmp_path / name).stat().st_mode & 0o777 == 0o600 for name in names)
    lines = [
        int(line) for name in reversed(names) for line in (tmp_path / name).read_text().split()
    ]
    assert lines == [*range(10, 15), *range(20)]


def test_a_log_file_that_cannot_be_rotated_goes_on(tmp_path):
    (tmp_path / "bot.log.1").mkdir()
    (tmp_path / "bot.log.2").write_text("in the way")
    write_lines(tmp_path / "bot.log", 1_000)
    assert len((tmp_path / "bot.log").read_text().split()) == 30
