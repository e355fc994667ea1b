"""Claims about exported tables: the same in both kinds of file, typed, whole, and no formulas."""

import csv
import json
import sys
from unittest import mock

import pytest
from typer.testing import CliRunner

from bench.simulated_journals import STRATEGY_FAULTS
from bot.cli.main import app
from bot.lab.export import COLUMNS, opened
from bot.lab.sim.scenario import draw, narrowed
from tests.builders.replay.recorded import recorded
from venue.wire.instant import NS_PER_SECOND

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.xdist_group("record")


LEVELS = frozenset(("bids", "asks", "own_bids", "own_asks"))


def export(*arguments):
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """One journal as both kinds of file."""
    folder = tmp_path_factory.mktemp("tables")
    odds = narrowed(draw(17, "calm"), without=STRATEGY_FAULTS, until_ns=4 * NS_PER_SECOND)
    recorded(odds, folder / "state")
    done = export(folder / "state", "--csv", folder / "csv", "--parquet", folder / "parquet",
                  "--json")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    return folder, json.loads(done.stdout)


def as_text(key, value):
    if key in LEVELS:
        return " ".join(f"{level['price']}x{level['qty']}" for level in value)
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)


@pytest.mark.parametrize("name", COLUMNS)
def test_csv_and_parquet_tables_have_the_same_content(both, name):
    folder, told = both
    with (folder / "csv" / f"{name}.csv").open(newline="") as file:
        texts = list(csv.DictReader(file))
    rows = parquet.read_table(folder / "parquet" / f"{name}.parquet").to_pylist()
    assert len(rows) == told[name] > 0
    for row, text in zip(rows, texts, strict=True):
        assert {key: as_text(key, value) for key, value in row.items()} == {
            key: "" if key == "ts_ns" and value.startswith("-") else value
            for key, value in text.items()
        }


def test_every_parquet_column_has_its_documented_type(both):
    folder, _ = both
    for name in COLUMNS:
        for field in parquet.read_schema(folder / "parquet" / f"{name}.parquet"):
            if field.name.endswith("_ns"):
                assert field.type == arrow.int64()
            elif field.name in ("price", "bid", "ask"):
                assert field.type == arrow.int16()
            elif field.name in LEVELS:
                assert field.type.value_type.field("price").type == arrow.int16()
            elif field.name in ("ticker", "market_id", "run"):
                assert arrow.types.is_dictionary(field.type)


def test_spreadsheet_formulas_are_escaped_in_csv(tmp_path):
    wicked = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "plain", "a=b"]
    with opened({"csv": tmp_path, "parquet": tmp_path}) as sheets:
        for text in wicked:
            sheets.add_row("requests", {"reason": text, "status": -1})
    with (tmp_path / "requests.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    reasons = [row["reason"] for row in rows]
    assert reasons == ["'=1+1", "'+1", "'-1", "'@x", "'\tx", "' x", "plain", "a=b"]
    assert {row["status"] for row in rows} == {"-1"}
    kept = parquet.read_table(tmp_path / "requests.parquet").column("reason").to_pylist()
    assert kept == wicked


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_interrupted_export_leaves_the_previous_files_intact(kind, tmp_path):
    with opened({kind: tmp_path}) as sheets:
        sheets.add_row("fills", {"fill_id": "old"})
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(RuntimeError), opened({kind: tmp_path}) as sheets:
        sheets.add_row("fills", {"fill_id": "new"})
        raise RuntimeError
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_rows_of_several_parquet_row_groups_are_all_written(tmp_path):
    with (
        mock.patch("bot.lab.export.ROWS_AT_ONCE", 3),
        opened({"parquet": tmp_path}) as sheets,
    ):
        for number in range(8):
            sheets.add_row("fills", {"fill_id": str(number), "ticker": f"T{number % 2}"})
    rows = parquet.read_table(tmp_path / "fills.parquet").to_pylist()
    assert [row["fill_id"] for row in rows] == [str(number) for number in range(8)]
    assert [row["ticker"] for row in rows] == ["T0", "T1"] * 4


def test_a_parquet_export_without_pyarrow_names_the_package(both, tmp_path):
    with mock.patch.dict(sys.modules, {"pyarrow": None}):
        done = export(both[0] / "state", "--parquet", tmp_path / "t")
    assert done.exit_code == 2
    assert "pip install laddermaker[lab]" in done.stderr
    assert list(tmp_path.rglob("*.*")) == []


def test_an_export_without_an_output_folder_exits_with_2(both):
    done = export(both[0] / "state")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--csv, --parquet or --tape" in done.stderr
