"""The compose file's venue, reaper and bot without an engine: they trade, two are killed, all mend.

The three are started as the file says: its command lines, configurations and secret files, one
network namespace, the volumes that they share, a read-only root each. Then the bot is killed, and
what docs/operations.md and the head of the compose file promise has to come true: the reaper
latches and cancels everything, the bot starts again and does not quote, the command that is written
there resets it, it quotes. The venue is killed and comes back, and the bot is well again. At last
all of them end with 0 on the signal.
"""

import re
import secrets
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import yaml

from deploy.image.jail import Container, Mount
from deploy.image.stages import ROOT, Trouble

_COMPOSE: Final = ROOT / "deploy/compose.yaml"
_DEFAULT: Final = re.compile(r"\$\{[A-Z_]+:-([^}]*)\}")
_WELL_WITHIN_S: Final = 30.0
_REAPED_WITHIN_S: Final = 40.0
"""The silence after which the reaper acts (10 s), its sweep, and two lists that are late enough."""

_RESET: Final = (
    "bot", "reset", "/etc/laddermaker/compose-bot.yaml", "--yes",
    "--state-dir=/var/lib/laddermaker/maker",
)  # fmt: skip


class Together:
    """The services of the compose file that are ours, in one root."""

    def __init__(
        self, root: Path, environment: dict[str, str], volume: Path, folder: str, work: Path
    ) -> None:
        """volume: what a new volume is filled with. folder: where programs of the image start."""
        self._root = root
        self._environment = environment
        self._folder = folder
        self._work = work
        self._told: dict[str, Any] = yaml.safe_load(_COMPOSE.read_text(encoding="utf-8"))
        self._running: dict[str, Container] = {}
        self._outputs: dict[str, Path] = {}
        for name in self._told["volumes"]:
            subprocess.run(["cp", "-a", str(volume), str(work / name)], check=True)
        for name in self._told["secrets"]:
            (work / name).write_text(secrets.token_hex(24), encoding="ascii")
            (work / name).chmod(0o444)

    def start(self, name: str) -> Container:
        service = self._told["services"][name]
        states = [each.partition(":") for each in service.get("volumes", [])]
        shown = [
            Mount(self._configuration(each["source"]), each["target"])
            for each in service.get("configs", [])
        ]
        secret = service.get("secrets", [])
        shown += [Mount(self._work / each, f"/run/secrets/{each}") for each in secret]
        holder = service.get("network_mode", "").removeprefix("service:")
        output = self._work / f"{name}-{len(self._outputs)}.log"
        self._outputs[name] = output
        self._running[name] = Container.start(
            self._root,
            [*(service.get("entrypoint") or ["bot"]), *service.get("command", [])],
            user=service["user"],
            folder=self._folder,
            environment=self._environment,
            writable=tuple(Mount(self._work / state, target) for state, _, target in states),
            readable=tuple(shown),
            output=output,
            network_of=self._running.get(holder),
        )
        return self._running[name]

    def becomes(self, name: str, words: list[str], wanted: Callable[[int, str], bool]) -> None:
        """Wait until a program that is run in a service answers so. Raises Trouble."""
        said = (-1, "it never ran")
        container = self._running[name]

        def answered() -> bool:
            nonlocal said
            if container.pid:
                said = container.run(words)
            return wanted(*said)

        self._wait(name, answered, _WELL_WITHIN_S, lambda: f"{' '.join(words)}: {said}")

    def writes(self, name: str, text: str, within_s: float) -> None:
        """Wait until a service's output holds a text. Raises Trouble."""
        path = self._outputs[name]
        self._wait(name, lambda: text in path.read_text("utf-8"), within_s, lambda: f"no {text}")

    def stop(self, name: str) -> None:
        """Stop a service in the time that the file gives. Raises Trouble unless it ends with 0."""
        grace_s = float(self._told["services"][name]["stop_grace_period"].removesuffix("s"))
        code = self._running[name].stop(signal.SIGTERM, grace_s)
        if code != 0:
            raise Trouble(f"{name} ended with {code} on SIGTERM:\n{self._end_of(name)}")

    def kill(self) -> None:
        """End whatever still runs."""
        for container in self._running.values():
            container.process.kill()

    def _configuration(self, name: str) -> Path:
        text = _DEFAULT.sub(lambda found: found[1], self._told["configs"][name]["file"])
        return _COMPOSE.parent / text

    def _wait(
        self, name: str, done: Callable[[], bool], within_s: float, why: Callable[[], str]
    ) -> None:
        until_s = time.monotonic() + within_s
        while not done():
            ended = self._running[name].process.poll()
            if ended is not None or time.monotonic() > until_s:
                state = "still runs" if ended is None else f"ended with {ended}"
                raise Trouble(f"{name} ({state}): {why()}\n{self._end_of(name)}")
            time.sleep(0.25)

    def _end_of(self, name: str) -> str:
        return self._outputs[name].read_text(encoding="utf-8", errors="replace")[-3000:]


def try_together(services: Together, health: list[str], say: Callable[[str, float], None]) -> None:
    """Trade, kill, reap, reset, stop. health: the image's own check. Raises Trouble."""
    try:
        begun_s = time.monotonic()
        services.start("loopback")
        venue = services.start("venue")
        ready = [*health, "--url=http://127.0.0.1:8091/readyz"]
        services.becomes("venue", ready, lambda code, _: code == 0)
        services.start("reaper")
        bot = services.start("bot")
        services.becomes("bot", health, lambda code, _: code == 0)
        say("venue, reaper and bot of the compose file: the bot is well", begun_s)
        time.sleep(5)
        begun_s = time.monotonic()
        bot.stop(signal.SIGKILL, 5.0)
        services.writes("reaper", '"event": "reaped"', _REAPED_WITHIN_S)
        say("bot killed: the reaper has latched it and shown that nothing rests", begun_s)
        begun_s = time.monotonic()
        services.start("bot")
        services.becomes("bot", health, lambda code, said: code == 1 and "latched" in said)
        services.becomes("reaper", list(_RESET), lambda code, _: code == 0)
        services.becomes("bot", health, lambda code, _: code == 0)
        say("started again: latched until it was reset, then well", begun_s)
        begun_s = time.monotonic()
        venue.stop(signal.SIGKILL, 5.0)
        services.becomes("bot", health, lambda code, _: code == 1)
        services.start("venue")
        services.becomes("venue", ready, lambda code, _: code == 0)
        services.becomes("bot", health, lambda code, _: code == 0)
        say("venue killed and started again: the bot is well again", begun_s)
        begun_s = time.monotonic()
        for name in ("bot", "reaper", "venue"):
            services.stop(name)
        say("bot, reaper and venue ended with 0 on SIGTERM", begun_s)
    finally:
        services.kill()
