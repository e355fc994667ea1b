"""Programs in a root file system of their own: namespaces, mounts and rights as engines give them.

Two ways in. A build step: root, the network, the host's certificates, discarded afterwards. A
container: its own process 1, no capability, no new privilege, read-only except the named folders,
no network except its own loopback.

Source: unshare(1), nsenter(1), setpriv(1).
"""

import os
import shlex
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

_DEVICES: Final = ("null", "zero", "full", "random", "urandom")
_HOST_FILES: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs")
"""Host files that a build step sees: name resolution and certificates."""

_UNSHARE: Final = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation=private")
_OUTPUT_MAX: Final = 4_000
_NO_RIGHTS: Final = (
    "--clear-groups",
    "--no-new-privs",
    "--inh-caps=-all",
    "--ambient-caps=-all",
    "--bounding-set=-all",
)


class Mount(NamedTuple):
    """A file or folder of the host, shown in the root. target: an absolute path there."""

    source: Path
    target: str


def build_step(
    root: Path,
    script: str,
    *,
    folder: str,
    environment: dict[str, str],
    mounts: tuple[Mount, ...],
) -> tuple[int, str]:
    """Run one RUN of a Dockerfile as root, in `folder`. Its exit code and the end of its output."""
    lent = [Mount(Path(name), name) for name in _HOST_FILES if Path(name).exists()]
    lines = [*_begun(root), *_bound(root, (*lent, *mounts))]
    inside = [
        "env",
        "-i",
        *_pairs(environment),
        "sh",
        "-c",
        f"cd {shlex.quote(folder)} && {script}",
    ]
    lines.append(f"exec chroot {_quoted(root)} {shlex.join(inside)}")
    made = _targets(root, (*lent, *mounts))
    try:
        done = subprocess.run(
            [*_UNSHARE, "sh", "-ec", "\n".join(lines)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8", errors="replace")[-_OUTPUT_MAX:]
    finally:
        for path in made:
            path.rmdir() if path.is_dir() else path.unlink()


class Container:
    """A program as process 1 in a read-only root. Begin it with `start`."""

    def __init__(self, process: "subprocess.Popen[bytes]", user: str, environment: dict[str, str]):
        self.process = process
        self._user = user
        self._environment = environment

    @classmethod
    def start(
        cls,
        root: Path,
        words: list[str],
        *,
        user: str,
        folder: str,
        environment: dict[str, str],
        writable: tuple[Mount, ...],
        output: Path,
        readable: tuple[Mount, ...] = (),
        network_of: "Container | None" = None,
    ) -> "Container":
        """Start it. user: UID:GID. writable: folders that are mounted to be written to; apart from
        them only /tmp is, which is in memory and empty. readable: files that are shown as well.
        network_of: whose network it shares. output: gets what it writes."""
        _targets(root, (*writable, *readable))
        lines = [
            "ip link set lo up",
            f"mount --bind {_quoted(root)} {_quoted(root)}",
            *_begun(root),
            f"mount -t tmpfs -o mode=1777,size=16m,noexec,nosuid,nodev none {_quoted(root)}/tmp",
            *_bound(root, (*writable, *readable)),
            *(f"mount -o remount,bind,ro {_quoted(root)}{shlex.quote(m.target)}" for m in readable),
            f"mount -o remount,bind,ro,nosuid,nodev {_quoted(root)}",
            f"exec chroot {_quoted(root)} {shlex.join(_as_user(user, folder, environment, words))}",
        ]
        with output.open("wb") as file:
            shared = (
                [] if network_of is None else ["nsenter", f"--target={network_of.pid}", "--net"]
            )
            own = ["--net"] if network_of is None else []
            process = subprocess.Popen(
                [*shared, *_UNSHARE, *own, "sh", "-ec", "\n".join(lines)],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        return cls(process, user, environment)

    @property
    def pid(self) -> int:
        """Process 1 of the container as the host counts it; 0 while there is none."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        try:
            found = children.read_text(encoding="ascii").split()
        except OSError:
            return 0
        return int(found[0]) if found else 0

    def run(self, words: list[str], folder: str = "/") -> tuple[int, str]:
        """Run another program in it with the same rights, as engines do: its code and output."""
        pid = str(self.pid)
        entered = ["nsenter", "--target", pid, "--mount", "--pid", "--net", "--root", "--wd"]
        inside = _as_user(self._user, folder, self._environment, words)
        done = subprocess.run(
            [*entered, *inside], capture_output=True, text=True, check=False, timeout=30
        )
        return done.returncode, (done.stdout + done.stderr).strip()

    def status(self) -> dict[str, str]:
        """What the kernel says of process 1: ids, capabilities, privileges."""
        text = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return {
            name: value.strip() for name, _, value in (x.partition(":") for x in text.split("\n"))
        }

    def stop(self, number: int, grace_s: float) -> int | None:
        """Send it a signal and wait; its exit code, or None when it had to be killed."""
        os.kill(self.pid, number)
        try:
            return self.process.wait(grace_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            self.process.kill()
            self.process.wait()


def _begun(root: Path) -> list[str]:
    """Mounts that every program expects: its own processes, and the few devices."""
    to = _quoted(root)
    lines = [
        f"mount -t proc -o nosuid,nodev,noexec proc {to}/proc",
        f"mount -t tmpfs -o mode=755,nosuid,noexec dev {to}/dev",
    ]
    for name in _DEVICES:
        lines += [f": > {to}/dev/{name}", f"mount --bind /dev/{name} {to}/dev/{name}"]
    return lines


def _bound(root: Path, mounts: tuple[Mount, ...]) -> list[str]:
    return [
        f"mount --bind {_quoted(m.source)} {_quoted(root)}{shlex.quote(m.target)}" for m in mounts
    ]


def _targets(root: Path, mounts: tuple[Mount, ...]) -> list[Path]:
    """Make the missing mount points. Returns those made, to be removed afterwards."""
    made: list[Path] = []
    for mount in mounts:
        path = root / mount.target.lstrip("/")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir() if mount.source.is_dir() else path.touch()
            made.append(path)
    return made


def _as_user(user: str, folder: str, environment: dict[str, str], words: list[str]) -> list[str]:
    uid, gid = user.split(":")
    rights = ["setpriv", f"--reuid={uid}", f"--regid={gid}", *_NO_RIGHTS]
    entered = ["env", "-i", f"--chdir={folder}", *_pairs(environment)]
    return [*rights, *entered, *words]


def _pairs(environment: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in environment.items()]


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
