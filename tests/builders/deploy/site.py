"""Real processes: a venue of ours with its control listener, a bot on it, Prometheus over both."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.builders.deploy.rules import PROMETHEUS
from tests.builders.e2e.runs import BOT, CONFIG, ROOT
from tests.builders.servers import need

VENUE = [sys.executable, "-m", "venue"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def until(true: Callable[[], bool], longest_s: float, what: str) -> None:
    """Return once it is true; an AssertionError that says what was waited for if it never is."""
    give_up_s = time.monotonic() + longest_s
    while not true():
        assert time.monotonic() < give_up_s, f"not in {longest_s} s: {what}"
        time.sleep(0.1)


Keys = Mapping[str, Mapping[str, Any]]
"""Keys of a bot's configuration, by section."""


class Site:
    """All three of them, in a folder of their own; `start` them, and `close` what was started.

    speed: of the venue's crowd. keys: of the bot, that are not as in other runs. fault: a kind that
    all creates meet at the venue before there is a bot. state: the bot's folder, where it is not
    in that of the site.
    """

    def __init__(
        self,
        folder: Path,
        speed: int,
        *,
        keys: Keys | None = None,
        fault: str = "",
        state: Path | None = None,
    ) -> None:
        self.folder = folder
        self._speed = speed
        self._changed = keys or {}
        self._fault = fault
        self.state = folder / "state" if state is None else state
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._client: httpx.Client | None = None

    def start(self) -> None:
        self.ready = self._start_venue()
        self.keys: dict[str, str] = json.loads(Path(self.ready["keys_file"]).read_text())
        if self._fault:
            self.creates_meet(self._fault)
        self.bot_address = self._start_bot()
        self._client = httpx.Client(base_url=self._start_prometheus(), trust_env=False, timeout=10)

    def close(self) -> None:
        for name in ("prometheus", "bot", "venue"):
            if name in self._processes:
                process = self._processes[name]
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait(10)
                if process.stdout is not None:
                    process.stdout.close()
        if self._client is not None:
            self._client.close()

    def signal(self, name: str, number: signal.Signals) -> None:
        self._processes[name].send_signal(number)

    def _start(self, name: str, command: list[str], cwd: Path = ROOT) -> subprocess.Popen[bytes]:
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self._processes[name] = process
        return process

    def _line(self, process: subprocess.Popen[bytes]) -> str:
        assert process.stdout is not None
        return process.stdout.readline().decode()

    def _start_venue(self) -> dict[str, Any]:
        seed = (ROOT / "configs/venue.yaml").read_text()
        assert "\n  speed: 1 " in seed
        config = self.folder / "venue.yaml"
        config.write_text(seed.replace("\n  speed: 1 ", f"\n  speed: {self._speed} "))
        command = [*VENUE, "serve", "--config", str(config), "--port", "0", "--json"]
        command += ["--keys-file", str(self.folder / "keys.json"), "--control", "127.0.0.1:0"]
        command += ["--control-token-file", str(self.folder / "token"), "--seed", "31"]
        ready: dict[str, Any] = json.loads(self._line(self._start("venue", command)))
        return ready

    def _start_bot(self) -> str:
        """Start it; HOST:PORT of its status page."""
        key_file = self.folder / "maker.key"
        key_file.write_text(self.keys["maker"])
        key_file.chmod(0o400)
        base_url = self.ready["base_url"]
        written = CONFIG.format(base_url=base_url, key_file=key_file, state=self.state)
        self._config: dict[str, Any] = yaml.safe_load(written)
        self._config["loss_budgets"] = {"day_cents": 100_000}
        config = self._configured(self._changed)
        process = self._start("bot", [*BOT, "run", str(config)])
        return self._line(process).split("//")[1].strip().rstrip("/")

    def _configured(self, changed: Keys) -> Path:
        for section, keys in changed.items():
            self._config.setdefault(section, {}).update(keys)
        config = self.folder / "bot.yaml"
        config.write_text(yaml.safe_dump(self._config))
        return config

    def _start_prometheus(self) -> str:
        """Start it on the deployed files, everything once a second and alerts without waiting."""
        home = self.folder / "prometheus"
        self._write_rules(home)
        (home / "targets").mkdir()
        for name, target in (("bots", self.bot_address), ("venues", self.ready["control"])):
            (home / f"targets/{name}.yaml").write_text(yaml.safe_dump([{"targets": [target]}]))
        config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
        config["global"] = dict.fromkeys(
            ("scrape_interval", "scrape_timeout", "evaluation_interval"), "1s"
        )
        (home / "prometheus.yml").write_text(yaml.safe_dump(config))
        address = f"127.0.0.1:{free_port()}"
        command = [need("prometheus"), "--config.file=prometheus.yml", "--log.level=warn"]
        command += [
            f"--storage.tsdb.path={self.folder / 'tsdb'}",
            f"--web.listen-address={address}",
        ]
        self._start("prometheus", command, home)
        return f"http://{address}"

    def _write_rules(self, home: Path) -> None:
        (home / "rules").mkdir(parents=True)
        for file in ("recording.yaml", "alerts.yaml"):
            read = yaml.safe_load((PROMETHEUS / "rules" / file).read_text())
            for group in read["groups"]:
                group["interval"] = "1s"
                for rule in group["rules"]:
                    rule.pop("for", None)
                    rule.pop("keep_firing_for", None)
            (home / "rules" / file).write_text(yaml.safe_dump(read))

    # --- asking -----------------------------------------------------------------------------------

    def _get(self, path: str, **query: str) -> Any:
        assert self._client is not None
        return self._client.get(path, params=query).json()

    def query(self, expr: str) -> list[Any]:
        """What Prometheus answers to an expression. Raises AssertionError for one it refuses."""
        answer = self._get("/api/v1/query", query=expr)
        assert answer["status"] == "success", f"{expr}: {answer.get('error')}"
        result: list[Any] = answer["data"]["result"]
        return result

    def is_scraped(self) -> bool:
        """Whether Prometheus is ready and bot and venue have answered it."""
        assert self._client is not None
        try:
            if self._client.get("/-/ready").status_code != 200:
                return False  # it reads its storage before it answers any question
        except httpx.TransportError:
            return False  # it does not listen yet
        return len(self.query('up{job=~"bot|venue"} == 1')) == 2

    def firing(self) -> set[str]:
        alerts = self._get("/api/v1/alerts")["data"]["alerts"]
        return {each["labels"]["alertname"] for each in alerts if each["state"] == "firing"}

    def fires(self, alert: str, longest_s: float) -> None:
        until(lambda: alert in self.firing(), longest_s, alert)

    def ceases(self, alert: str, longest_s: float) -> None:
        until(lambda: alert not in self.firing(), longest_s, f"no {alert}")

    # --- causing ----------------------------------------------------------------------------------

    def reconfigure(self, changed: Keys) -> None:
        self._configured(changed)
        self.signal("bot", signal.SIGHUP)

    def creates_meet(self, fault: str) -> None:
        """From here on every create fails in this way at the venue."""
        self.venue("fault", "add", fault, "--share", "1", "--verbs", "create")

    def venue(self, *arguments: str) -> Any:
        """Run one of the operator's commands of the venue; what it answers."""
        own = ["--control", self.ready["control"], "--token-file", str(self.folder / "token")]
        done = subprocess.run(
            [*VENUE, *arguments, *own, "--json"], cwd=ROOT, capture_output=True, timeout=30
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def bot(self, command: str, *arguments: str) -> None:
        """Run one of the commands for a running bot."""
        page = ["--status", f"http://{self.bot_address}"]
        done = subprocess.run(
            [*BOT, command, str(self.folder / "bot.yaml"), *arguments, *page],
            cwd=ROOT, capture_output=True, timeout=30,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """A request on the bot's own key, made by somebody else."""
        answer = httpx.request(
            method,
            self.ready["base_url"] + path,
            json=body,
            headers={"X-API-KEY": self.keys["maker"]},
            trust_env=False,
        )
        answer.raise_for_status()
        return answer.json()


@contextlib.contextmanager
def small_disk(folder: Path, size_mb: int = 64) -> Iterator[None]:
    """A disk of `size_mb` at an empty folder. Raises PermissionError where none can be mounted."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, timeout=10).returncode:
        raise PermissionError("no disk can be mounted")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=10)


@contextlib.contextmanager
def running(
    folder: Path,
    speed: int,
    *,
    keys: Keys | None = None,
    fault: str = "",
    state: Path | None = None,
) -> Iterator[Site]:
    """A site that ends with the block, however far it came; see Site."""
    site = Site(folder, speed, keys=keys, fault=fault, state=state)
    try:
        site.start()
        yield site
    finally:
        site.close()
