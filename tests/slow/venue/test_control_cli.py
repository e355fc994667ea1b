"""Claims about the operator's command line, against a served venue."""

import errno
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main
import typer.testing

from tests.builders import ctrl_c
from tests.builders.house.tree import ROOT
from tests.builders.venue import operator_page
from tests.builders.venue.control_bench import TOKEN, served, socket_path
from tests.builders.venue.journal_disk import Disk
from venue.admin import handlers
from venue.cli import client
from venue.cli.client import reply_lines
from venue.cli.operator import ENDPOINTS, EXIT_OPTIONS, EXIT_REFUSED, EXIT_UNREACHABLE, mount
from venue.rest.faults import FaultKind

APP = typer.Typer(rich_markup_mode=None)
mount(APP)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    with served(socket_path(tmp_path_factory.mktemp("control"))) as made:
        yield made


@pytest.fixture(scope="module")
def token_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("token") / "token"
    path.touch(0o600)
    path.write_text(f"{TOKEN}\n")
    return path


@pytest.fixture
def run(house, token_file):
    return lambda *arguments: run_command(house.address, token_file, *arguments)


def run_command(address, token_file, *arguments):
    """A command run to its end."""
    where = ["--control", address, "--token-file", str(token_file)]
    return typer.testing.CliRunner().invoke(APP, [*arguments, *where])


def test_the_help_of_fault_add_names_every_kind():
    told = typer.testing.CliRunner().invoke(APP, ["fault", "add", "--help"]).output
    assert [kind for kind in FaultKind if kind not in told] == []


def done(run, *arguments):
    """The one JSON object that a command printed."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    reply: dict[str, Any] = json.loads(result.stdout)
    return reply


def test_commands_list_change_resolve_and_archive_a_company_and_its_market(run):
    assert done(run, "company", "add", "Osier Labs", "OSIER")["symbol"] == "OSIER"
    event = done(
        run, "event", "add", "--company", "OSIER", "--series", "OSIER-VAL", "--quarter", "26Q4",
        "--title", "Valuation of Osier", "--category", "valuation",
    )  # fmt: skip
    assert event["event_ticker"] == "OSIER-VAL-26Q4"
    fees = ["--maker-fee", "0.01", "--taker-fee", "0.0175"]
    strike = ["--strike-value", "2.5", "--strike-unit", "USD billions"]
    rung = done(run, "market", "add", "OSIER-VAL-26Q4", "2.5B", *fees, *strike)
    assert rung["name"] == "Osier Labs above 2.5B, Q4 2026"
    assert done(run, "market", "halt", rung["ticker"])["state"] == "halted"
    assert done(run, "market", "resume", rung["market_id"])["state"] == "active"
    assert done(run, "event", "status", "OSIER-VAL-26Q4", "closed")["status"] == "closed"
    value = done(run, "company", "value", "OSIER", "2500000000", "--confidence", "0.8")
    assert value["confidence"] == "0.8"
    assert done(run, "market", "resolve", rung["ticker"], "no")["winner"] == "no"
    assert done(run, "company", "rename", "OSIER", "WILLOW")["symbol"] == "WILLOW"
    assert done(run, "company", "archive", "WILLOW")["archived"] is True
    companies = done(run, "company", "list")["companies"]
    (osier,) = [row for row in companies if row["name"] == "Osier Labs"]
    assert osier["archived"] is True


def test_a_command_lists_everything_of_a_file(run, tmp_path):
    company = {"name": "Alder Works", "symbol": "ALDER"}
    file = tmp_path / "listings.json"
    file.write_text(json.dumps({"companies": [company]}), encoding="utf-8")
    (listed,) = done(run, "listing", "add", str(file))["companies"]
    assert listed["symbol"] == "ALDER"
    assert run("listing", "add", str(file)).stdout.splitlines() == [
        "companies  1", "events     -", "markets    -",
    ]  # fmt: skip


@pytest.mark.parametrize("text", [None, "{", "[]", '{"companys": []}'])
def test_a_file_that_is_no_list_exits_2(run, tmp_path, text):
    file = tmp_path / "listings.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    result = run("listing", "add", str(file))
    assert result.exit_code == EXIT_OPTIONS
    assert result.stderr


def test_commands_add_a_user_with_cash_keys_and_a_token(run, tmp_path):
    assert done(run, "user", "add", "berta") == {"user_id": "berta"}
    done(run, "user", "deposit", "berta", "900")
    done(run, "user", "withdraw", "berta", "200")
    users = {row["user_id"]: row["available_cents"] for row in done(run, "user", "list")["users"]}
    assert users["berta"] == 700
    key = done(run, "key", "create", "berta", "--scopes", "read,trade")
    assert key["scopes"] == ["read", "trade"]
    keys = done(run, "key", "list", "--user", "berta")["keys"]
    assert [row["key_id"] for row in keys] == [key["key_id"]]
    assert done(run, "key", "revoke", key["key_id"])["revoked"] is True
    assert done(run, "key", "create", "--unusable", "--scopes", "")["user_id"] is None
    asked = ["berta", "--application", "desk", "--scopes", "svc:markets:read"]
    assert done(run, "token", "create", *asked)["token"].startswith("lm_")


def test_commands_set_the_venue_state_and_the_read_lag(run):
    assert done(run, "state", "cancel-only") == {"state": "cancel_only"}
    assert done(run, "lag", "set", "20") == {"lag_ms": 20}
    status = done(run, "status")
    assert (status["venue_state"], status["projection_lag_ms"]) == ("cancel_only", 20)
    assert done(run, "state", "open") == {"state": "open"}
    assert done(run, "lag", "set", "0") == {"lag_ms": 0}
    assert done(run, "hash")["sequence"] == done(run, "status")["sequence"]


def test_commands_add_list_and_clear_faults(run):
    added = done(run, "fault", "add", "drop_after", "--share", "0.25", "--verbs", "create,cancel")
    assert (added["share"], added["verbs"]) == ("0.25", ["create", "cancel"])
    done(run, "fault", "add", "reply_delay", "--delay-ms", "5", "--on", "reads")
    done(run, "fault", "add", "result_unknown_after", "--count", "2")
    kinds = [row["kind"] for row in done(run, "fault", "list")["faults"]]
    assert kinds == ["result_unknown_after", "drop_after", "reply_delay"]
    assert len(done(run, "fault", "clear", "drop_after")["faults"]) == 2
    assert done(run, "fault", "clear") == {"faults": []}


# --- raw keys ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("secret", "arguments"),
    [
        ("key", ["key", "create", "anna"]),
        ("token", ["token", "create", "anna", "--application", "a", "--scopes", ""]),
    ],
)  # fmt: skip
def test_a_secret_written_to_a_file_is_not_printed(run, tmp_path, secret, arguments):
    out = tmp_path / "raw"
    result = run(*arguments, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    raw = out.read_text().strip()
    assert raw.startswith("lm_")
    assert raw not in result.output
    assert str(out) in result.output
    reply = done(run, *arguments, "--out", str(tmp_path / "again"))
    assert secret not in reply


def test_a_new_key_is_printed_once(run):
    result = run("key", "create", "anna")
    assert len(re.findall(r"lm_[A-Za-z0-9_-]{43}", result.stdout)) == 1


def run_into_full_disk(house, token_file, *arguments):
    """A command whose output cannot be written."""
    command = [sys.executable, "-m", "venue", *arguments]
    command += ["--control", house.address, "--token-file", str(token_file)]
    with Path("/dev/full").open("w") as full:
        return subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=20, check=False
        )


def test_a_new_key_that_cannot_be_printed_is_revoked(house, run, token_file):
    done(run, "user", "add", "carla")
    failed = run_into_full_disk(house, token_file, "key", "create", "carla")
    (key,) = done(run, "key", "list", "--user", "carla")["keys"]
    assert key["revoked"] is True
    assert failed.returncode == 74
    assert failed.stderr.splitlines() == [
        f"nobody has key {key['key_id']}, which is revoked; make another",
        "the output cannot be written: No space left on device",
    ]


def test_a_new_token_that_cannot_be_printed_is_reported_with_its_end(house, run, token_file):
    done(run, "user", "add", "dora")
    words = ["token", "create", "dora", "--application", "desk", "--scopes", "svc:markets:read"]
    failed = run_into_full_disk(house, token_file, *words)
    assert failed.returncode == 74
    assert failed.stderr.startswith("nobody has the token, which ends at 20")


def test_a_new_key_that_its_file_cannot_hold_is_revoked(run, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    done(run, "user", "add", "edda")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        result = run("key", "create", "edda", "--out", str(tmp_path / "edda.key"))
    (key,) = done(run, "key", "list", "--user", "edda")["keys"]
    assert key["revoked"] is True
    assert result.exit_code == EXIT_OPTIONS
    assert f"No space left on device; nobody has key {key['key_id']}" in result.output
    assert not (tmp_path / "edda.key").exists()


def test_a_key_file_survives_a_power_cut(run, tmp_path, monkeypatch):
    out = tmp_path / "out" / "frida.key"
    out.parent.mkdir()
    done(run, "user", "add", "frida")
    with monkeypatch.context() as patch:
        disk = Disk(patch)
        for folder in (tmp_path, out.parent):
            disk.trust(folder)
        done(run, "key", "create", "frida", "--out", str(out))
        raw = out.read_text()
        disk.cut_power(out.parent)
    assert out.read_text() == raw


def test_an_existing_out_file_is_kept_and_no_key_is_created(run, tmp_path):
    out = tmp_path / "precious"
    out.write_text("kept")
    before = len(done(run, "key", "list")["keys"])
    assert run("key", "create", "anna", "--out", str(out)).exit_code == EXIT_OPTIONS
    assert out.read_text() == "kept"
    assert len(done(run, "key", "list")["keys"]) == before


def test_a_rejected_key_creates_no_file(run, tmp_path):
    out = tmp_path / "raw"
    assert run("key", "create", "nobody", "--out", str(out)).exit_code == EXIT_REFUSED
    assert not out.exists()


# --- exit codes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["state", "shut"], "accepted is open, cancel_only, halted"),
        (["lag", "set", "60001"], "accepted is 0 to 60000"),
        (["lag", "set", "soon"], "MS"),
        (["company", "add", "Only a name"], "SYMBOL"),
        (["fault", "add", "fire"], "engine_unavailable"),
        (["key", "create"], "exactly one"),
        (["key", "create", "anna", "--unusable"], "exactly one"),
        (["key", "create", "anna", "--scopes", "admin"], "read, trade"),
        (["company", "value", "LINDEN", "5.123456789", "--confidence", "1"], "8 places at most"),
        (["company", "value", "LINDEN", "5", "--confidence", "0.123456789"], "8 places at most"),
        (["user", "deposit", "anna", str(2**70)], f"whole cents, 1 to {2**62}"),
        (["nothing"], "nothing"),
        (["user", "deposit", "ann\udcff", "1"], "accepted is a name in UTF-8"),
        (["key", "list", "--user", "ann\udcff"], "accepted is a name in UTF-8"),
        (["key", "revoke", "\udcff"], "accepted is a name in UTF-8"),
        (["user", "add", "\udcff"], 'user_id: "\\udcff"; accepted is text in UTF-8'),
        (["key", "create", "a\udcff"], 'user_id: "a\\udcff"; accepted is text in UTF-8'),
    ],
)
def test_bad_options_exit_2_and_name_the_accepted_values(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code == EXIT_OPTIONS
    assert message.lower() in result.output.lower()
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["company", "archive", "NOBODY"], ["market", "halt", "NO-SUCH"],
        ["user", "withdraw", "anna", "99999999999"], ["key", "revoke", "0" * 16],
        ["company", "add", "Linden's twin", "LINDEN"], ["market", "halt", "../../status"],
    ],
)  # fmt: skip
def test_a_rejected_command_exits_4(run, arguments):
    result = run(*arguments)
    assert result.exit_code == EXIT_REFUSED, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1


def test_an_unreachable_venue_exits_3(tmp_path, token_file):
    for address in (f"unix:{tmp_path / 'no.sock'}", "127.0.0.1:1"):
        result = run_command(address, token_file, "status")
        assert result.exit_code == EXIT_UNREACHABLE
        assert "is the venue serving with --control?" in result.stderr


def test_a_wrong_token_exits_3_and_is_not_shown(house, tmp_path):
    wrong = tmp_path / "token"
    wrong.touch(0o600)
    wrong.write_text("another-token-than-that")
    result = run_command(house.address, wrong, "status")
    assert result.exit_code == EXIT_UNREACHABLE
    assert "--token-file" in result.stderr
    assert "another-token-than-that" not in result.output


@pytest.mark.parametrize("address", ["venue.example:8091", "10.0.0.1:8091", "8091", "unix:"])
def test_the_token_is_sent_to_no_other_machine(token_file, address):
    assert run_command(address, token_file, "status").exit_code == EXIT_OPTIONS


def test_a_token_file_that_others_can_read_is_rejected(house, tmp_path):
    path = tmp_path / "token"
    path.write_text(TOKEN)
    path.chmod(0o644)
    result = run_command(house.address, path, "status")
    assert result.exit_code == EXIT_OPTIONS
    assert "chmod 600" in result.stderr


def test_another_server_at_the_control_address_exits_3(house, token_file):
    # The trader's interface answers 401 in its own words.
    result = run_command(f"127.0.0.1:{house.rest_port}", token_file, "status")
    assert result.exit_code == EXIT_UNREACHABLE


# --- what people see -----------------------------------------------------------------------------


def test_every_command_has_help_with_an_example():
    def commands(of, path):
        for name, command in of.commands.items():
            if hasattr(command, "commands"):
                yield from commands(command, [*path, name])
            else:
                yield [*path, name], command

    found = list(commands(typer.main.get_command(APP), []))
    assert len(found) == 27
    for path, command in found:
        assert command.help
        example = command.epilog.removeprefix("\b\n")
        assert example.startswith(f"Example: venue {' '.join(path)}")


def test_every_endpoint_of_the_venue_has_a_command():
    offered = {(each.method, each.path) for each in handlers.ENDPOINTS}
    used = {*ENDPOINTS, ("DELETE", "faults")}
    assert offered == used, "a new endpoint gets a command in venue/cli/operator.py, by its path"


def test_the_page_of_the_operators_interface_is_current():
    text = (ROOT / "docs/operator-api.md").read_text(encoding="utf-8")
    assert text == operator_page.page(), "run: make pages"


def test_the_help_of_mutually_exclusive_says_that_nothing_is_enforced():
    shown = typer.testing.CliRunner().invoke(APP, ["event", "add", "--help"])
    assert "one rung at most will resolve yes; nothing is enforced" in " ".join(
        shown.stdout.split()
    )


def test_a_table_is_aligned_with_numbers_at_the_right(run):
    rows = [{"user_id": "al", "cash": 5}, {"user_id": "berta", "cash": 12345}]
    shown = reply_lines({"users": rows})
    assert shown == ["user_id   cash", "al           5", "berta    12345"]
    assert f"{'venue_state':<17}  open" in run("status").stdout.splitlines()


def test_shown_values_are_escaped_and_an_empty_table_says_none():
    shown = reply_lines({"a": None, "b": True, "c": ["x", "y"], "d": "red\x1b[31m\n"})
    assert shown == ["a  -", "b  yes", "c  x,y", "d  red\\x1b[31m\\n"]
    assert reply_lines({"faults": []}) == ["none"]


@contextmanager
def silent_venue():
    """A control address on loopback at which requests are taken and never answered."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        yield f"127.0.0.1:{listener.getsockname()[1]}", listener


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["state", "halted"], "may be carried out all the same"),
        (["status"], "is the venue serving with --control?"),
    ],
)
def test_a_timeout_of_a_change_says_that_it_may_be_carried_out(
    token_file, monkeypatch, arguments, message
):
    monkeypatch.setattr(client, "TIMEOUT_S", 0.2)
    with silent_venue() as (address, _):
        result = run_command(address, token_file, *arguments)
    assert result.exit_code == EXIT_UNREACHABLE
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["state", "halted"], "interrupted: what was asked may be carried out"), (["status"], "")],
)
def test_ctrl_c_during_a_change_says_that_it_may_be_carried_out(token_file, arguments, message):
    with silent_venue() as (address, listener):
        where = ["--control", address, "--token-file", str(token_file)]
        command = [sys.executable, "-m", "venue", *arguments, *where]
        process = ctrl_c.started(command)
        peer, _ = listener.accept()
        with peer:
            assert peer.recv(4096)
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert stderr.startswith(message)
    assert stderr.count("\n") == bool(message)
