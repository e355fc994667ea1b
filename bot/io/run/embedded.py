"""The embedded venue: a child process on loopback that ends with us, even by SIGKILL.

It has a session of its own, so that Ctrl-C reaches the bot alone, which drains while the venue
still answers.
"""

import asyncio
import contextlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import msgspec

from bot.io.faults import OperatorError

READY_S: Final = 15.0
STOP_S: Final = 7.0
KEY_NAME: Final = "maker"
_TAIL_BYTES: Final = 2_000
_AT_FAULT: Final = 2
"""Its exit code for a configuration or options that cannot be used."""
_NOT_WRITTEN: Final = 74
"""Its exit code for output that could not be written."""


class VenueFault(OperatorError):
    """The embedded venue did not start or gave no address; the text says what to do."""


class OpeningFault(VenueFault):
    """The file or tape that the embedded venue opens with is at fault; the text is its own."""


class VenueAddress(msgspec.Struct, frozen=True):
    base_url: str
    stream_url: str
    series: tuple[str, ...]
    keys_file: str


class EmbeddedVenue:
    """A started child; `ready` waits for it, `stop` ends it."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._process = process
        self._log = log

    @classmethod
    def start_child(
        cls, config: Path, state: Path, seed: int | None = None, tape: Path | None = None
    ) -> "EmbeddedVenue":
        """Start the child and return at once. Raises VenueFault."""
        command = [sys.executable, "-P", "-m", "venue", "serve", "--config", str(config)]
        command += ["--port", "0", "--keys-file", str(state / "venue-keys.json")]
        command += ["--json", "--exit-with-stdin"]
        if seed is not None:
            command += ["--seed", str(seed)]
        if tape is not None:
            command += ["--tape", str(tape)]
        log = state / "venue.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(log, flags, 0o600)
        except OSError as fault:
            raise VenueFault(f"{log}: {fault.strerror}") from None
        try:
            process = subprocess.Popen(  # noqa: S603 - our own interpreter, arguments as a list
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=handle,
                start_new_session=True,
            )
        except OSError as fault:
            raise VenueFault(f"the embedded venue: {fault.strerror}") from None
        finally:
            os.close(handle)
        return cls(process, log)

    def ready(self, longest_s: float = READY_S) -> VenueAddress:
        """Wait for the line with the address; blocks.

        Raises VenueFault with the end of the venue's log when none comes in time, OpeningFault when
        its file or tape cannot be used.
        """
        stdout = self._process.stdout
        assert stdout is not None
        line, until_s = b"", time.monotonic() + longest_s
        while not line.endswith(b"\n"):
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not select.select([stdout], [], [], left_s)[0]:
                raise VenueFault(self._failure(f"not ready after {longest_s:g} s"))
            chunk = os.read(stdout.fileno(), 65_536)
            if not chunk:
                self._refuse_opening()
                raise VenueFault(self._failure("ended before it was ready"))
            line += chunk
        try:
            return msgspec.convert(json.loads(line), type=VenueAddress)
        except (ValueError, msgspec.ValidationError):
            raise VenueFault(self._failure("said something else than where it is")) from None

    def _refuse_opening(self) -> None:
        """Raise OpeningFault if the child, whose output has ended, found its file at fault."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            if self._process.wait(STOP_S) == _AT_FAULT:
                raise OpeningFault(self._tail())

    def _tail(self) -> str:
        return self._log.read_bytes()[-_TAIL_BYTES:].decode("utf-8", errors="replace").strip()

    def _failure(self, what: str) -> str:
        tail = self._tail() or "(nothing)"
        if self._process.poll() == _NOT_WRITTEN:
            tail += "\nmore could not be written there: is the disk full?"
        return f"the embedded venue {what}; its log {self._log} ends:\n{tail}"

    async def gone(self) -> None:
        """Return when the child has ended: its standard output ends with it."""
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()

        def look() -> None:
            if not os.read(handle, 65_536):
                ended.set()
                loop.remove_reader(handle)

        loop.add_reader(handle, look)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(handle)

    def stop_child(self) -> None:
        """Close its standard input, wait, and kill it if it stays; blocks."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
