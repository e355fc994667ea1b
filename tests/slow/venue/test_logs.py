"""Claims about the log of the venue's process where its stream takes nothing any more."""

import logging
import subprocess
import sys

import structlog

from venue.logs import configure_logs

WRITES = """
import logging, structlog
from venue.logs import configure_logs
configure_logs()
for _ in range(3):
    structlog.get_logger("venue").error("log_not_written", text="x" * 200)
    logging.getLogger("uvicorn").error("of another library")
print("alive")
"""


def test_a_full_disk_loses_log_lines_and_nothing_else():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", WRITES], stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert (done.returncode, done.stdout) == (0, b"alive\n")


def test_a_closed_pipe_loses_log_lines_and_nothing_else():
    with subprocess.Popen(
        [sys.executable, "-c", WRITES], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        process.stderr.close()
        assert process.stdout.read() == b"alive\n"
    assert process.returncode == 0


def test_log_lines_are_written_as_json(capfd):
    before = logging.getLogger().handlers[:]
    try:
        configure_logs()
        structlog.get_logger("venue").error("written", place="here")
        logging.getLogger("uvicorn").error("of another library")
    finally:
        logging.getLogger().handlers = before
        structlog.reset_defaults()
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2
    assert '"place": "here"' in lines[0]
