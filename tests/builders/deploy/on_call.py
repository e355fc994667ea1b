"""A night on call: bot, reaper and venue under the rules, routes and inhibition as deployed.

What the pager is sent is received on a real socket, as a person's telephone would receive it.
"""

import contextlib
import json
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.builders.deploy.rules import ALERTMANAGER, PROMETHEUS
from tests.builders.deploy.site import Site, free_port
from tests.builders.e2e.proxy import Proxy
from tests.builders.e2e.runs import BOT, ROOT
from tests.builders.servers import need


class Pager:
    """The far end of both receivers' webhooks. pages: alerts that were sent as firing to the pager,
    in their order, each once."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        pager = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                pager._take(self.path, json.loads(body))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _take(self, path: str, message: dict[str, Any]) -> None:
        status, name = message["attachments"][0]["title"].split()[:2]
        if path == "/pager" and status == "FIRING" and name not in self.pages:
            self.pages.append(name)


class Night(Site):
    """A site with a reaper and an Alertmanager, and a proxy that can silence the channel."""

    def __init__(self, folder: Path, state: Path | None = None) -> None:
        key_file = folder / "reaper.key"
        super().__init__(folder, 1, keys={"reaper": {"key_file": str(key_file)}}, state=state)
        self._key_file = key_file
        self.pager = Pager()
        self.proxy: Proxy | None = None

    def start(self) -> None:
        super().start()
        self.start_reaper()

    def close(self) -> None:
        for name in ("reaper", "alertmanager"):
            self.kill(name)
        super().close()
        if self.proxy is not None:
            self.proxy.__exit__()
        self.pager.close()

    def kill(self, name: str) -> None:
        """Kill it if it was started and lives."""
        if name in self._processes:
            process = self._processes[name]
            process.kill()
            process.wait(10)
            if process.stdout is not None:
                process.stdout.close()

    def _start_venue(self) -> dict[str, Any]:
        ready = super()._start_venue()
        port = httpx.URL(ready["base_url"]).port
        assert port is not None
        self.proxy = Proxy(port, 1)
        self.proxy.heal()
        self.proxy.__enter__()
        return {**ready, "base_url": ready["base_url"].replace(str(port), str(self.proxy.port))}

    def _start_bot(self) -> str:
        self._key_file.write_text(self.keys["reaper"])
        self._key_file.chmod(0o400)
        port = free_port()
        self._changed = {**self._changed, "status": {"port": port}}
        return super()._start_bot()

    def start_reaper(self) -> None:
        self._start("reaper", [*BOT, "reaper", str(self.folder / "bot.yaml")])

    def restart_bot(self) -> None:
        """As a person does who has looked: reset what latched it, and start it again."""
        self.kill("bot")
        config = str(self.folder / "bot.yaml")
        subprocess.run([*BOT, "reset", config, "--yes"], cwd=ROOT, capture_output=True, timeout=60)
        self._line(self._start("bot", [*BOT, "run", config]))

    def revoke_key(self) -> None:
        raw = self.keys["maker"]
        keys = self.venue("key", "list")["keys"]
        own = next(key for key in keys if raw.startswith(key["prefix"]))
        self.venue("key", "revoke", own["key_id"])

    def _start_prometheus(self) -> str:
        """Both as deployed, but for addresses."""
        manager = self._start_alertmanager()
        home = self.folder / "prometheus"
        shutil.copytree(PROMETHEUS, home)
        for name, target in (("bots", self.bot_address), ("venues", self.ready["control"])):
            (home / f"targets/{name}.yaml").write_text(yaml.safe_dump([{"targets": [target]}]))
        config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
        config["alerting"]["alertmanagers"] = [{"static_configs": [{"targets": [manager]}]}]
        (home / "prometheus.yml").write_text(yaml.safe_dump(config))
        address = f"127.0.0.1:{free_port()}"
        command = [need("prometheus"), "--config.file=prometheus.yml", "--log.level=warn"]
        command += [f"--storage.tsdb.path={self.folder / 'tsdb'}"]
        self._start("prometheus", [*command, f"--web.listen-address={address}"], home)
        return f"http://{address}"

    def _start_alertmanager(self) -> str:
        config = yaml.safe_load(ALERTMANAGER.read_text())
        for receiver in config["receivers"]:
            file = self.folder / f"{receiver['name']}.url"
            file.write_text(f"{self.pager.url}/{receiver['name']}")
            receiver["slack_configs"][0]["api_url_file"] = str(file)
        written = self.folder / "alertmanager.yml"
        written.write_text(yaml.safe_dump(config))
        address = f"127.0.0.1:{free_port()}"
        command = [need("prometheus-alertmanager"), f"--config.file={written}"]
        command += [f"--storage.path={self.folder / 'alertmanager'}", "--log.level=warn"]
        command += [f"--web.listen-address={address}", "--cluster.listen-address="]
        self._start("alertmanager", command)
        return address

    def pages_firing(self) -> set[str]:
        """Alerts of severity `page` that Prometheus holds to be firing."""
        alerts = self._get("/api/v1/alerts")["data"]["alerts"]
        return {
            each["labels"]["alertname"]
            for each in alerts
            if each["state"] == "firing" and each["labels"]["severity"] == "page"
        }

    def stop_venue(self) -> None:
        self.signal("venue", signal.SIGSTOP)

    def let_venue_go_on(self) -> None:
        self.signal("venue", signal.SIGCONT)


@contextlib.contextmanager
def night(folder: Path, state: Path | None = None) -> Iterator[Night]:
    """A night that ends with the block, however far it came."""
    made = Night(folder, state)
    try:
        made.start()
        yield made
    finally:
        made.close()
