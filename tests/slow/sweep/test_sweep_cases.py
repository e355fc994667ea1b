"""TapeCase cases of a sweep: damage is told with file and line, and names follow what is played."""

from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.exchange.recorded import Kind, kind_of
from bot.lab.sweep.trials import Job, TrialConfig, code_of, cut, recorded, run_job
from tests.builders.backtest.made import book, configured, trade, written
from tests.builders.io.commands import invoke
from venue.crowd.tape import read_tape

BOOKS = [book(second, [[40, 50]], [[60, 50]]) for second in range(1, 200)]


def name_of(folder):
    (case,) = recorded(folder, QueueModel.PESSIMISTIC, Terms(), events=1)
    return case.key


def test_sweep_rejects_a_damaged_tape_with_its_file_and_line(tmp_path):
    tape = written(tmp_path / "tape", BOOKS)
    path = tape / "tape.jsonl.gz"
    whole = path.read_bytes()
    over = ("--over", "risk.order_qty=100,200")
    asked = ("sweep", "--data", tape, "--config", configured(tmp_path, "fixed_spread"), *over)
    for part, why in ((whole[: len(whole) // 2], "damaged"), (b"{}", "not gzip")):
        path.write_bytes(part)
        result = invoke(*asked)
        assert result.exit_code == 2, result.output
        assert result.stderr.startswith(f"{path}:")
        assert f": {why}: " in result.stderr


def test_a_tape_case_is_keyed_by_its_records_only(tmp_path):
    tape = written(tmp_path / "tape", BOOKS)
    before = name_of(tape)
    (tape / "older.gz").write_bytes(b"no gzip at all")
    (tape / "README.md").write_text("TapeCase by hand.\n")
    assert name_of(tape) == before
    written(tmp_path / "tape", BOOKS[:-1])
    assert name_of(tape) != before


def test_a_tape_changed_during_a_sweep_is_a_fault_that_is_not_saved(tmp_path):
    tape = written(tmp_path / "tape", BOOKS)
    setup = TrialConfig(configured(tmp_path, "fixed_spread"), None).base
    (case,) = recorded(tape, QueueModel.PESSIMISTIC, Terms(), events=1)
    written(tmp_path / "tape", BOOKS[:9])
    came = run_job(Job(setup, {}, case, "", code_of(setup, "")))
    assert "another tape than the sweep began with" in came.fault
    assert not came.lasting


def test_a_piece_of_prints_from_a_tape_of_books_counts_as_books(tmp_path):
    # Else books would be made up in it that were not there.
    prints = [trade(second, 50, 5, "yes") for second in range(1, 9)]
    whole = read_tape(written(tmp_path / "tape", [*prints, book(20, [[40, 9]], [[60, 9]])]))
    part = cut(whole, 0, 2)
    assert len(part.records) == len(prints)
    assert kind_of(part) is Kind.BOOKS
