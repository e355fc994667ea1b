"""Claims about how a fair curve is judged on recorded ladders, and what it comes to on ours."""

import gzip
import json
import warnings
from pathlib import Path

import pytest

from bot.lab.calibrate import Forecast, calibrate, reliability, scores
from tests.builders.backtest.made import book
from tests.builders.backtest.made import written as written_of
from tests.builders.io.commands import invoke
from tests.builders.scale import cases
from venue.wire.instant import NS_PER_SECOND

RECORDED = Path(__file__).parents[4] / "shared" / "data"
SURVIVAL = RECORDED / "kxinxu-2026-01"
START_NS = 1_800_000_000 * NS_PER_SECOND


def forecast(event, fair, last, mid, won):
    return Forecast(event, (fair, last, mid), won)


def written(folder, lines, outcomes):
    rungs = [{"ticker": f"E-{k}", "strike": k, "outcome": o} for k, o in outcomes.items()]
    catalog = {
        "tape": folder.name,
        "strike_unit": "points",
        "events": [{"event_ticker": "E-1", "rungs": rungs}],
    }
    (folder / "catalog.json").write_text(json.dumps(catalog))
    with gzip.open(folder / "tape.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return folder


def trade(second, strike, price, taker="yes"):
    return {
        "ts": START_NS + second * NS_PER_SECOND,
        "ticker": f"E-{strike}",
        "type": "trade",
        "price": price,
        "qty": 10,
        "taker_outcome": taker,
    }


# --- scoring --------------------------------------------------------------------------------------


def test_a_brier_score_is_the_mean_squared_error_of_the_chance():
    fair, last, mid = scores([forecast(0, 0.8, 0.5, 0.0, True), forecast(0, 0.4, 0.5, 0.0, False)])
    assert fair.brier == pytest.approx((0.04 + 0.16) / 2)
    assert last.brier == pytest.approx(0.25)
    assert mid.brier == pytest.approx(0.5)
    assert last.worse_by == pytest.approx(0.25 - 0.1)


@pytest.mark.parametrize(("events", "is_told"), [(1, False), (4, False), (5, True)])
def test_a_score_has_an_interval_only_from_five_events_on(events, is_told):
    every = [forecast(event, 0.8, 0.5 + event / 50, 0.5, True) for event in range(events)]
    _, last, _ = scores(every * 10)
    assert (last.low is not None, last.high is not None) == (is_told, is_told)
    assert not is_told or last.low < last.worse_by < last.high


def test_a_reliability_table_counts_each_forecast_in_its_tenth():
    rows = reliability([0.0, 0.05, 0.95, 1.0], [0.0, 1.0, 1.0, 1.0])
    assert [(row.low, row.count, row.came) for row in rows] == [(0.0, 2, 0.5), (0.9, 2, 1.0)]
    assert rows[0].mean == pytest.approx(0.025)


# --- a tape ---------------------------------------------------------------------------------------


def test_a_forecast_uses_only_records_before_its_time(tmp_path):
    lines = [
        trade(0, 100, 70),
        trade(1, 110, 40),
        trade(2, 100, 68, "no"),
        trade(3, 110, 38, "no"),
        trade(1_000, 100, 99),
    ]
    tape = written(tmp_path, lines, {"100": "yes", "110": "no"})
    found = calibrate(tape, 100.0)
    assert found.events == 1
    # Nine instants before the last trade, two rungs each; that trade is forecast as well.
    assert found.forecasts == 18
    last = found.scores[1]
    assert last.brier == pytest.approx((0.32**2 + 0.38**2) / 2)
    (row,) = [row for row in found.next_prints if row.way == "last trade"]
    assert (row.count, row.rms_cents) == (1, pytest.approx(31.0))


def test_calibration_reports_progress_every_thousand_records(tmp_path):
    lines = [trade(second, 100 + second % 2 * 10, 50) for second in range(2_500)]
    lines += [trade(2_500 + second, 100 + second % 2 * 10, 49, "no") for second in range(4)]
    told: list[int] = []
    calibrate(written(tmp_path, lines, {"100": "yes", "110": "no"}), 500.0, progress=told.append)
    assert told == [1_000, 2_000]


def test_an_event_without_forecasts_is_not_counted(tmp_path):
    lines = [
        trade(30 * at, strike, price + at % 2, ("yes", "no")[at % 2])
        for at in range(16)
        for strike, price in (("90", 60), ("110", 40))
    ]
    silent = [trade(100_000 * at, f"silent-{at}", 50) for at in range(1, 6)]
    folder = written(tmp_path, [*lines, *silent], {"90": "yes", "110": "no"})
    catalog = json.loads((folder / "catalog.json").read_text())
    for at in range(1, 6):
        rungs = [
            {"ticker": f"E-silent-{at}", "strike": "90", "outcome": "yes"},
            {"ticker": f"E-never-{at}", "strike": "110", "outcome": "no"},
        ]
        catalog["events"].append({"event_ticker": f"E-{at + 1}", "rungs": rungs})
    (folder / "catalog.json").write_text(json.dumps(catalog))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = calibrate(folder)
    assert found.events == 1
    assert [score.low for score in found.scores] == [None, None, None]


def test_a_rung_traded_on_one_side_only_is_not_forecast(tmp_path):
    lines = [trade(0, 100, 70), trade(500, 100, 70)]
    with pytest.raises(ValueError, match="nothing could be forecast"):
        calibrate(written(tmp_path, lines, {"100": "yes", "110": "no"}))


def test_a_tape_of_best_prices_has_no_last_trade_score(tmp_path):
    lines = [
        {"ts": START_NS + second * NS_PER_SECOND, "ticker": f"E-{floor}", "type": "top",
         "yes_bid": bid, "yes_ask": bid + 2, "yes_bid_size": None, "yes_ask_size": None}
        for second in (0, 300) for floor, bid in ((100, 20), (110, 40), (120, 20), (130, 14))
    ]  # fmt: skip
    folder = written(tmp_path, lines, {"100": "no", "110": "yes", "120": "no", "130": "no"})
    assert [score.way for score in calibrate(folder).scores] == ["fair curve", "raw mid"]


def test_calibrate_rejects_a_folder_without_a_tape(tmp_path):
    done = invoke("calibrate", tmp_path)
    assert done.exit_code == 2
    assert "catalog.json" in done.output


@pytest.mark.parametrize("seconds", ["inf", "nan", "0"])
def test_calibrate_rejects_an_impossible_forecast_interval(tmp_path, seconds):
    done = invoke("calibrate", tmp_path, "--every", seconds)
    assert done.exit_code == 2
    assert "--every" in done.output


def test_the_fair_curve_depends_on_the_time_to_resolution(tmp_path):
    # Nothing has moved yet, so how fast values move is told by the time left: an old price at 60
    # counts for more against a fresh one at 20 where a year is left than where an hour is.
    lines = [trade(0, 100, 60), trade(1, 100, 58, "no"), trade(2, 110, 60), trade(3, 110, 58, "no")]
    lines += [trade(1_700, 110, 20), trade(1_701, 110, 18, "no"), trade(1_800, 110, 20)]
    folder = written(tmp_path, lines, {"100": "yes", "110": "no"})
    soon = calibrate(folder, 850.0)
    path = folder / "catalog.json"
    catalog = json.loads(path.read_text())
    catalog["events"][0]["resolution_ns"] = START_NS + 365 * 86_400 * NS_PER_SECOND
    path.write_text(json.dumps(catalog))
    late = calibrate(folder, 850.0)
    assert soon.scores[1].brier == late.scores[1].brier
    assert soon.scores[0].brier != late.scores[0].brier


# --- what was recorded ----------------------------------------------------------------------------


@pytest.mark.skipif(not SURVIVAL.exists(), reason="the recorded survival ladders are not here")
def test_on_recorded_ladders_the_fair_curve_is_no_worse_than_last_trade_and_mid():
    events = cases(20, quick=3)
    found = calibrate(SURVIVAL, cases(60, quick=600), events_max=events)
    assert found.events == events
    fair, last, mid = found.scores
    assert fair.brier <= min(last.brier, mid.brier) + 0.005
    if events == 20:
        for row in fair.bins:
            assert row.came == pytest.approx(row.mean, abs=0.12)


def test_calibrate_rejects_a_tape_of_full_books(tmp_path):
    lines = [book(second, [[40, 30]], [[60, 30]]) for second in range(4)]
    done = invoke("calibrate", written_of(tmp_path / "tape", lines))
    assert done.exit_code == 2
    assert "`bot backtest` plays it" in done.output
