"""Small tapes made by hand, and a venue that plays them."""

import gzip
import json

from bot.core import messages as m
from bot.lab.exchange.assumptions import Latency, Terms
from bot.lab.exchange.exchange import buy_order
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.recorded import RecordedMarket
from venue.crowd.tape import closes_ns, read_tape
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Outcome
from venue.wire.requests import Amend, TimeInForce

START_NS = 1_800_000_000 * NS_PER_SECOND
PROMPT = Terms(latency=Latency(2 * NS_PER_MS), feed_ns=NS_PER_MS, read_lag_ns=NS_PER_MS)

CONFIG = """
series: KX
venue:
  embedded: venue.yaml
strategy:
  name: {strategy}
risk:
  event_loss_cents: 90000
  series_loss_cents: 90000
  rung_position_qty: 500
  order_qty: 500
jump_guard:
  print_qty: 0
  jump_cents: 0
wind_down:
  halve_ms: 0
  reduce_ms: 0
"""


def ns(second):
    return START_NS + round(second * NS_PER_SECOND)


def book(second, bids, asks):
    """A whole book: bids of YES and asks of YES as (price, size), best first."""
    no = [[100 - price, size] for price, size in asks]
    return {"ts": ns(second), "ticker": "KX-1-A", "type": "book", "yes": bids, "no": no}


def trade(second, price, qty, taker):
    """A print; taker: what it bought."""
    row = {"ts": ns(second), "ticker": "KX-1-A", "type": "trade"}
    return row | {"price": price, "qty": qty, "taker_outcome": taker}


def top(second, strike, bid, ask):
    row = {"ts": ns(second), "ticker": f"KX-1-{strike}", "type": "top"}
    return row | {"yes_bid": bid, "yes_ask": ask}


def written(folder, records, outcome="yes", rungs=None):
    """A tape in a folder, which it gives back: of one rung that ends so, or of brackets with these
    strikes and ends."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"ticker": "KX-1-A", "strike": "50", "outcome": outcome}]
    if rungs is not None:
        rows = [{"ticker": f"KX-1-{k}", "strike": k, "outcome": v} for k, v in rungs.items()]
    event = {"event_ticker": "KX-1", "rungs": rows}
    catalog = {"tape": folder.name, "strike_unit": "points", "events": [event]}
    (folder / "catalog.json").write_text(json.dumps(catalog))
    with gzip.open(folder / "tape.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return folder


def configured(folder, strategy):
    path = folder / "bot.yaml"
    path.write_text(CONFIG.format(strategy=strategy))
    return path


class Counter:
    """An exchange that plays a tape up to where it is told, and one customer at its counter."""

    def __init__(self, folder, bound=QueueModel.PESSIMISTIC, terms=PROMPT):
        tape = read_tape(folder)
        self.began_ns = tape.start_ts
        self._times = [record.ts for record in tape.records]
        self._played = 0
        self.venue = RecordedMarket(tape, terms, bound, closes_ns(tape), START_NS - NS_PER_SECOND)
        self.market = tape.rungs[0].market_id
        self._made = 0

    def play(self, until):
        """Everything up to a second, that itself included."""
        while self._played < len(self._times) and self._times[self._played] <= ns(until):
            self.venue.play(self._played)
            self._played += 1

    def ask(self, request, at, key=m.Key.TRADE):
        self._made += 1
        send = m.Send(m.RequestId(self._made), request, "asked for", key)
        return self.venue.exchange.answer_request(send, ns(at))

    def buys(self, price, qty, at, outcome=Outcome.YES, tif=TimeInForce.GTC):
        order = buy_order(self.market, outcome, price, qty, tif, f"o{self._made}")
        answer, *_ = self.ask(m.Create(order, False), at)
        return answer.body.order

    def amends(self, order, at, price=None, qty=None):
        amended = m.AmendResting(order.order_id, Amend(price, qty))
        return self.ask(amended, at)[0].body.order

    @property
    def fills(self):
        """(price, shares, fee) of every fill of ours."""
        return [(each.outcome_price, each.qty, each.fee_cents) for each in self.venue.account.fills]

    @property
    def shown(self):
        seen = self.venue.exchange.book_update(self.market, ns(0))
        return [[tuple(row) for row in side] for side in (seen.bids, seen.asks)]
