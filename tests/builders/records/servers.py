"""A PostgreSQL of a test's own: made, started and ended by it, never as root, on loopback."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bot.io.secret import Secret
from bot.records.database import Address, Postgres, StoreFault
from tests.builders.servers import need

PASSWORD = "correct-horse-battery"
_READY_S = 30.0


def _somebody() -> tuple[str | None, int, int]:
    """Who runs it: nobody in particular when we are root, for PostgreSQL refuses to be that."""
    if os.geteuid() != 0:
        return None, os.geteuid(), os.getegid()
    row = pwd.getpwnam("nobody")
    return "nobody", row.pw_uid, row.pw_gid


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Server:
    """A running server with one user `keeper`, whose password is PASSWORD."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._user, uid, gid = _somebody()
        os.chown(folder, uid, gid)
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        password = folder / "password"
        password.write_text(PASSWORD)
        os.chown(password, uid, gid)
        self._as_somebody(
            [need("initdb"), "-D", str(self._data), "-U", "keeper", "-A", "scram-sha-256",
             f"--pwfile={password}", "--no-sync", "-E", "UTF8", "--locale=C"]
        )  # fmt: skip
        self.start()

    def _as_somebody(self, command: list[str]) -> None:
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            user=self._user,
            timeout=60,
        )

    def start(self, *options: str) -> None:
        self._process = subprocess.Popen(
            [need("postgres"), "-D", str(self._data), "-p", str(self.port),
             "-k", str(self.folder), "-c", "fsync=off", "-c", "listen_addresses=127.0.0.1",
             *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            user=self._user,
        )  # fmt: skip
        until = time.monotonic() + _READY_S
        while True:
            try:
                Postgres(self.address("postgres"), Secret(PASSWORD)).close()
                return
            except StoreFault:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self) -> None:
        """End it at once, as a crash of its host would, but for its files."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(timeout=30)

    def pause(self) -> None:
        """Let it hang: connections are taken by the kernel, and nothing answers."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> None:
        assert self._process is not None
        own = self._process.pid
        pids = [own]
        for status in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError, ValueError):
                fields = status.read_text().rpartition(")")[2].split()
                if int(fields[1]) == own:
                    pids.append(int(status.parent.name))
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def address(self, database: str) -> Address:
        return Address("127.0.0.1", self.port, "keeper", database, tls=False)

    def new_database(self) -> Address:
        """An empty database: the one there is, cleared, for making others costs seconds."""
        address = self.address("postgres")
        door = Postgres(address, Secret(PASSWORD))
        door.run("DROP SCHEMA IF EXISTS public CASCADE")
        door.run("CREATE SCHEMA public")
        door.close()
        return address


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """A server for as long as it is wanted."""
    need("postgres")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    folder.chmod(0o700)
    found = None
    try:
        found = Server(folder)
        yield found
    finally:
        if found is not None:
            found.stop()
        shutil.rmtree(folder, ignore_errors=True)
