"""A venue process killed again and again while eight clients write, and what must hold after each.

`python -m tests.builders.e2e.kill --kills 200` prints the seed first and a summary last. The
clients speak raw HTTP and remember every response. After each kill the state on disk is replayed
here, the venue is started again on it, and both are held against what the clients remember.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.builders.core.dump import dump_of
from tests.builders.e2e.kill_client import Client
from venue.engine.messages import Deposit
from venue.storage.recovery import RecoveredVenue, recover
from venue.storage.statedir import StateDir

ROOT = Path(__file__).parents[3]
CLIENTS = 8
KILLS_A_LIFE = 20
"""So often one state directory is killed; then a new one begins."""

WRITING_S = (0.02, 0.35)
CONFIG = """\
venue:
  projection_lag_ms: 1
fees:
  maker_rate: 0.0100
  taker_rate: 0.0175
companies:
  - name: Linden Works
    symbol: LINDEN
    series:
      - ticker: LINDEN-VAL
        category: valuation
        events:
          - quarter: 0
            title: Linden Works valuation, {quarter}
            strike_unit: USD billions
            rungs:
              - {label: 101B, strike_value: 101}
              - {label: 102B, strike_value: 102}
              - {label: 103B, strike_value: 103}
users:
"""
USER = """\
  - name: %s
    deposit_cents: 300000
    keys:
      - {name: %s, scopes: [read, trade], generate: true}
"""


@dataclass
class Tally:
    """What happened over all kills."""

    kills: int = 0
    told: int = 0
    unanswered: int = 0
    landed_untold: int = 0
    """Creates that were on disk although nobody had been told: kills inside a write."""

    cut_tails: int = 0
    slowest_restart_s: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)


class Process:
    """A venue process on a state directory."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        command = [sys.executable, "-m", "venue", "serve", "--config", str(folder / "venue.yaml")]
        command += ["--state", str(self.state), "--keys-file", str(folder / "keys.json")]
        command += ["--port", "0", "--no-crowd", "--json", "--exit-with-stdin"]
        command += ["--control", "127.0.0.1:0", "--control-token-file", str(folder / "token")]
        self._folder = folder
        self._begun = time.monotonic()
        self.start_s = 0.0
        self.address = ("", 0, "")
        with (folder / "venue.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
            )

    def await_ready(self) -> None:
        """Return once it answers. Raises AssertionError with its log when it ends instead."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, (self._folder / "venue.log").read_text()
        self.start_s = time.monotonic() - self._begun
        ready = json.loads(line)
        self._control = f"http://{ready['control']}/control/v1"
        self._token = (self._folder / "token").read_text().strip()
        address = ready["base_url"].removeprefix("http://")
        host_and_port, _, prefix = address.partition("/")
        host, _, port = host_and_port.rpartition(":")
        self.address = (host, int(port), f"/{prefix}")

    def state_hash(self) -> tuple[int, str]:
        """The sequence and the hash of the state that is served."""
        headers = {"Authorization": f"Bearer {self._token}"}
        answer = httpx.get(f"{self._control}/state-hash", headers=headers, trust_env=False)
        told = answer.raise_for_status().json()
        return told["sequence"], told["state_hash"]

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(10)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()


def life(folder: Path, kills: int, seed: int, tally: Tally) -> None:
    """One state directory from its first start to its last kill. Raises AssertionError."""
    dice = random.Random(seed)
    names = [f"user-{number}" for number in range(CLIENTS)]
    (folder / "venue.yaml").write_text(CONFIG + "".join(USER % (name, name) for name in names))
    process = Process(folder)
    try:
        process.await_ready()
        keys = json.loads((folder / "keys.json").read_text())
        markets = _markets(process.address, keys[names[0]])
        clients = [
            Client(name, keys[name], markets, random.Random(f"{seed} {name}")) for name in names
        ]
        for number in range(kills):
            _write_until_killed(process, clients, number, dice)
            copy = folder / "copy"
            shutil.copytree(process.state, copy)
            process = Process(folder)
            state = _replayed(copy, tally)
            shutil.rmtree(copy)
            process.await_ready()
            expected = (state.exchange.sequence, state.exchange.engine.state_hash())
            assert process.state_hash() == expected
            tally.slowest_restart_s = max(tally.slowest_restart_s, process.start_s)
            _check_money(process.address, clients, state)
            for client in clients:
                client.check(process.address, tally)
            tally.kills += 1
    finally:
        process.kill()
    for client in clients:
        tally.told += client.told
        for code, count in client.refused.items():
            tally.refused[code] = tally.refused.get(code, 0) + count


def _write_until_killed(
    process: Process, clients: list[Client], number: int, dice: random.Random
) -> None:
    """Let every client write without pause, and kill the venue.

    Two kills of three come at a random instant, the third when the log is seen to grow: between
    the write and its sync, or the sync and the answer.
    """
    threads = [threading.Thread(target=client.write, args=(process.address,)) for client in clients]
    for thread in threads:
        thread.start()
    time.sleep(dice.uniform(*WRITING_S))
    if number % 3 == 2:
        _await_growth(max(process.state.glob("commands-*.log")))
    process.kill()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive(), "a client hangs"


def _await_growth(file: Path) -> None:
    size = file.stat().st_size
    until_s = time.monotonic() + 5
    while file.stat().st_size == size and time.monotonic() < until_s:
        pass


@dataclass(frozen=True)
class Replayed:
    """What the log on disk came to, replayed in this process."""

    exchange: RecoveredVenue
    deposits_cents: int


def _replayed(path: Path, tally: Tally) -> Replayed:
    """The state on disk, replayed from its first command, and the law of conservation for it."""
    with StateDir.open(path) as state:
        exchange = recover(state)
        deposits_cents = sum(
            entry.command.amount_cents
            for entry in state.entries(0)
            if isinstance(entry.command, Deposit)
        )
        assert state.notices == []
        size = max(path.glob("commands-*.log")).stat().st_size
        # Opening the log is what cuts a torn tail off.
        state.log().close()
        tally.cut_tails += max(path.glob("commands-*.log")).stat().st_size != size
    engine = exchange.engine
    balances = [engine.balance(user) for user in engine.users]
    cash = sum(sum(balance) for balance in balances if balance is not None)
    interest = sum(_open_interest(exchange).values())
    assert cash + 100 * interest + engine.fees_cents == deposits_cents
    return Replayed(exchange, deposits_cents)


def _open_interest(exchange: RecoveredVenue) -> dict[str, int]:
    shares = dump_of(exchange.engine)["shares"]
    assert isinstance(shares, dict)
    return {market_id: of["open_interest"] for market_id, of in shares.items()}


def _markets(address: tuple[str, int, str], key: str) -> list[str]:
    reader = Client("reader", key, [], random.Random(0))
    rows = reader.pages(address, "/markets", "markets")
    reader.hang_up()
    return [row["ticker"] for row in rows]


def _check_money(address: tuple[str, int, str], clients: list[Client], replayed: Replayed) -> None:
    """What the venue says of cash and open interest adds up to the deposits, to the cent."""
    total = 0
    for client in clients:
        balance = client.get(address, "/portfolio/balance")
        assert balance["total_cents"] == balance["available_cents"] + balance["reserved_cents"]
        total += balance["total_cents"]
    rows = clients[0].pages(address, "/markets", "markets")
    interest = sum(row["open_interest"] for row in rows)
    fees_cents = replayed.exchange.engine.fees_cents
    assert total + 100 * interest + fees_cents == replayed.deposits_cents


def run(kills: int, seed: int, told: Callable[[str], None] = lambda _: None) -> Tally:
    """So many kills, a new state directory every KILLS_A_LIFE. Raises AssertionError."""
    tally = Tally()
    while tally.kills < kills:
        with tempfile.TemporaryDirectory(prefix="venue-kill-") as folder:
            count = min(KILLS_A_LIFE, kills - tally.kills)
            life(Path(folder), count, seed + tally.kills, tally)
        told(f"{tally.kills} kills, {tally.told} writes acknowledged")
    return tally


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    print(run(options.kills, options.seed, lambda line: print(line, flush=True)))


if __name__ == "__main__":
    _main()
