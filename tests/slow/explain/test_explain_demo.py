"""Claims about a demo run: its orders explained and planned, against the journal read by hand.

One run on the embedded venue, asked things while it goes on; then its journal is read twice, by the
program and by `tests.builders.explain.raw`, and what the two say is compared.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.builders.explain import leaning, raw
from tests.builders.explain.raw import Row
from tests.builders.io.commands import invoke, json_of
from venue.wire import instant

pytestmark = pytest.mark.xdist_group("explain_demo")
ROOT = Path(__file__).resolve().parents[3]
CONFIG = """\
series: AURELIA-VAL
venue: {{embedded: {root}/configs/venue.yaml}}
strategy: {{name: "./leaning.py:Leaning"}}
risk:
  event_loss_cents: 20000
  series_loss_cents: 40000
  rung_position_qty: 60
  order_qty: 6
jump_guard: {{print_qty: 0, pull_ms: 500}}
status: {{port: 0, control: true}}
state: {{dir: {state}}}
"""
PATIENCE_S = 40
ASKED = "a claim asks"


class Demo:
    """A run that is over: where it stands, what it said while it ran, and its journal."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "demo.yaml"
        self.state = folder / "state"
        self.log = folder / "bot.log"
        text = CONFIG.format(root=ROOT, state=self.state)
        self.config.write_text(text)
        (folder / "leaning.py").write_text(Path(leaning.__file__).read_text())
        self.pictures: list[dict[str, Any]] = []
        self.plan: dict[str, Any] = {}
        self.said: dict[str, Any] = {}
        self.rows: list[Row] = []

    def live(self) -> None:
        command = [sys.executable, "-m", "bot", "run", str(self.config), "--json", "--seed", "5"]
        with (
            self.log.open("w") as log,
            subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True
            ) as process,
        ):
            try:
                self._ask(self._page())
            finally:
                process.terminate()
                out, _ = process.communicate(timeout=PATIENCE_S)
            self.said["ended"] = (process.returncode, json.loads(out.splitlines()[-1]))
        self.said["gone"] = invoke("status", self.config, "--status", "http://127.0.0.1:9")
        self.rows = raw.rows(self.state)

    def _page(self) -> str:
        """Where the page is, which the run says first."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            for line in self.log.read_text().splitlines():
                if line.startswith("status page: "):
                    return line.removeprefix("status page: ").rstrip("/")
            time.sleep(0.1)
        raise AssertionError(self.log.read_text())

    def _ask(self, page: str) -> None:
        until = time.monotonic() + PATIENCE_S
        with httpx.Client(base_url=page, trust_env=False) as client:
            while not self._has_traded():
                assert time.monotonic() < until
                self.pictures.append(client.get("/status.json").json())
                time.sleep(0.2)
            self.pictures.append(client.get("/status.json").json())
            self.plan = client.get("/plan.json").json()
        for name in ("status", "plan", "pause", "pause", "resume", "flatten", "cancel-all"):
            key = f"{name} again" if name in self.said else name
            more = [] if name in ("status", "plan") else ["--reason", ASKED]
            self.said[key] = invoke(name, self.config, "--status", page, *more)

    def _has_traded(self) -> bool:
        if not self.pictures:
            return False
        report = self.pictures[-1]["report"]
        return report is not None and report["counters"]["fills"] > 1

    def explained(self, client_order_id: str, *more: str) -> dict[str, Any]:
        return json_of("explain", self.config, client_order_id, *more)

    def creates(self) -> list[Row]:
        return [row for row in raw.sends(self.rows) if row.said["request"]["type"] == "Create"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Demo:
    run = Demo(tmp_path_factory.mktemp("explain"))
    run.live()
    return run


@pytest.fixture(scope="module")
def explained_orders(demo) -> list[dict[str, Any]]:
    """The first order, one in the middle, one that was amended, the last, and the last one made on
    a rung of which something was held."""
    # On a busy machine the end may come before the answer to the last create.
    creates = [
        row
        for row in demo.creates()
        if (answer := raw.answer_to(demo.rows, row)) is not None
        and "order" in answer.said["answer"].get("body", {})
    ]
    amended = {
        row.said["request"]["order_id"]
        for row in raw.sends(demo.rows)
        if row.said["request"]["type"] == "AmendResting"
    }
    moved = next(
        row
        for row in creates
        if (answer := raw.answer_to(demo.rows, row)) is not None
        and answer.said["answer"].get("body", {}).get("order", {}).get("order_id") in amended
    )
    chosen = [
        creates[0],
        creates[len(creates) // 2],
        moved,
        creates[-1],
        last_with_shares(demo, creates),
    ]
    names = dict.fromkeys(row.said["request"]["order"]["client_order_id"] for row in chosen)
    return [demo.explained(name, "--every") for name in names]


def last_with_shares(demo: Demo, creates: list[Row]) -> Row:
    """The last of these on a market whose net position, by the fills shown before it, was not 0."""
    net: dict[str, int] = {}
    seen: set[str] = set()
    found = None
    for row in demo.rows:
        if row.kind == "Response":
            for fill in row.said["answer"].get("body", {}).get("fills", []):
                if fill["fill_id"] not in seen:
                    seen.add(fill["fill_id"])
                    longer = raw.side(fill["outcome"], fill["side"]) == "bid"
                    market = fill["market_id"]
                    net[market] = net.get(market, 0) + (fill["qty"] if longer else -fill["qty"])
        elif row in creates:
            held = net.get(row.said["request"]["order"]["market_id"])
            found = row if held else found
    assert found is not None, "nothing was quoted where something was held"
    return found


def pairs(explained_orders: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [
        (each["deed"], each["decision"])
        for order in explained_orders
        for each in order["decisions"]
    ]


def test_every_order_is_explained_by_frame_curve_skew_limits_and_token(explained_orders):
    for order in explained_orders:
        made = order["decisions"][0]
        assert made["deed"]["kind"] == "create"
        decision = made["decision"]
        # An empty book is one to quote on too, so it is the place that tells the frame.
        assert decision["frame"]["place"]["entry"] > 0
        assert {"bids", "asks"} <= set(decision["frame"])
        assert 0 < decision["curve"]["value_cents"] < 100
        assert decision["curve"]["variance"] == pytest.approx(decision["curve"]["sd_cents"] ** 2)
        assert decision["leans"]
        assert decision["limits"]["rooms"]
        assert decision["choice"]["kind"] == "create"
        assert decision["token"]["before"] > 0


def test_the_explained_request_is_the_one_in_the_journal(demo, explained_orders):
    for order in explained_orders:
        name = order["order"]["client_order_id"]
        create = raw.create_of(demo.rows, name)
        first = order["decisions"][0]["deed"]
        sent = create.said["request"]["order"]
        assert first["request_id"] == create.said["request_id"]
        assert (first["why"], first["at_ns"]) == (create.said["why"], create.at_ns)
        assert order["order"]["side"] == raw.side(sent["outcome"], sent["side"])
        assert order["order"]["price"] == raw.canonical(sent["outcome"], sent["price"])
        assert order["order"]["qty"] == sent["qty"]
        later = raw.about(demo.rows, order["order"]["order_ids"][0])
        told_ids = [each["deed"]["request_id"] for each in order["decisions"][1:]]
        assert told_ids == [row.said["request_id"] for row in later]


def test_the_explained_frame_is_the_newest_one_at_the_decision(demo, explained_orders):
    for _, decision in pairs(explained_orders):
        market = next(
            row.said["market_id"]
            for row in demo.rows
            if (row.segment, row.number)
            == (decision["frame"]["place"]["segment"], decision["frame"]["place"]["entry"])
        )
        beat = next(
            at
            for at, row in enumerate(demo.rows)
            if row.kind == "Tick" and row.at_ns == decision["decided_ns"]
        )
        before = [
            row
            for row in demo.rows[:beat]
            if row.kind == "BookUpdate" and row.said["market_id"] == market
        ]
        newest = max(before, key=lambda row: (row.said["ts_ns"], row.number))
        frame = decision["frame"]
        assert frame["place"] == {"segment": newest.segment, "entry": newest.number}
        assert (frame["ts_ns"], frame["at_ns"]) == (newest.said["ts_ns"], newest.at_ns)
        assert (frame["bids"], frame["asks"]) == (newest.said["bids"], newest.said["asks"])


def test_the_explained_fair_value_is_the_one_the_running_bot_showed(demo):
    pictures = [each["report"] for each in demo.pictures if each["report"]]
    quoting = [each for each in pictures if each["phase"] == "quoting"]
    for report in (quoting[0], quoting[-1]):
        rung = report["events"][0]["rungs"][3]
        at = instant.from_ns(report["now_ns"])
        decision = json_of("explain", demo.config, "--rung", rung["ticker"], "--at", at)
        assert decision["curve"]["value_cents"] == rung["fair_cents"]
        assert decision["curve"]["sd_cents"] == rung["fair_sd_cents"]


def test_the_explained_skew_follows_the_rule_of_the_strategy(explained_orders):
    skews = []
    for _, decision in pairs(explained_orders):
        seen = decision["seen"]
        if not decision["asked"] or seen is None:
            continue
        fair = decision["curve"]["value_cents"]
        touch = [levels[0][0] if levels else None for levels in (seen["bids"], seen["asks"])]
        net = seen["yes_qty"] - seen["no_qty"]
        held, free = leaning.prices(fair, net, *touch), leaning.prices(fair, 0, *touch)
        for lean in decision["leans"]:
            at = 0 if lean["side"] == "bid" else 1
            assert lean["free_price"] == free[at]
            assert lean["price"] == max(held[at], held[0] + at)
            assert lean["cents"] == lean["price"] - lean["free_price"]
            skews.append(lean["cents"])
    assert any(skews), "no quote leant"


def test_the_explained_trims_are_what_the_strategy_wanted_beyond_the_limits(demo, explained_orders):
    """It asks for eight shares a quote, and one order may have six."""
    made = [order["decisions"][0]["decision"] for order in explained_orders]
    free = [decision for decision in made if not decision["restricted"]]
    assert len(free) >= 2
    for decision in free:
        assert {quote["qty"] for quote in decision["answered"]} == {8}
        assert {(cut["wanted"], cut["allowed"], cut["reason"]) for cut in decision["cuts"]} == {
            (8, 6, "order_qty")
        }
        limits = decision["limits"]
        assert limits["sent_qty"] <= limits["wished_qty"] <= 6
        assert limits["sent_qty"] <= limits["rooms"][0]["qty"]
        used = {each["name"]: each["limit"] for each in limits["used"]}
        assert used["event_loss_cents"] <= 20_000


def test_the_explained_token_agrees_with_a_count_of_the_journal(demo, explained_orders):
    sent = {row.said["request_id"]: row for row in raw.sends(demo.rows)}
    began_ns = demo.rows[0].at_ns
    for deed, decision in pairs(explained_orders):
        row = sent[deed["request_id"]]
        counted = raw.bucket_before(demo.rows, row, 200, 400, began_ns)
        assert decision["token"]["before"] == counted
        alike = [each for each in raw.sends(demo.rows) if each.at_ns == row.at_ns]
        assert decision["token"]["of"] == len(alike)
        assert alike[decision["token"]["nth"] - 1] is row


def test_the_plan_of_the_running_bot_agrees_with_its_journal(demo):
    now_ns = demo.plan["now_ns"]
    before = [row for row in demo.rows if row.at_ns <= now_ns]
    kept = 0
    for event in demo.plan["events"]:
        for rung in event["rungs"]:
            frame = next(
                row
                for row in before
                if row.kind == "BookUpdate"
                and row.said["market_id"] == rung["market_id"]
                and row.said["ts_ns"] == rung["frame_ns"]
            )
            assert frame.said["bids"][:3] == rung["bids"]
            assert frame.said["asks"][:3] == rung["asks"]
            for each in rung["intentions"]:
                if each["act"] != "keep":
                    continue
                create = raw.create_of(before, each["client_order_id"])
                writes = [create, *raw.about(before, each["order_id"])]
                assert each["why"] == writes[-1].said["why"]
                answers = [raw.answer_to(before, write) for write in writes]
                shown = answers[-1].said["answer"]["body"]["order"]
                assert each["price"] == raw.canonical(shown["outcome"], shown["price"])
                kept += 1
    assert kept > 10
    assert demo.plan["tokens"] <= 400


def test_the_plan_shows_frame_curve_skew_limits_and_token_to_a_person(demo):
    text = demo.said["plan"].stdout
    assert "tokens, 60 kept for cancels" in text
    assert "frame bids" in text
    assert "variance" in text
    assert "skew" in text
    assert "limits: event_loss_cents" in text


def test_the_explanation_shows_frame_curve_skew_limits_and_token_to_a_person(
    demo, explained_orders
):
    done = invoke("explain", demo.config, explained_orders[0]["order"]["client_order_id"])
    assert done.exit_code == 0, done.output
    for word in ("frame ", "curve ", "skew ", "limit ", "reconcile ", "token "):
        assert f"\n  {word}" in done.stdout
    assert "variance" in done.stdout


def test_orders_are_listed_and_found_by_the_prefix_of_either_id(demo, explained_orders):
    name, number = (
        explained_orders[0]["order"]["client_order_id"],
        explained_orders[0]["order"]["order_ids"][0],
    )
    rows = json_of("explain", demo.config)
    assert rows[-1]["client_order_id"] == demo.creates()[-1].said["request"]["order"][
        "client_order_id"
    ]  # fmt: skip
    assert demo.explained(number[:-1])["order"]["client_order_id"] == name
    several = invoke("explain", demo.config, name.partition("-")[0])
    assert several.exit_code == 2
    assert "begins the ids of" in several.stderr


def test_commands_to_the_bot_are_in_the_journal_with_their_reasons(demo):
    asked = [
        (row.kind, row.said["reason"])
        for row in demo.rows
        if row.kind in ("PauseRequested", "ResumeRequested", "FlattenRequested")
    ]
    assert asked == [
        ("PauseRequested", ASKED),
        ("ResumeRequested", ASKED),
        ("FlattenRequested", ASKED),
        ("PauseRequested", f"cancel all: {ASKED}"),
    ]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("status", 0),
        ("plan", 0),
        ("pause", 0),
        ("pause again", 4),
        ("resume", 0),
        ("flatten", 0),
        ("cancel-all", 0),
        ("gone", 3),
    ],
)
def test_commands_end_with_the_documented_codes(demo, name, code):
    done = demo.said[name]
    assert done.exit_code == code, done.output


def test_a_second_pause_is_refused_with_the_reason_and_the_run_ends_flat_of_orders(demo):
    assert "paused already" in demo.said["pause again"].stderr
    code, summary = demo.said["ended"]
    assert code == 0, summary
    assert summary["resting_after"] == 0
