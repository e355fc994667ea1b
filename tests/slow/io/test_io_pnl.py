"""Claims about `bot pnl`: a journaled run replayed, shadows with it, and what it refuses."""

import json
from pathlib import Path

import msgspec
import pytest

from bot.cli.pnl import profit_text
from bot.config.bot_config import ConfigFault, finish, read_draft
from bot.core import messages as m
from bot.core.report import Against, MarkoutReport, ProfitReport, ProfitRow, Report
from bot.io.journal.records import OPENING, Head, framed
from bot.io.metrics.profits import MILLI, plain_profit, row_cents
from bot.io.metrics.table import profit_parts
from bot.strategy.api import Strategy
from tests.builders.bot.thin import EVENT
from tests.builders.explain.lived import CONFIG, Lived, config
from tests.builders.io.commands import invoke
from tests.builders.io.samples import report
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Qty
from venue.wire.names import OrderId

SHADOW = """\
shadow:
  - name: near
    strategy: fixed_spread
    params:
      half_spread_cents: 1
    latency_ms: 0
"""


def pnl(*words: object):
    return invoke("pnl", *words)


class Filling(Lived):
    """A venue whose trader keeps a journal, and whose list of fills is what a test says."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.fills: list[model.Fill] = []

    def answer(self, request: m.Request) -> m.Answer:
        if isinstance(request, m.ReadFills):
            return m.Ok(m.FillsBody(tuple(reversed(self.fills)), ""))
        return super().answer(request)

    @property
    def bid(self) -> tuple[OrderId, model.Order]:
        return next(
            row_of for row_of in self.orders.items() if row_of[1].outcome is model.ShownOutcome.YES
        )

    def fill(self, qty: int) -> None:
        order_id, order = self.bid
        self.orders[order_id] = msgspec.structs.replace(
            order, remaining_qty=Qty(order.remaining_qty - qty), filled_qty=Qty(qty)
        )
        self.fills.append(
            model.Fill(
                fill_id="f1",
                trade_id="t1",
                order_id=order_id,
                ticker=order.ticker,
                market_id=order.market_id,
                event_ticker=EVENT,
                outcome=order.outcome,
                side=order.side,
                outcome_price=order.price,
                trade_price=order.price,
                qty=Qty(qty),
                fee_cents=Cents(1),
                created_at=instant.from_ns(self.now_ns),
            )
        )


@pytest.fixture(scope="module")
def filled_run(tmp_path_factory) -> Filling:
    """A run with one fill and a minute after it."""
    path = config(tmp_path_factory.mktemp("filled_run"))
    venue = Filling(path)
    venue.begin()
    _, bid = venue.bid
    venue.give(m.Trade(bid.market_id, venue.now_ns, "t1", bid.price, Qty(4), False))
    venue.fill(4)
    venue.run(15, least_ns=NS_PER_SECOND // 10)
    return venue


def test_the_profit_of_a_replayed_run_is_exact_to_the_cent(tmp_path, filled_run):
    state = filled_run.written(tmp_path / "state")
    splits = ["reason", "lean", "flow"]
    words = [word for name in splits for word in ("--by", name)]
    done = pnl(str(config(tmp_path)), "--state-dir", str(state), *words, "--json")
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    profit = filled_run.trader.report(filled_run.now_ns).profit
    assert shown["profit"] == plain_profit(profit, splits)
    assert shown["profit"]["total"]["fills"] == 1
    assert [row["name"] for row in shown["profit"]["by"]["lean"]] == ["neutral"]
    assert [each["name"] for each in shown["profit"]["by"]["reason"]] == ["quote bid"]


def test_a_table_for_a_person_has_a_row_for_each_side(tmp_path, filled_run):
    state = filled_run.written(tmp_path / "state")
    done = pnl(str(config(tmp_path)), "--state-dir", str(state))
    assert done.exit_code == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[1:4]] == ["total", "by", "bid"]


def test_shadows_are_replayed_on_a_run_without_them(tmp_path, filled_run):
    state = filled_run.written(tmp_path / "state")
    path = config(tmp_path, CONFIG + SHADOW)
    assert json.loads(pnl(str(path), "--state-dir", str(state), "--json").stdout)["shadows"] == []
    done = pnl(str(path), "--state-dir", str(state), "--shadow", "--json")
    shadows = json.loads(done.stdout)["shadows"]
    assert [(each["name"], each["bound"]) for each in shadows] == [
        ("near", "pessimistic"),
        ("near", "expected"),
    ]
    assert all(each["decisions"] > 0 for each in shadows)


def test_a_run_is_replayed_with_its_own_configuration(tmp_path, filled_run):
    state = filled_run.written(tmp_path / "state")
    other = config(tmp_path, CONFIG.replace("order_qty: 100", "order_qty: 5"))
    assert pnl(str(other), "--state-dir", str(state)).exit_code == 0


def test_a_run_that_replays_differently_is_refused(tmp_path, filled_run):
    state = filled_run.written(tmp_path / "state")
    sent = [at for at, entry in enumerate(filled_run.entries) if isinstance(entry.message, m.Send)]
    frames = [framed(each) for at, each in enumerate(filled_run.entries) if at != sent[-1]]
    (path,) = state.glob("journal-*")
    path.write_bytes(OPENING + framed(Head(0, ())) + b"".join(frames))
    done = pnl(str(config(tmp_path)), "--state-dir", str(state))
    assert done.exit_code == 3
    assert "takes another course" in done.output


@pytest.mark.parametrize(
    ("from_entry", "said"), [(None, "no journal here"), (100, "no longer kept")]
)
def test_a_run_without_its_beginning_is_refused(tmp_path, filled_run, from_entry, said):
    if from_entry is None:
        state = tmp_path / "state"
        state.mkdir()
    else:
        state = filled_run.written(tmp_path / "state", from_entry=from_entry)
    done = pnl(str(config(tmp_path)), "--state-dir", str(state))
    assert done.exit_code == 3
    assert said in done.output


def test_an_empty_segment_is_reported_as_empty_and_not_as_deleted(tmp_path, filled_run):
    state = filled_run.written(tmp_path / "state")
    (path,) = state.glob("journal-*")
    path.write_bytes(b"")
    done = pnl(str(config(tmp_path)), "--state-dir", str(state))
    assert done.exit_code == 3
    assert f"{path}: holds nothing whole" in done.output


def test_a_bot_that_does_not_answer_ends_pnl_with_3(tmp_path):
    done = pnl(str(config(tmp_path)), "--status", "http://127.0.0.1:9")
    assert done.exit_code == 3
    assert "no bot answers there" in done.output


# --- the section `shadow` -------------------------------------------------------------------------


def test_shadows_are_read_with_their_parameters(tmp_path):
    (candidate,) = finish(read_draft(config(tmp_path, CONFIG + SHADOW))).shadows
    assert (candidate.name, candidate.strategy, candidate.latency_ns) == ("near", "fixed_spread", 0)
    made: Strategy = candidate.make_strategy()
    assert made.params.half_spread_cents == 1
    assert candidate.make_strategy() is not made


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("name: near", "name: Near", "shadow.0.name: 'Near'; accepted: small letters"),
        (
            "    strategy: fixed_spread\n",
            "    strategy: fixed_spred\n",
            "did you mean fixed_spread?",
        ),
        ("    strategy: fixed_spread\n", "", "shadow.0.strategy: missing"),
        ("half_spread_cents: 1", "half_spread_cents: 0", "shadow.0.params.half_spread_cents"),
        ("latency_ms: 0", "latency_ms: 5001", "shadow.0.latency_ms"),
        ("latency_ms: 0", "latency: 0", "did you mean latency_ms?"),
        (SHADOW, SHADOW + SHADOW.partition("\n")[2], "each name once"),
    ],
)
def test_a_fault_of_a_shadow_is_reported_by_its_place(tmp_path, old, new, said):
    head, _, tail = CONFIG.partition("risk:")
    text = head + "risk:" + tail + SHADOW.replace(old, new)
    with pytest.raises(ConfigFault) as caught:
        finish(read_draft(config(tmp_path, text)))
    assert any(said in fault for fault in caught.value.faults), caught.value.faults


# --- figures --------------------------------------------------------------------------------------


def row_of(spread: int, adverse: int, drift: int, fees_cents: int) -> ProfitRow:
    markouts = (MarkoutReport(1, Against.FAIR, 1, 1, 0.5, None),)
    profit = spread + adverse + drift - MILLI * fees_cents
    return ProfitRow("bid", 1, 1, profit, spread, adverse, drift, fees_cents, markouts)


@pytest.mark.parametrize("parts", [(1_499, 1_499, 1_499, 1), (-501, 700, 499, 0), (0, 0, 0, 3)])
def test_the_parts_in_whole_cents_add_up_to_the_profit(parts):
    cents = row_cents(row_of(*parts))
    total = cents["spread_cents"] + cents["adverse_cents"] + cents["drift_cents"]
    assert total - cents["fees_cents"] == cents["profit_cents"]
    assert cents["profit_cents"] == round(row_of(*parts).profit_millicents / MILLI)


@pytest.mark.parametrize("parts", [(1_499, 1_499, 1_499, 1), (-501, 700, 499, 0)])
def test_realised_settled_and_open_in_whole_cents_add_up_to_the_profit_before_fees(parts):
    total = row_of(*parts)
    held = total.profit_millicents + MILLI * total.fees_cents - 2_800
    shown = plain_profit(ProfitReport(total, 1_400, 1_400, held, 0, 0, {}))
    before_fees = shown["total"]["profit_cents"] + shown["total"]["fees_cents"]
    assert shown["realised_cents"] + shown["settled_cents"] + shown["open_cents"] == before_fees
    assert shown["realised_cents"] == shown["settled_cents"] == 1


def test_the_metrics_of_the_parts_add_up_to_the_profit():
    total = row_of(1_250, -700, 300, 2)
    profit = ProfitReport(total, 0, 0, 0, 0, 0, {"rung": (), "side": (total,)})
    shown: Report = msgspec.structs.replace(report(), profit=profit)
    assert sum(value for _, value in profit_parts(shown)) * MILLI == total.profit_millicents


def test_a_mean_in_the_table_is_rounded_once():
    moved = MarkoutReport(60, Against.FAIR, 9, 90, 1.5746, 0.0546)
    row_of = ProfitRow("total", 9, 90, 0, 0, 0, 0, 0, (moved,))
    account = ProfitReport(row_of, 0, 0, 0, 0, 0, {})
    assert "+1.57 ±0.11" in profit_text(plain_profit(account))
    above = msgspec.structs.replace(moved, mean_cents=1.5752, error_cents=0.0561)
    row_of = msgspec.structs.replace(row_of, markouts=(above,))
    account = msgspec.structs.replace(account, total=row_of)
    assert "+1.58 ±0.11" in profit_text(plain_profit(account))
