"""A bot killed again and again beside a venue that loses answers, judged from the venue's own log.

`python -m tests.builders.e2e.bot_kill --kills 20` prints the seed first and a summary last;
`--venue` kills the venue as well. One write in ten ends result_unknown, half of
them carried out. After the last kill the bot is started once more and stopped in order. Then the
venue's command log is replayed here, and every order of the maker must have one intent and an end,
to the cent.
"""

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.builders.e2e.runs import CONFIG, ROOT, start_bot, summary_of, wait_until
from venue.engine import messages as v
from venue.storage.recovery import fresh
from venue.storage.statedir import StateDir
from venue.wire.model import RESTING
from venue.wire.names import OrderId, UserId

MAKER = UserId("maker")
QUOTES = '"event": "quoting"'
SHARES = {"result_unknown_before": "0.05", "result_unknown_after": "0.05"}
QUOTING_S = (0.0, 1.5)
STARTING_S = (0.5, 4.0)
"""Of three kills two come so long after the first quotes left, one so long after the start."""

LAST_S = 2.0


class VenueProcess:
    """A venue with a crowd and a state directory, always on the same port."""

    def __init__(self, folder: Path, seed: int) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = folder
        self.state = folder / "venue-state"
        self._seed = seed
        self.keys: dict[str, str] = {}
        self._start()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _start(self) -> None:
        command = [sys.executable, "-m", "venue", "serve", "--config", "configs/venue.yaml"]
        command += ["--state", str(self.state), "--keys-file", str(self.folder / "keys.json")]
        command += ["--port", str(self.port), "--seed", str(self._seed), "--json"]
        command += ["--control", "127.0.0.1:0", "--control-token-file", str(self.folder / "token")]
        with (self.folder / "venue.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--exit-with-stdin"],
                cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, (self.folder / "venue.log").read_text()[-2000:]
        self._control = f"http://{json.loads(line)['control']}/control/v1"
        self.keys = json.loads((self.folder / "keys.json").read_text())

    def lose_answers(self, seed: int) -> None:
        """One write in ten gets no definite answer from here on."""
        for kind, share in SHARES.items():
            self._operate("POST", "faults", {"kind": kind, "share": share, "seed": seed})

    def lose_none(self) -> int:
        struck = sum(row["struck"] for row in self._operate("GET", "faults")["faults"])
        self._operate("DELETE", "faults")
        return int(struck)

    def _operate(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        token = (self.folder / "token").read_text().strip()
        answer = httpx.request(
            method, f"{self._control}/{path}", json=body, trust_env=False,
            headers={"Authorization": f"Bearer {token}"},
        )  # fmt: skip
        return answer.raise_for_status().json()

    def resting(self) -> list[dict[str, Any]]:
        """What of the maker's rests, by a key of its account that the bot does not use."""
        answer = httpx.get(
            f"{self.base_url}/orders?status=resting&limit=1000",
            headers={"X-API-KEY": self.keys["reader"]},
            trust_env=False,
        )
        rows: list[dict[str, Any]] = answer.raise_for_status().json()["orders"]
        return rows

    def kill(self) -> None:
        """SIGKILL, then start again on what is on disk."""
        self.process.kill()
        self._gone()
        self._start()

    def stop(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._gone()

    def _gone(self) -> None:
        self.process.wait(20)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()


@dataclass
class Verdict:
    """What the venue's own log says of the maker."""

    orders: dict[OrderId, v.OrderState] = field(default_factory=dict)
    names: dict[str, OrderId] = field(default_factory=dict)
    creates: int = 0
    self_trades: int = 0
    kills: int = 0
    struck: int = 0


def judge(state_path: Path) -> Verdict:
    """Replay a command log that nobody writes to any more."""
    verdict = Verdict()
    with StateDir.open(state_path) as state:
        exchange = fresh(state.keys.order_id_key)
        for entry in state.entries(0):
            answer, events = exchange.apply_command(entry.command, entry.at_ns)
            _take(verdict, entry.command, answer, events)
    return verdict


def _take(verdict: Verdict, command: Any, answer: v.Answer, events: list[v.Event]) -> None:
    mine = {
        event.order.order_id: event.order
        for event in events
        if isinstance(event, v.OrderChanged) and event.order.user_id == MAKER
    }
    verdict.orders |= mine
    if not isinstance(command, v.PlaceOrder | v.AmendOrder) or command.user_id != MAKER:
        return
    verdict.self_trades += len(mine) > 1
    if isinstance(command, v.PlaceOrder):
        verdict.creates += 1
        if isinstance(answer, v.Placed):
            known = verdict.names.setdefault(answer.client_order_id, answer.order.order_id)
            assert known == answer.order.order_id, "one client_order_id made two orders"


def intents(state: Path) -> dict[str, bytes]:
    """The body of every create of every run, by the bot's own journals; each asks for one order."""
    from bot.core.messages import Create, Send
    from bot.io.journal.journal import read_journal, segments
    from venue.wire import codec

    bodies: dict[str, bytes] = {}
    for segment in segments(state):
        for entry in read_journal(segment):
            message = entry.message
            if isinstance(message, Send) and isinstance(message.request, Create):
                create = message.request
                body = codec.encode_new_order(create.order)
                known = bodies.setdefault(create.order.client_order_id, body)
                assert known == body, "one client_order_id of two orders"
    return bodies


def reset(state: Path) -> None:
    """What a person does who has looked into why a bot keeps dying: let it begin again."""
    for name in ("latch.json", "crashes.json"):
        (state / name).unlink(missing_ok=True)


def config_in(folder: Path, base_url: str, key: str) -> Path:
    """A configuration of a bot on a venue; its state is `folder`/state."""
    key_file, config = folder / "maker.key", folder / "bot.yaml"
    key_file.unlink(missing_ok=True)
    key_file.write_text(key)
    key_file.chmod(0o400)
    text = CONFIG.format(base_url=base_url, key_file=key_file, state=folder / "state")
    config.write_text(text.replace("state:\n", "state:\n  journal_segments_kept: 1000\n"))
    return config


def run(
    folder: Path, kills: int, seed: int, *, venue_too: bool = False,
    told: Callable[[str], None] = lambda _: None,
) -> Verdict:  # fmt: skip
    """So many kills, a clean last run, and the verdict. Raises AssertionError."""
    dice = random.Random(seed)
    venue = VenueProcess(folder, seed)
    struck = 0
    try:
        config = str(config_in(folder, venue.base_url, venue.keys["maker"]))
        for number in range(kills):
            venue.lose_answers(seed + number)
            log = folder / "bot.err"
            quoted = log.read_text().count(QUOTES) if log.exists() else 0
            bot = start_bot("run", config, folder=folder)
            _let_live(bot, folder, dice, number, quoted)
            if venue_too and number % 2 == 0:
                struck += venue.lose_none()
                venue.kill()
                time.sleep(dice.uniform(*STARTING_S))
            assert bot.poll() is None, (folder / "bot.err").read_text()[-2000:]
            bot.send_signal(signal.SIGKILL)
            bot.wait(10)
            assert bot.stdout is not None
            bot.stdout.close()
            struck += venue.lose_none()
            reset(folder / "state")
            told(f"kill {number + 1}: {len(venue.resting())} orders left resting")
        quoted = (folder / "bot.err").read_text().count(QUOTES)
        last = start_bot("run", config, "--json", folder=folder)
        _wait_for_quotes(last, folder, quoted)
        time.sleep(LAST_S)
        last.send_signal(signal.SIGTERM)
        summary = summary_of(last, 60)
        said = (folder / "bot.err").read_text()[-2000:]
        assert last.returncode == 0, said
        assert summary["ledger_difference_cents"] == 0, summary
        assert summary["unknown_open"] == 0
        assert summary["resting_after"] == 0
        assert venue.resting() == []
    finally:
        venue.stop()
    verdict = judge(venue.state)
    verdict.kills, verdict.struck = kills, struck
    assert [order for order in verdict.orders.values() if order.status in RESTING] == []
    assert len(verdict.orders) == len(verdict.names), "an order that no create explains"
    assert set(verdict.names) <= set(intents(folder / "state"))
    assert verdict.self_trades == 0
    return verdict


def _let_live(
    bot: subprocess.Popen[bytes], folder: Path, dice: random.Random, number: int, quoted: int
) -> None:
    """Let a bot live for a while that is drawn. quoted: see `_wait_for_quotes`."""
    if number % 3 == 2:
        time.sleep(dice.uniform(*STARTING_S))
        return
    _wait_for_quotes(bot, folder, quoted)
    time.sleep(dice.uniform(*QUOTING_S))


def _wait_for_quotes(bot: subprocess.Popen[bytes], folder: Path, quoted: int) -> None:
    """Return once bots have begun to quote more than so often, or this one has ended."""
    log = folder / "bot.err"
    wait_until(lambda: log.read_text().count(QUOTES) > quoted or bot.poll() is not None, 40)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    parser.add_argument("--venue", action="store_true", help="kill the venue as well")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="bot-kill-") as folder:
        verdict = run(
            Path(folder), options.kills, options.seed, venue_too=options.venue,
            told=lambda line: print(line, flush=True),
        )  # fmt: skip
    print(
        f"{verdict.kills} kills, {verdict.struck} answers lost, {verdict.creates} creates sent, "
        f"{len(verdict.names)} orders made, each of one intent; none left, none with itself"
    )


if __name__ == "__main__":
    _main()
