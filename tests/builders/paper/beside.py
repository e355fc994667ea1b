"""Compare minutes of a paper bot with a live bot and a recorder.

Run: python -m tests.builders.paper.beside

A venue, a live bot, a paper bot of the same series and `bot record` run together. Then the orders
of the paper bot are played once more on the recording under each reading of the queue: all shares
that filled on paper have to be no fewer than by the pessimistic and no more than by the optimistic
one. Orders may be outside one by one, as the recorder hears each frame at another instant. At last
the whole trader is backtested on the recording. Prints what was found, and ends with 1 where the
venue counts a write that the live bot did not send, or the sum lies outside the bounds.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

import httpx

from bot.core import messages as m
from bot.io.journal.journal import read_journal, segments
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import MAKER
from bot.lab.exchange.live import LiveMarket
from bot.lab.exchange.queue_model import QueueModel
from tests.builders.e2e.runs import Venue, config_for, running_venue, start_bot, summary_of
from venue.engine import messages as v
from venue.storage.record import LogRecord
from venue.storage.statedir import StateDir
from venue.wire.money import Cents

SETTLE_S = 3.0


def _commands(account: Path) -> list[LogRecord]:
    with StateDir.open(account) as state:
        return [*state.entries(0)]


_WRITES: Final = (v.PlaceOrder, v.AmendOrder, v.CancelOrder)


def _is_ours(command: Any) -> bool:
    return isinstance(command, _WRITES) and command.user_id == MAKER


def filled_on_paper(entries: list[LogRecord]) -> Counter[str]:
    """Shares of each of our orders that filled, by applying the log again."""
    market = LiveMarket((), Terms(cash_cents=Cents(0)), QueueModel.PESSIMISTIC, entries[0].at_ns)
    filled = _counted(market)
    for entry in entries:
        market.exchange.execute(entry.command, entry.at_ns)  # type: ignore[arg-type]
    return filled


def played(entries: list[LogRecord], recording: Path, model: QueueModel) -> Counter[str]:
    """The same by playing our orders on the recorded frames under a reading of the queue."""
    listing = [entry for entry in entries if not isinstance(entry.command, _WRITES)]
    acts: list[tuple[int, int, Any]] = [
        (entry.at_ns, 1, entry.command) for entry in entries if _is_ours(entry.command)
    ]
    for segment in segments(recording):
        for entry in read_journal(segment):
            if isinstance(entry.message, m.BookUpdate | m.Trade):
                acts.append((entry.at_ns, 0, entry.message))
    acts.sort(key=lambda each: each[:2])
    market = LiveMarket((), Terms(cash_cents=Cents(0)), model, entries[0].at_ns)
    filled = _counted(market)
    for entry in listing:
        market.exchange.execute(entry.command, entries[0].at_ns)  # type: ignore[arg-type]
    for at_ns, _, act in acts:
        if isinstance(act, m.BookUpdate | m.Trade):
            market.on_frame(act, at_ns)
        else:
            market.execute_write(market.exchange, act, at_ns)
    return filled


def _counted(market: LiveMarket) -> Counter[str]:
    filled: Counter[str] = Counter()

    def watch(_command: Any, _answer: Any, events: list[v.Event], _now_ns: int) -> None:
        for event in events:
            if isinstance(event, v.FillBooked) and event.user_id == MAKER:
                filled[event.order_id] += event.qty

    market.exchange.watchers.append(watch)
    return filled


def _lived(folder: Path, venue: Venue, minutes: float, queue_model: str) -> tuple[Any, Any]:
    """The summaries of the live bot and of the paper bot."""
    key_file = folder / "guest.key"
    key_file.write_text(venue.keys["guest"])
    key_file.chmod(0o400)
    config = config_for(venue, folder)
    config.write_text(f"{config.read_text()}paper:\n  key_file: {key_file}\n")
    bots = []
    for name, more in (
        ("record", ["record", str(config)]),
        ("live", ["run", str(config)]),
        ("paper", ["run", "--paper", str(config), "--queue-model", queue_model]),
    ):
        (folder / name).mkdir()
        bots.append(start_bot(*more, "--json", folder=folder / name))
        time.sleep(SETTLE_S)
    time.sleep(60 * minutes)
    ended = []
    for bot in bots[::-1]:
        bot.send_signal(signal.SIGINT)
        ended.append(summary_of(bot, 60))
        assert bot.returncode == 0
    return ended[1], ended[0]


def _backtested(folder: Path) -> dict[str, int]:
    """Shares that came to the whole trader on the recording, by reading."""
    state = str(folder / "state-record")
    command = ["backtest", "--data", state, "--config", str(folder / "bot.yaml"), "--json"]
    command += ["--maker-fee", "0.01", "--taker-fee", "0.0175"]  # those of configs/venue.yaml
    bot = start_bot(*command, folder=folder / "record")
    out, _ = bot.communicate()
    shares: Counter[str] = Counter()
    for row in json.loads(out.splitlines()[-1])["results"]:
        shares[row["bound"]] += row["maker_qty"]
    return dict(shares)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--queue-model", default="expected")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="paper-") as name:
        folder = Path(name)
        with running_venue(folder, options.seed) as venue:
            live, paper = _lived(folder, venue, options.minutes, options.queue_model)
            writes = venue.writes()
            orders = httpx.get(
                f"{venue.base_url}/orders",
                headers={"X-API-KEY": venue.keys["guest"]},
                trust_env=False,
            ).json()["orders"]
        sent = sum(count for kind, count in live["requests"].items() if kind != "read")
        print(f"venue: {writes} writes, the live bot sent {sent} and one of its start; ")
        print(f"orders on the account of the paper key: {len(orders)}")
        print(f"live: {live['fills']} fills; paper: {paper['fills']}, {paper['requests']}")
        entries = _commands(folder / "state-paper" / "account")
        real = filled_on_paper(entries)
        by_model = {each: played(entries, folder / "state-record", each) for each in QueueModel}
        low, high = by_model[QueueModel.PESSIMISTIC], by_model[QueueModel.OPTIMISTIC]
        outside = {
            each: (low[each], real[each], high[each])
            for each in {*real, *low, *high}
            if not low[each] <= real[each] <= high[each]
        }
        print(f"shares on paper: {real.total()}, in {len(real)} orders")
        for each, filled in by_model.items():
            print(f"the same orders on the recording, {each.name.lower()}: {filled.total()}")
        print(f"orders outside the bounds: {len(outside)}: {outside}")
        print(f"the whole trader on the recording: {_backtested(folder)}")
        within = low.total() <= real.total() <= high.total()
        return 0 if within and writes <= sent + 1 and not orders else 1


if __name__ == "__main__":
    sys.exit(main())
