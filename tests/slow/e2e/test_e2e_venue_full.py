"""A disk without room under a real venue: nothing is lost, nothing half done, and it goes on."""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.builders.e2e.kill import CONFIG, USER

ROOT = Path(__file__).parents[3]
UNLIMITED = resource.RLIM_INFINITY


class Venue:
    """A venue process on a state directory, and its one account."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        (folder / "venue.yaml").write_text(CONFIG + USER % ("anna", "anna"))
        command = [sys.executable, "-m", "venue", "serve", "--config", str(folder / "venue.yaml")]
        command += ["--state", str(self.state), "--keys-file", str(folder / "keys.json")]
        command += ["--port", "0", "--no-crowd", "--json", "--exit-with-stdin"]
        command += ["--control", "127.0.0.1:0", "--control-token-file", str(folder / "token")]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe)
        assert self.process.stdout is not None
        ready = json.loads(self.process.stdout.readline())
        self.control = f"http://{ready['control']}"
        key = json.loads((folder / "keys.json").read_text())["anna"]
        self.http = httpx.Client(
            base_url=ready["base_url"], headers={"X-API-KEY": key}, trust_env=False
        )
        self.ticker = self.http.get("/markets").json()["markets"][0]["ticker"]

    def limit_files_to(self, size: int) -> None:
        """Let no file of the process grow beyond this many bytes, as a full disk does."""
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (size, UNLIMITED))

    def log_size(self) -> int:
        return sorted(self.state.glob("commands-*.log"))[-1].stat().st_size

    def create(self, name: str) -> httpx.Response:
        body: dict[str, Any] = {"ticker": self.ticker, "outcome": "yes", "side": "buy"}
        body |= {"price": 10, "qty": 1, "client_order_id": name}
        return self.http.post("/orders", json=body)

    def resting(self) -> list[str]:
        page = self.http.get("/orders", params={"status": "resting", "limit": "1000"}).json()
        return [row["order_id"] for row in page["orders"]]

    def readiness(self) -> httpx.Response:
        return httpx.get(f"{self.control}/readyz", trust_env=False)

    def close(self) -> None:
        self.http.close()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        assert self.process.wait(10) == 0
        self.process.stdout.close()


@pytest.fixture
def venue(tmp_path: Path) -> Iterator[Venue]:
    venue = Venue(tmp_path)
    yield venue
    venue.close()


def test_a_venue_on_a_full_disk_refuses_writes_loses_nothing_and_recovers(
    venue: Venue, tmp_path: Path
) -> None:
    taken = venue.create("before")
    assert taken.status_code == 201
    assert venue.readiness().status_code == 200

    size = venue.log_size()
    # Room for a part of the next record: what was written of it has to be cut off again.
    venue.limit_files_to(size + 20)
    for number in range(3):
        refused = venue.create(f"full {number}")
        assert (refused.status_code, refused.json()["code"]) == (503, "engine_unavailable")
        cancelled = venue.http.delete(f"/orders/{taken.json()['order_id']}")
        assert (cancelled.status_code, cancelled.json()["code"]) == (503, "engine_unavailable")
    assert venue.log_size() == size
    assert venue.resting() == [taken.json()["order_id"]]
    assert venue.readiness().status_code == 503

    venue.limit_files_to(UNLIMITED)
    again = venue.create("full 0")
    assert again.status_code == 201
    assert venue.readiness().status_code == 200
    after = venue.create("after")
    assert after.status_code == 201

    venue.close()
    reopened = Venue(tmp_path)
    try:
        wanted = [order.json()["order_id"] for order in (after, again, taken)]
        assert reopened.resting() == wanted
    finally:
        venue.process, venue.http = reopened.process, reopened.http
