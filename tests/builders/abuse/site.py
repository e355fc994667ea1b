"""A venue in a process of its own, and what can be seen of it from outside."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[3]


class Site(msgspec.Struct, frozen=True):
    """Where a venue listens, its raw keys by name, and its process."""

    port: int
    keys: dict[str, str]
    pid: int

    def memory_kib(self) -> tuple[int, int]:
        """Resident memory now and at its highest."""
        text = Path(f"/proc/{self.pid}/status").read_text()
        lines = dict(line.split(":", 1) for line in text.splitlines())
        now, peak = (int(lines[name].split()[0]) for name in ("VmRSS", "VmHWM"))
        return now, peak

    def peers(self) -> set[int]:
        """Ports of the peers whose connections the venue has not ended, whatever they know of it.

        A peer that reads nothing cannot see the end from its side: it waits behind what it left.
        """
        lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
        rows = [line.split()[1:4] for line in lines]
        here = f":{self.port:04X}"
        established = "01"
        return {
            int(remote.rpartition(":")[2], 16)
            for local, remote, state in rows
            if local.endswith(here) and state == established
        }

    def sockets(self) -> int:
        """Open sockets of the process, the listening one included."""
        links = Path(f"/proc/{self.pid}/fd").iterdir()
        return sum(_is_socket(link) for link in links)


def _is_socket(link: Path) -> bool:
    try:
        return str(link.readlink()).startswith("socket:")
    except FileNotFoundError:
        return False  # closed while we looked


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    """A venue without a crowd; it ends with the block."""
    keys_file = folder / "keys.json"
    arguments = (
        *(sys.executable, "-m", "venue", "serve", "--no-crowd", "--json", "--exit-with-stdin"),
        *("--config", str(ROOT / "configs" / "venue.yaml"), "--port", "0"),
        *("--keys-file", str(keys_file)),
    )
    errors = folder / "stderr.txt"
    with (
        errors.open("wb") as stderr,
        subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, errors.read_text()
            port = int(json.loads(line)["base_url"].removesuffix("/v1").rpartition(":")[2])
            yield Site(port, json.loads(keys_file.read_text()), process.pid)
            assert process.poll() is None, "the venue ended by itself"
        finally:
            process.kill()
