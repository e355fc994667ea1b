"""Which files, functions and classes of the bot three journeys meet: `python -m tests.journeys`.

A book frame that becomes one amend, a page of fills into the books, and a pause that cancels all,
each on the thin venue with twelve markets. Prints the table of docs/architecture.md.
"""

import inspect
import os
import sys
from pathlib import Path
from types import FrameType

import msgspec

from bot.core import messages as m
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import EVENT, Thin
from venue.wire import instant, model
from venue.wire.money import Cents, Price, Qty

BOT = str(Path(__file__).parents[1] / "bot") + os.sep
MARKETS = 12
MOVED = 5
COLUMNS = ("journey", "files", "functions", "classes")


class Trace:
    """Calls of functions of the bot, while it is switched on."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.files: list[str] = []
        self.classes: set[str] = set()

    def __enter__(self) -> "Trace":
        sys.setprofile(self._on_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _on_call(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(BOT):
            return
        if code.co_flags & inspect.CO_GENERATOR or "<" in code.co_name:
            return  # a comprehension is part of the function around it
        path = code.co_filename.removeprefix(BOT)
        if path not in self.files:
            self.files.append(path)
        self.functions.add((path, code.co_qualname))
        owner = type(frame.f_locals.get("self")).__name__
        if code.co_qualname.startswith(f"{owner}."):
            self.classes.add(owner)

    @property
    def figures(self) -> tuple[int, int, int]:
        """Files, functions, classes."""
        return len(self.files), len(self.functions), len(self.classes)


class FillingVenue(Thin):
    """A thin venue that shows one fill once it is asked to, and traces what that page meets."""

    def __init__(self) -> None:
        super().__init__([80 - 5 * index for index in range(MARKETS)], _strategy)
        self.fill: model.Fill | None = None
        self.trace: Trace | None = None

    def ask(self, send: m.Send) -> None:
        """A request leaves; the page of fills is given to the trader under the trace."""
        if self.fill is None or self.trace is not None or not isinstance(send.request, m.ReadFills):
            super().ask(send)
            return
        self.trace = Trace()
        body = m.FillsBody((self.fill,), "")
        with self.trace:
            self.trader.receive(m.Response(send.request_id, m.Ok(body), 500), self.now_ns)


def _strategy() -> FixedSpread:
    return FixedSpread(FixedSpread.Params())


def frame_to_amend() -> Trace:
    """A frame whose book has moved by a cent, and the tick after it."""
    venue = FillingVenue()
    venue.start()
    venue.run(30)
    venue.give(m.Tick())  # for the answers to the reads before
    venue.mids[MOVED] += 1
    frame = venue.book(MOVED)
    with Trace() as trace:
        venue.trader.receive(frame, venue.now_ns)
        effects = venue.trader.receive(m.Tick(), venue.now_ns)
    sent = [each.request for each in effects if isinstance(each, m.Send)]
    assert any(isinstance(each, m.AmendResting) for each in sent), sent
    return trace


def fills_into_books() -> Trace:
    """A page that shows one fill of an order of ours."""
    venue = FillingVenue()
    venue.start()
    venue.run(30)
    order = next(iter(venue.orders.values()))
    venue.orders[order.order_id] = msgspec.structs.replace(
        order, filled_qty=Qty(1), remaining_qty=Qty(order.remaining_qty - 1)
    )
    yes_price = order.price if order.outcome is model.ShownOutcome.YES else 100 - order.price
    venue.fill = model.Fill(
        fill_id="f1",
        trade_id="t1",
        order_id=order.order_id,
        ticker=order.ticker,
        market_id=order.market_id,
        event_ticker=EVENT,
        outcome=order.outcome,
        side=order.side,
        outcome_price=order.price,
        trade_price=Price(yes_price),
        qty=Qty(1),
        fee_cents=Cents(1),
        created_at=instant.from_ns(venue.now_ns),
    )
    venue.run(20)
    assert venue.trace is not None
    assert any(venue.trader.ledgers.holdings(order.market_id))
    return venue.trace


def pause_to_cancels() -> Trace:
    """An operator's pause, up to the cancels in the effects."""
    venue = FillingVenue()
    venue.start()
    venue.run(30)
    with Trace() as trace:
        effects = venue.trader.receive(m.PauseRequested("journeys"), venue.now_ns)
    sent = [each.request for each in effects if isinstance(each, m.Send)]
    assert any(isinstance(each, m.CancelResting) for each in sent), sent
    return trace


JOURNEYS = {
    "a book frame to one amend": frame_to_amend,
    "a page of fills into the books": fills_into_books,
    "a pause to the cancels": pause_to_cancels,
}


def table() -> str:
    """The figures as a table of Markdown."""
    rows = [COLUMNS, ("---", "---:", "---:", "---:")]
    rows += [(name, *map(str, walk().figures)) for name, walk in JOURNEYS.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    """Print the table, and with `--files` the files of each journey in the order of their calls."""
    print(table())
    if "--files" in sys.argv:
        for name, walk in JOURNEYS.items():
            print(f"\n{name}:\n  " + "\n  ".join(walk().files))


if __name__ == "__main__":
    main()
