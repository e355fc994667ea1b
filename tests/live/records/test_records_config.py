"""Claims about the sections `records` and `notices`, and `bot statement`."""

import csv
import datetime
import errno
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot.cli.sidecars import losses_by_records, sidecars_of
from bot.config.bot_config import ConfigFault, finish, read_draft
from bot.core.settings import BudgetPeriod
from bot.io.notices import Form, Notices, What
from bot.io.secret import SecretFault
from bot.records.database import Address, Sqlite
from bot.records.recorder import Recorder
from bot.records.rows import AccountRow, BalanceRow, Batch, ProfitRow, TraderSample, account_of
from bot.records.store import Store
from tests.builders.io.commands import invoke
from tests.builders.records.days import Days

BASE = """\
name: acme
series: ACME-VAL
venue:
  base_url: http://127.0.0.1:1/v1
  key_file: key
strategy:
  name: fixed_spread
risk:
  series_loss_cents: 200000
  rung_position_qty: 300
  order_qty: 100
"""


def written(folder: Path, text: str = "") -> Path:
    path = folder / "acme.yaml"
    path.write_text(BASE + text)
    return path


def faults(folder: Path, text: str) -> str:
    with pytest.raises(ConfigFault) as caught:
        finish(read_draft(written(folder, text)))
    return str(caught.value)


def test_by_default_fills_are_recorded_and_no_notice_is_sent(tmp_path):
    config = finish(read_draft(written(tmp_path)))
    assert (config.records.keep, config.records.file, config.records.address) == (True, None, None)
    (recorder,) = sidecars_of(config, tmp_path)
    assert isinstance(recorder, Recorder)
    assert recorder._series == "ACME-VAL"


@pytest.mark.parametrize(("events", "sums_up"), [("[stop]", False), ("[daily_summary]", True)])
def test_a_daily_summary_is_made_only_for_a_receiver_that_wants_it(tmp_path, events, sums_up):
    (tmp_path / "hook").write_text("https://hooks.example/T0/s3cret\n")
    text = f"notices:\n  - url_file: hook\n    events: {events}\n"
    found = sidecars_of(finish(read_draft(written(tmp_path, text))), tmp_path)
    (recorder,) = [each for each in found if isinstance(each, Recorder)]
    assert (recorder._summary is not None) == sums_up


def test_the_records_say_what_a_lost_state_directory_lost_of_the_loss_budgets(tmp_path):
    file, address = tmp_path / "elsewhere.sqlite", "http://127.0.0.1:1/v1"
    text = f"loss_budgets:\n  week_cents: 5000\nrecords:\n  file: {file}\n"
    config = finish(read_draft(written(tmp_path, text)))
    assert losses_by_records(config, tmp_path) is None, "no records yet"
    store, now_ns = Store(lambda: Sqlite(file), "acme"), time.time_ns()
    for number, label in enumerate((address, "http://another.example/v1")):
        account = AccountRow(number, "acme", label, 0)
        store.write([Batch(account)], None)
        profit = ProfitRow(now_ns, 1, -700_000, 0, 0, 0, 0, 0, 0)
        store.write_sample(number, TraderSample((), profit))
    store.close()
    losses = losses_by_records(config, tmp_path)
    assert losses is not None
    assert [(use.period, use.lost_cents) for use in losses.uses] == [(BudgetPeriod.WEEK, 700)]


def test_a_postgres_is_configured_by_address_and_password_file(tmp_path, monkeypatch):
    (tmp_path / "pw").write_text("hunter2\n")
    text = "records:\n  postgres_url: postgresql://keeper@localhost/books\n"
    text += "  postgres_password_file: pw\n  keep_days: 30\n"
    config = finish(read_draft(written(tmp_path, text)))
    assert config.records.address == Address("localhost", 5432, "keeper", "books", tls=False)
    assert config.records.keep_days == 30
    (recorder,) = sidecars_of(config, tmp_path)
    assert [secret.reveal() for secret in recorder.secrets] == ["hunter2"]
    assert "hunter2" not in repr(config)


def test_a_postgres_beyond_loopback_must_use_tls(tmp_path):
    text = "records:\n  postgres_url: postgresql://keeper@db.example:6432/books\n"
    address = finish(read_draft(written(tmp_path, text))).records.address
    assert address == Address("db.example", 6432, "keeper", "books", tls=True)


def test_receivers_are_configured_by_a_file_or_a_variable(tmp_path, monkeypatch):
    (tmp_path / "hook").write_text("https://hooks.example/T0/s3cret\n")
    monkeypatch.setenv("PAGER_HOOK", "http://127.0.0.1:9/x?token=s3cret")
    text = "records:\n  keep: false\nnotices:\n  - url_file: hook\n    form: slack\n"
    text += "    events: [breaker, stop]\n  - url_env: PAGER_HOOK\n    per_minute: 2\n"
    config = finish(read_draft(written(tmp_path, text)))
    (notices,) = sidecars_of(config, tmp_path)
    assert isinstance(notices, Notices)
    slack, pager = notices._targets
    assert (slack.form, slack.what) == (Form.SLACK, {What.BREAKER, What.STOP})
    assert (pager.form, pager.what, pager.per_minute) == (Form.JSON, set(What), 2)
    assert "s3cret" not in repr((config, notices._targets))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "notices:\n  - url_env: NO_HOOK\n",
            "environment variable NO_HOOK: not set; export it, or ",
        ),
        ("notices:\n  - url_file: no-hook\n", "no-hook: there is no such file"),
        (
            "records:\n  postgres_url: postgresql://keeper@localhost/books\n"
            "  postgres_password_env: NO_PASSWORD\n",
            "environment variable NO_PASSWORD: not set; export it, or name a file instead",
        ),
    ],
)
def test_a_check_refuses_a_missing_receiver_or_password(tmp_path, text, said):
    done = invoke("check", written(tmp_path, text))
    assert done.exit_code == 3
    assert said in done.stderr
    assert "key_file" not in done.stderr


@pytest.mark.parametrize("address", ["ftp://x/y", "http://hooks.example/plain", "nonsense"])
def test_an_invalid_webhook_address_is_refused_without_showing_it(tmp_path, address):
    (tmp_path / "hook").write_text(address)
    config = finish(read_draft(written(tmp_path, "notices:\n  - url_file: hook\n")))
    with pytest.raises(SecretFault, match="not the address of a webhook") as caught:
        sidecars_of(config, tmp_path)
    assert address not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("records:\n  postgres_url: postgresql://u:hunter2@h/d\n", "a password has no place here"),
        ("records:\n  postgres_url: mysql://u@h/d\n", "accepted: postgresql://"),
        ("records:\n  postgres_url: postgresql://u@h\n", "accepted: postgresql://"),
        ("records:\n  postgres_url: postgresql://u@h/d?sslmode=disable\n", "no query"),
        ("records:\n  postgres_url: postgresql://u@h/d\n  file: x\n", "not both"),
        ("records:\n  postgres_password_file: pw\n", "only with postgres_url"),
        ("records:\n  file: .\n", "records.file: '.' is a folder; accepted: the path of a file"),
        ("records:\n  keep_days: 1\n", "records.keep_days: '1'; accepted: a whole number"),
        ("records:\n  kept: true\n", "did you mean keep?"),
        ("notices:\n  - form: slack\n", "exactly one of url_file and url_env"),
        ("notices:\n  - url_file: a\n    url_env: B\n", "exactly one of url_file and url_env"),
        ("notices:\n  - url_env: https://hooks.example/s\n", "not the name of a variable"),
        ("notices:\n  - url_file: a\n    events: [brakes]\n", "notices.0.events"),
        ("notices:\n  - url_file: a\n    events: []\n", "at least one"),
        ("notices:\n" + "  - url_file: a\n" * 5, "4 receivers at most"),
    ],
)
def test_a_fault_of_records_or_notices_is_reported_by_its_place_without_secrets(
    tmp_path, text, said
):
    printed = faults(tmp_path, text)
    assert said in printed
    assert "hunter2" not in printed


# --- bot statement --------------------------------------------------------------------------------


def statement(folder: Path, *arguments: str):
    return invoke("statement", written(folder), "--state-dir", folder, *arguments)


@pytest.fixture(autouse=True)
def the_day_after(monkeypatch) -> None:
    """It is the day after the one that was lived, whatever the clock says."""
    monkeypatch.setattr("bot.cli.statement.today", lambda: datetime.date(2026, 11, 21))


@pytest.fixture
def traded_day(tmp_path) -> Days:
    """A day of trading in the records of a state directory."""
    store = Store(lambda: Sqlite(tmp_path / "records.sqlite3"), "acme")
    days = Days(3, store)
    days.live(40, 60)
    store.close()
    return days


def test_a_statement_is_made_as_text_json_csv_and_page(tmp_path, traded_day):
    files = ["--csv", str(tmp_path / "d.csv"), "--html", str(tmp_path / "d.html")]
    done = statement(tmp_path, "--day", "2026-11-20", *files)
    assert done.exit_code == 0, done.output
    assert "the statement closes" in done.stdout
    assert done.stdout.splitlines()[1].startswith("profit ")
    printed = json.loads(statement(tmp_path, "--day", "2026-11-20", "--json").stdout)
    assert printed["closes"]
    assert len(printed["fills"]) == len(traded_day.fills)
    total = printed["total"]
    parts = total["spread_cents"] + total["adverse_cents"] + total["drift_cents"]
    assert total["profit_cents"] == parts - total["fees_cents"]
    with (tmp_path / "d.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sum(row["kind"] == "fill" for row in rows) == len(traded_day.fills)
    page = (tmp_path / "d.html").read_text()
    assert page.count("<svg") == 3
    assert page.index("<dt>profit</dt>") < page.index("the statement closes")
    assert "http://" not in page
    assert "https://" not in page


@pytest.fixture
def mounted_read_only(monkeypatch) -> None:
    """Nothing can be opened to be written to, as on a file system that is mounted read-only."""
    real_open, real_statvfs = os.open, os.statvfs

    def opened(path: object, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real_open(path, flags, mode)

    def printed(path: object) -> SimpleNamespace:
        return SimpleNamespace(f_flag=real_statvfs(path).f_flag | os.ST_RDONLY)

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "statvfs", printed)


def test_a_statement_from_a_read_only_folder_creates_nothing_there(
    tmp_path, traded_day, mounted_read_only
):
    there = sorted(path.name for path in tmp_path.iterdir())
    done = statement(tmp_path, "--day", "2026-11-20")
    assert done.exit_code == 0, done.output
    assert "the statement closes" in done.stdout
    assert sorted({path.name for path in tmp_path.iterdir()} - {"acme.yaml"}) == there


def test_a_statement_that_does_not_close_ends_with_3_and_says_why(tmp_path, traded_day):
    database = Sqlite(tmp_path / "records.sqlite3")
    database.run("DELETE FROM fills WHERE fill_id = 'f4'")
    database.close()
    done = statement(tmp_path, "--day", "2026-11-20")
    assert done.exit_code == 3
    assert "THE STATEMENT DOES NOT CLOSE" in done.stdout
    assert "FAIL cash" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--day", "yesterday"), 2, "a day such as 2026-11-20"),
        (("--day", "2026-11-22"), 2, "still to come; accepted: up to 2026-11-21, today"),
        (("--day", "0001-01-01"), 2, "accepted: 1970-01-01 up to 2026-11-21, today"),
        (("--day", "1970-01-01"), 3, "no records"),
        (("--day", "2020-01-01"), 3, "no records"),
        (("--day", "2026-11-20", "--account", "elsewhere"), 3, "no records of 'elsewhere'"),
        (("--day", "2026-11-20", "--csv", "/nowhere/x"), 2, "No such file"),
    ],
)
def test_a_statement_that_cannot_be_made_ends_with_the_reason(
    tmp_path, traded_day, arguments, code, said
):
    done = statement(tmp_path, *arguments)
    assert done.exit_code == code
    assert said in done.output


def test_neither_file_of_a_statement_is_written_when_one_cannot_be(tmp_path, traded_day):
    table = tmp_path / "d.csv"
    done = statement(tmp_path, "--csv", str(table), "--html", "/nowhere/d.html")
    assert done.exit_code == 2
    assert "/nowhere/d.html" in done.output
    assert not table.exists()


def test_a_statement_without_records_creates_none(tmp_path):
    assert statement(tmp_path).exit_code == 3
    assert not (tmp_path / "records.sqlite3").exists()


def test_a_statement_says_that_other_accounts_have_records(tmp_path, traded_day):
    store = Store(lambda: Sqlite(tmp_path / "records.sqlite3"), "acme")
    other = AccountRow(account_of("acme", "run x"), "acme", "run x", traded_day.now_ns - 10)
    balance = BalanceRow(traded_day.now_ns, traded_day.now_ns, 5)
    store.write([Batch(other, balances=[balance])], None)
    store.close()
    done = statement(tmp_path, "--day", "2026-11-20")
    assert "acme, run x" in done.stdout
    assert "1 more account has records" in done.stdout
    assert "acme, here" in statement(tmp_path, "--day", "2026-11-20", "--account", "here").stdout
