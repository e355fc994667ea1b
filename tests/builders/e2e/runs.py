"""Real processes for whole runs: a venue on loopback, a bot beside it, and the account read raw."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parents[3]
TWO_SIDED_S = 90.0
"""However busy the machine is, both sides rest by then; alone it takes two seconds."""

_STARTED: "list[subprocess.Popen[bytes]]" = []
BOT = [sys.executable, "-m", "bot"]
CONFIG = """\
series: AURELIA-VAL
venue:
  base_url: {base_url}
  key_file: {key_file}
strategy:
  name: ladder_joint
risk:
  event_loss_cents: 100000
  series_loss_cents: 200000
  rung_position_qty: 300
  order_qty: 100
state:
  dir: {state}
status:
  port: 0
"""


LOG_SHOWN = 6_000
FIGURES = {
    *("first_two_sided_s", "rungs", "frames", "fills", "requests", "amends_kept_place"),
    *("amends_lost_place", "refused", "unknown_open", "self_trades", "rate_limited"),
    *("worst_case_loss_cents_max", "worst_case_limit_cents", "pnl_cents", "resting_after"),
    "ledger_difference_cents",
}


class Venue:
    """A running venue with its crowd, and the maker's account as anybody could read it."""

    def __init__(self, base_url: str, keys: dict[str, str], control: tuple[str, ...] = ()) -> None:
        self.base_url = base_url
        self.keys = keys
        self.control = control

    def operate(self, *arguments: str) -> None:
        """Run a command of the venue's operator."""
        command = [sys.executable, "-m", "venue", *arguments, *self.control]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=30)

    def fault(self, *arguments: str) -> None:
        self.operate("fault", "add", *arguments)

    def get(self, path: str, **query: str) -> Any:
        """The JSON of a read with a key of the maker's account that no bot uses: reads that come
        often on the bot's own are rightly found as somebody else."""
        headers = {"X-API-KEY": self.keys["reader"]}
        answer = httpx.get(self.base_url + path, headers=headers, params=query, trust_env=False)
        answer.raise_for_status()
        return answer.json()

    def writes(self) -> int:
        """Creates, amends and cancels that were sent to it so far, whatever it answered."""
        shown = httpx.get(f"http://{self.control[1]}/metrics", trust_env=False).text
        counted = (
            r'venue_http_requests_total{.*route="(?:create|amend|cancel)_order".*} ([0-9.e+]+)'
        )
        return sum(int(float(count)) for count in re.findall(counted, shown))

    def orders(self, status: str) -> list[dict[str, Any]]:
        """Every order of the maker in a status group."""
        rows: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.get("/orders", status=status, limit="1000", cursor=cursor)
            rows += page["orders"]
            cursor = page["cursor"]
            if not cursor:
                return rows


@contextmanager
def running_venue(folder: Path, seed: int, *more: str) -> Iterator[Venue]:
    """A venue process of its own; it ends with the block."""
    command = [sys.executable, "-m", "venue", "serve", "--config", "configs/venue.yaml"]
    command += ["--port", "0", "--keys-file", str(folder / "keys.json")]
    command += ["--seed", str(seed), "--json", "--exit-with-stdin", *more]
    token_file = str(folder / "control.token")
    command += ["--control", "127.0.0.1:0", "--control-token-file", token_file]
    with (folder / "venue.log").open("wb") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        ready = json.loads(process.stdout.readline())
        keys = json.loads(Path(ready["keys_file"]).read_text())
        yield Venue(
            ready["base_url"], keys, ("--control", ready["control"], "--token-file", token_file)
        )
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


def config_for(venue: Venue, folder: Path) -> Path:
    """A configuration of a bot on that venue, its state in `folder`."""
    key_file = folder / "maker.key"
    key_file.write_text(venue.keys["maker"])
    key_file.chmod(0o400)
    config = folder / "bot.yaml"
    config.write_text(
        CONFIG.format(base_url=venue.base_url, key_file=key_file, state=folder / "state")
    )
    return config


def start_bot(*arguments: str, folder: Path) -> subprocess.Popen[bytes]:
    """A bot process in a session of its own; stdout is piped, stderr goes to a file."""
    with (folder / "bot.err").open("ab") as log:
        process = subprocess.Popen(
            [*BOT, *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    _STARTED.append(process)
    return process


@contextmanager
def no_bot_outlives() -> Iterator[None]:
    """Bots that were started within are killed at the end: a claim that failed leaves none."""
    before = len(_STARTED)
    yield
    for process in _STARTED[before:]:
        if process.poll() is None:
            process.kill()
            process.communicate()
    del _STARTED[before:]


def summary_of(process: subprocess.Popen[bytes], longest_s: float) -> dict[str, Any]:
    """The last line that a bot printed, as JSON, after it has ended."""
    out, _ = process.communicate(timeout=longest_s)
    summary: dict[str, Any] = json.loads(out.splitlines()[-1])
    return summary


def assert_clean(summary: dict[str, Any]) -> None:
    """What every run must end with, whatever the market did."""
    assert summary.keys() >= FIGURES
    assert set(summary["requests"]) == {"create", "amend", "cancel", "read"}
    for figure in ("resting_after", "unknown_open", "self_trades", "rate_limited"):
        assert summary[figure] == 0, figure
    assert summary["ledger_difference_cents"] == 0
    assert summary["worst_case_loss_cents_max"] <= summary["worst_case_limit_cents"]
    assert summary["findings"] == []


def summary_once_two_sided(
    process: subprocess.Popen[bytes], folder: Path, times: int = 1
) -> dict[str, Any]:
    """The summary of a run in `folder` that is interrupted as soon as its log has said so many
    times, once for a series, that both sides rest on every rung."""
    log = folder / "bot.err"
    wait_until(lambda: log.read_text().count("two_sided_everywhere") >= times, TWO_SIDED_S)
    process.send_signal(signal.SIGINT)
    return summary_of(process, TWO_SIDED_S)


def wait_until(
    true: Callable[[], bool], longest_s: float, told: Callable[[], str] | None = None
) -> None:
    """Return once it is true; an AssertionError, with what `told` says, when it does not become so
    in time."""
    until_s = time.monotonic() + longest_s
    while not true():
        late = time.monotonic() >= until_s
        assert not late, f"did not become true in time\n{told() if told else ''}"
        time.sleep(0.05)


def what_a_bot_says(folder: Path) -> str:
    """What a running bot would do next and why, and the end of its log."""
    log = (folder / "bot.err").read_text()
    page = log.partition("status page: ")[2].partition("\n")[0]
    plan = httpx.get(f"{page}plan.json", trust_env=False).text if page else "no page"
    return f"{plan}\n{log[-LOG_SHOWN:]}"
