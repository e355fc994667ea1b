"""Builds the image without an engine and tries it: `python -m deploy.rootfs`, as root, on Debian.

A clean root file system comes from Debian's packages through the host's apt configuration; in it
the very steps of the Dockerfile are run, stage by stage; then the default command is started there
as an engine would: process 1, the image's user, no capability, a read-only root, no network. It has
to become healthy by the image's own health check, to quote for some seconds, and to end with 0 and
nothing left resting on the signal that the image names. At last the venue, reaper and bot of the
compose file trade together, and the bot is killed: deploy/image/together.py.

The base image is replaced by its interpreter: Debian's python3, linked as `python`.

Exit codes: 0 all well, 1 something is not, 2 it cannot be tried here.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NoReturn

from deploy.image.dockerfile import DockerfileFault, Stage, Step, exec_form, read
from deploy.image.jail import Container, Mount
from deploy.image.stages import ROOT, Trouble, build, make_base
from deploy.image.together import Together, try_together

_TOOLS: Final = ("apt-get", "debootstrap", "ip", "nsenter", "setpriv", "unshare")
_HEALTHY_WITHIN_S: Final = 30
_GRACE_S: Final = 15.0
"""Less than deploy/compose.yaml and the manifests give before they kill."""

_ADDS_MB_MAX: Final = 150
"""Most that the image may add to its base."""

_PATH: Final = {"PATH": "/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin"}


def main() -> NoReturn:
    """Build, try, tell."""
    parser = argparse.ArgumentParser(prog="python -m deploy.rootfs", description=__doc__)
    parser.add_argument("--base", type=Path, help="a clean root made before; made when absent")
    parser.add_argument("--for", dest="run_s", type=float, default=10.0, help="seconds to quote")
    arguments = parser.parse_args()
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if os.geteuid() != 0 or missing:
        print(f"needs root and {', '.join(missing or _TOOLS)}", file=sys.stderr)
        sys.exit(2)
    with tempfile.TemporaryDirectory(prefix="laddermaker-image-", dir="/var/tmp") as folder:
        try:
            _try(Path(folder), arguments.base or Path(folder) / "debian", arguments.run_s)
        except (Trouble, DockerfileFault) as fault:
            print(f"FAIL {fault}", file=sys.stderr)
            sys.exit(1)
    sys.exit(0)


def _try(work: Path, base: Path, run_s: float) -> None:
    begun_s = time.monotonic()
    if not base.is_dir():
        make_base(base)
    _say(f"clean root: {_megabytes(base)} MB", begun_s)
    stages = read(ROOT / "Dockerfile")
    roots: dict[str, Path] = {}
    variables: dict[str, dict[str, str]] = {}
    for stage in stages:
        # An image that is no stage of ours is the base image, which the clean root replaces.
        root = work / f"stage-{stage.name}"
        begins = roots.get(stage.base, base)
        subprocess.run(["cp", "-a", "--reflink=auto", str(begins), str(root)], check=True)
        variables[stage.name] = stage.environment(variables.get(stage.base, _PATH))
        build(stage, root, roots, variables[stage.name])
        roots[stage.name] = root
        _say(f"stage {stage.name}: {_megabytes(root)} MB", begun_s)
    last = stages[-1]
    grown = _megabytes(roots[last.name]) - _megabytes(base)
    if grown > _ADDS_MB_MAX:
        raise Trouble(f"the image adds {grown} MB to its base, more than {_ADDS_MB_MAX}")
    _say(f"the image adds {grown} MB to its base", begun_s)
    root, environment = roots[last.name], variables[last.name]
    _run(last, root, environment, work, run_s)
    volume = Path(f"{root}{_said(last, 'VOLUME')}")
    services = Together(root, environment, volume, _said(last, "WORKDIR"), work)
    try_together(services, exec_form(_step(last, "HEALTHCHECK")), _say)


# --- the container --------------------------------------------------------------------------------


def _run(stage: Stage, root: Path, variables: dict[str, str], work: Path, run_s: float) -> None:
    user, folder, keeps = (_said(stage, name) for name in ("USER", "WORKDIR", "VOLUME"))
    words = [*exec_form(_step(stage, "ENTRYPOINT")), *exec_form(_step(stage, "CMD"))]
    check = exec_form(_step(stage, "HEALTHCHECK"))
    state = work / "state"
    # As an engine fills a new volume: with the content, owner and mode of the folder in the image.
    subprocess.run(["cp", "-a", f"{root}{keeps}", str(state)], check=True)
    output = work / "output"
    begun_s = time.monotonic()
    container = Container.start(
        root,
        words,
        user=user,
        folder=folder,
        environment=variables,
        writable=(Mount(state, keeps),),
        output=output,
    )
    try:
        _become_healthy(container, check, output)
        _say(f"healthy by {' '.join(check)}", begun_s)
        _check_rights(container, user, keeps)
        time.sleep(run_s)
        code, said = container.run(check)
        if code != 0:
            raise Trouble(f"after {run_s:.0f} s the health check ended with {code}: {said}")
        code, said = container.run([*check, "--live"])
        if code != 0:
            raise Trouble(f"after {run_s:.0f} s it does not decide: {said}")
        told_s = time.monotonic()
        number = signal.Signals[_said(stage, "STOPSIGNAL")]
        ended = container.stop(number, _GRACE_S)
    finally:
        container.process.kill()
    text = output.read_text(encoding="utf-8", errors="replace")
    if ended != 0 or "resting_after: 0" not in text:
        raise Trouble(f"on {number.name} it ended with {ended}:\n{text[-4000:]}")
    _say(f"on {number.name} it ended with 0, nothing resting", told_s)
    for line in text.splitlines():
        if line.partition(":")[0] in ("fills", "requests", "first_two_sided_s", "resting_after"):
            print(f"     {line}")


def _become_healthy(container: Container, check: list[str], output: Path) -> None:
    until_s = time.monotonic() + _HEALTHY_WITHIN_S
    said = "it never ran"
    while time.monotonic() < until_s and container.process.poll() is None:
        if container.pid:
            code, said = container.run(check)
            if code == 0:
                return
        time.sleep(0.5)
    text = output.read_text(encoding="utf-8", errors="replace")
    raise Trouble(f"not healthy within {_HEALTHY_WITHIN_S} s: {said}\n{text[-4000:]}")


def _check_rights(container: Container, user: str, keeps: str) -> None:
    """What the image and the way it is run promise, as the kernel and a try tell it."""
    status = container.status()
    uid, gid = user.split(":")
    wanted = {
        "Uid": uid,
        "Gid": gid,
        "CapEff": "0" * 16,
        "CapPrm": "0" * 16,
        "CapBnd": "0" * 16,
        "NoNewPrivs": "1",
        "NSpid": "1",
    }
    for name, value in wanted.items():
        numbers = status[name].split()
        found = numbers[-1] if name == "NSpid" else numbers[0]
        if found != value:
            raise Trouble(f"process 1 has {name} {status[name]}, not {value}")
    for path in ("/", "/etc/laddermaker", "/opt/venv", "/usr/bin", "/dev"):
        code, said = container.run(["touch", f"{path}/probe"])
        if code == 0:
            raise Trouble(f"{path} can be written to")
    for path in (keeps, "/tmp"):
        code, said = container.run(["touch", f"{path}/probe"])
        if code != 0:
            raise Trouble(f"{path} cannot be written to: {said}")
    _say("process 1, no capability, no new privilege; only its state and /tmp can be written to")


def _step(stage: Stage, name: str) -> Step:
    step = stage.last(name)
    if step is None:
        raise Trouble(f"Dockerfile: the last stage says no {name}")
    return step


def _said(stage: Stage, name: str) -> str:
    return _step(stage, name).text


def _megabytes(root: Path) -> int:
    usage = subprocess.run(["du", "-sxm", str(root)], capture_output=True, text=True, check=True)
    return int(usage.stdout.split()[0])


def _say(text: str, since_s: float | None = None) -> None:
    took = "" if since_s is None else f" ({time.monotonic() - since_s:.1f} s)"
    print(f"ok   {text}{took}", flush=True)


if __name__ == "__main__":
    main()
