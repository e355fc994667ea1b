"""`bot explain`: why an order was made, changed or cancelled, from the frame to the token."""

from typing import Annotated, Final

import msgspec
import typer

from bot.cli.common import (
    EXIT_CONFIGURATION,
    EXIT_VENUE,
    exit_on_fault,
    fail,
    read_config,
    stdout_to_stderr,
)
from bot.cli.explain_text import decision_text, life_text, row_text
from bot.cli.options import ConfigPath, Json, StateDir, moment_ns
from bot.cli.progress import announce
from bot.config.strategies import Makers
from bot.io.journal.records import JournalFault
from bot.lab.explain import Decision, Explainer
from bot.lab.order_histories import (
    OrderHistories,
    OrderHistory,
    OrderNotFound,
    OrderRequest,
    read_order_histories,
)
from bot.lab.progress import replay_s
from bot.lab.session import Run
from venue.wire import instant

_ORDER_HELP: Final = "Its id, ours or the venue's, or a unique beginning; without it: a list."
_AT_HELP: Final = "With --rung: 2026-11-21T21:38:43Z, or 90s after the start; else the end."
_LISTED: Final = 40
_NOT_KEPT: Final = (
    "the journal no longer holds the beginning of the run that placed it, so that run cannot be "
    "replayed; state.journal_segments_kept sets how much it holds. `bot plan` explains an order "
    "that rests"
)

_SHORTER: Final = "an order, or with --rung a time, soon after the start of its run"


def explain(
    config: ConfigPath,
    order: Annotated[str | None, typer.Argument(metavar="[ORDER]", help=_ORDER_HELP)] = None,
    every: Annotated[
        bool, typer.Option("--every", help="Every change of it, not only its first and last.")
    ] = False,
    rung: Annotated[
        str, typer.Option(metavar="TICKER", help="Explain this market instead of an order.")
    ] = "",
    at: Annotated[str, typer.Option(metavar="TIME", help=_AT_HELP)] = "",
    state_dir: StateDir = None,
    json_line: Json = False,
) -> None:
    """Replays the run of the order. For each change: the frame and the book, the fair value, the
    skew of the inventory, what the limits trimmed, the plan with its reason, and the token. The run
    may be finished or not; the journal is only read. Without ORDER, its newest orders are listed.

    Ends with 2 for an unknown or ambiguous order; with 3 if there is no journal, or if the run
    cannot be replayed: then what the journal itself says is printed.

    Example: bot explain configs/demo.yaml --rung 206.25B
    """
    if rung and order is not None:
        fail(EXIT_CONFIGURATION, "ORDER and --rung: one of them")
    if at and not rung:
        fail(EXIT_CONFIGURATION, "--at is for --rung")
    with exit_on_fault():
        draft = read_config(config)
        histories = read_order_histories(state_dir or draft.state.directory)
        for damage in histories.damage:
            typer.echo(f"warning: {damage}", err=True)
        makers = Makers(config.parent)
        if rung:
            _explain_rung(histories, makers, rung, at, json_line=json_line)
        elif order is None:
            _list_orders(histories, json_line=json_line)
        else:
            try:
                life = histories.find(order)
            except OrderNotFound as fault:
                fail(EXIT_CONFIGURATION, str(fault))
            _explain_order(histories, makers, life, every=every, json_line=json_line)


def _explain_order(
    histories: OrderHistories, makers: Makers, life: OrderHistory, *, every: bool, json_line: bool
) -> None:
    choices = [deed for deed in life.deeds if deed.is_choice]
    if not every and len(choices) > 2:
        choices = [choices[0], choices[-1]]
    found: list[tuple[OrderRequest, Decision]] = []
    faults: list[str] = []
    for run in histories.runs:
        mine = [deed for deed in choices if deed.run == run.started.boot_nonce]
        if mine:
            announce(replay_s(run.paths), _SHORTER)
            try:
                with stdout_to_stderr():
                    found.extend(Explainer(run, makers).of_deeds(life, mine))
            except JournalFault as fault:
                faults.append(str(fault))
    if not choices or any(not deed.run for deed in choices):
        faults.append(_NOT_KEPT)
    if json_line:
        rows = [{"deed": deed, "decision": decision} for deed, decision in found]
        line = {"order": life, "decisions": rows, "faults": faults}
        typer.echo(msgspec.json.encode(line).decode())
    else:
        texts = [decision_text(decision, deed, life) for deed, decision in found]
        typer.echo("\n\n".join([life_text(life), *texts]))
    if faults:
        fail(EXIT_VENUE, "\n".join(faults))


def _explain_rung(
    histories: OrderHistories, makers: Makers, ticker: str, at: str, *, json_line: bool
) -> None:
    run, at_ns = _moment(histories, at)
    announce(replay_s(run.paths), _SHORTER)
    with stdout_to_stderr():
        explainer = Explainer(run, makers)
        decision = explainer.of_rung(ticker, at_ns)
    if decision is None:
        known = ", ".join(explainer.tickers) or "none yet at that time"
        fail(EXIT_CONFIGURATION, f"--rung {ticker}: no one market of that name; there are {known}")
    typer.echo(msgspec.json.encode(decision).decode() if json_line else decision_text(decision))


def _moment(histories: OrderHistories, at: str) -> tuple[Run, int]:
    if not histories.runs:
        fail(EXIT_VENUE, _NOT_KEPT)
    newest = histories.runs[-1]
    if not at:
        return newest, 2**63 - 1
    at_ns = moment_ns("--at", at, lambda ns: newest.begun_ns + ns, "90s")
    for run in reversed(histories.runs):
        if run.begun_ns <= at_ns:
            return run, at_ns
    began = instant.from_ns(histories.runs[0].begun_ns)
    fail(EXIT_CONFIGURATION, f"--at {at}: the journal begins at {began}")


def _list_orders(histories: OrderHistories, *, json_line: bool) -> None:
    newest = [
        (life, histories.tickers.get(life.market_id, "(rung not listed)"))
        for life in histories.orders[-_LISTED:]
    ]
    if json_line:
        rows = [{**msgspec.structs.asdict(life), "ticker": ticker} for life, ticker in newest]
        typer.echo(msgspec.json.encode(rows).decode())
        return
    if not newest:
        typer.echo("no order in the journal")
    for life, ticker in newest:
        typer.echo(row_text(life, ticker))
    if len(histories.orders) > len(newest):
        typer.echo(f"the newest {len(newest)} of {len(histories.orders)} orders", err=True)
