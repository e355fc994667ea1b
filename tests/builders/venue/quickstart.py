"""The commands of docs/client-quickstart.md, run as they are printed but for the two ports."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.builders.deploy.site import free_port
from tests.builders.house.tree import ROOT

PAGE = ROOT / "docs/client-quickstart.md"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REST_PORT, CONTROL_PORT = "8080", "8091"
END = "--- end of the block ---"
LONGEST_S = 60

WRAPPER = """#!/bin/sh
[ "$1" = serve ] && exec {python} -m venue "$@" --port {rest}
exec {python} -m venue "$@" --control 127.0.0.1:{control}
"""
"""Nothing that the page prints names the usual ports of these."""

VARYING = (
    (re.compile(r'"(order_id|trade_id|fill_id)":"\w+"'), r'"\1":"..."'),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "..."),
)
"""What is another at each run."""


def printed() -> list[tuple[str, str]]:
    """Each block of commands of the page, and the output printed below it; empty if none is."""
    blocks: list[tuple[str, str]] = []
    for kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "sh":
            blocks.append((text, ""))
        else:
            blocks[-1] = (blocks[-1][0], text)
    return blocks


def run(folder: Path) -> list[str]:
    """The output of each block after the first one, which serves while the others run. Raises
    AssertionError if a command fails."""
    ports = {REST_PORT: str(free_port()), CONTROL_PORT: str(free_port())}
    serving, *asking = [_with_ports(commands, ports) for commands, _ in printed()]
    programs = folder / "programs"
    programs.mkdir()
    wrapper = programs / "venue"
    wrapper.write_text(
        WRAPPER.format(python=sys.executable, rest=ports[REST_PORT], control=ports[CONTROL_PORT])
    )
    wrapper.chmod(0o700)
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "NO_PROXY": "*"}
    script = "set -eu\n" + "".join(f"{commands}\necho '{END}'\n" for commands in asking)
    with (folder / "venue.log").open("wb") as log:
        venue = subprocess.Popen(
            ["sh", "-c", f"exec {serving}"], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=log
        )
        assert venue.stdout is not None
        try:
            while b"operator's interface at" not in (line := venue.stdout.readline()):
                assert line, (folder / "venue.log").read_text(encoding="utf-8")
            done = subprocess.run(
                ["bash", "-c", script],
                cwd=folder,
                env=env,
                capture_output=True,
                text=True,
                timeout=LONGEST_S,
                check=False,
            )
        finally:
            venue.terminate()
            venue.wait(10)
            venue.stdout.close()
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return [each.removeprefix("\n") for each in done.stdout.split(f"{END}\n")[:-1]]


def lasting(output: str) -> str:
    """Output without what is another at each run."""
    for pattern, instead in VARYING:
        output = pattern.sub(instead, output)
    return output


def _with_ports(commands: str, ports: dict[str, str]) -> str:
    return re.sub(rf"\b({REST_PORT}|{CONTROL_PORT})\b", lambda found: ports[found[1]], commands)
