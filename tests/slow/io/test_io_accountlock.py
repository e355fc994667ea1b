"""Claims about the account's lock: one bot an account and host, and no key given away."""

import errno
import os
import socket
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from bot.io.secret import Secret
from bot.io.state.locks import AccountFault, AccountLock, Holder, StateFault, holder_of
from tests.builders.io.commands import invoke

URL = "https://venue.example/v1"
KEY = Secret("lm_canary_key")


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch) -> tuple[Path, Path]:
    runtime, temporary = tmp_path / "runtime", tmp_path / "temporary"
    runtime.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return runtime, temporary


def test_a_second_bot_on_an_account_is_refused_and_the_first_is_named(tmp_path):
    first = AccountLock.acquire(URL, KEY, tmp_path / "first")
    begun = time.monotonic()
    with pytest.raises(AccountFault) as refused:
        AccountLock.acquire(URL, KEY, tmp_path / "second")
    assert time.monotonic() - begun < 1
    assert f"process id {os.getpid()}" in str(refused.value)
    assert str(tmp_path / "first") in str(refused.value)
    assert "canary" not in str(refused.value)
    first.close()


@pytest.mark.parametrize(
    ("url", "key", "is_same"),
    [
        ("https://other.example/v1", KEY, False),
        (URL, Secret("lm_other"), False),
        ("https://venue.example/v1/", KEY, True),
        ("HTTPS://Venue.example/v1", KEY, True),
    ],
)
def test_an_account_is_a_venue_and_a_key(tmp_path, url, key, is_same):
    first = AccountLock.acquire(URL, KEY, tmp_path)
    with pytest.raises(AccountFault) if is_same else nullcontext():
        AccountLock.acquire(url, key, tmp_path).close()
    first.close()
    AccountLock.acquire(url, key, tmp_path).close()


def test_bots_with_and_without_a_runtime_folder_share_the_lock(tmp_path, monkeypatch):
    first = AccountLock.acquire(URL, KEY, tmp_path)
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with pytest.raises(AccountFault):
        AccountLock.acquire(URL, KEY, tmp_path)
    first.close()


def test_the_lock_files_are_private_and_do_not_hold_the_key(tmp_path, folders):
    lock = AccountLock.acquire(URL, KEY, tmp_path)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 2
    for path in files:
        assert "canary" not in path.name
        assert "canary" not in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    lock.close()


def test_a_folder_of_locks_that_is_a_link_is_refused(tmp_path, folders):
    (tmp_path / "elsewhere").mkdir()
    (folders[0] / "laddermaker").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateFault, match="a link or a file"):
        AccountLock.acquire(URL, KEY, tmp_path)


def test_a_lock_that_is_a_link_is_refused(tmp_path, folders):
    AccountLock.acquire(URL, KEY, tmp_path).close()
    [lock] = folders[0].rglob("*.lock")
    lock.unlink()
    lock.symlink_to(tmp_path / "victim")
    with pytest.raises(StateFault):
        AccountLock.acquire(URL, KEY, tmp_path)
    assert not (tmp_path / "victim").exists()


def test_a_folder_of_somebody_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StateFault, match="belongs to another user"):
        AccountLock.acquire(URL, KEY, tmp_path)


@pytest.mark.parametrize(
    ("home", "name", "fault"),
    [
        (os, "chmod", OSError(errno.EROFS, "Read-only file system")),
        (tempfile, "gettempdir", FileNotFoundError(errno.ENOENT, "No usable temporary directory")),
    ],
)
def test_a_host_without_a_usable_folder_for_locks_is_reported(
    tmp_path, monkeypatch, home, name, fault
):
    def refuse(*_: object, **__: object) -> None:
        raise fault

    AccountLock.acquire(URL, KEY, tmp_path).close()
    monkeypatch.setattr(home, name, refuse)
    with pytest.raises(StateFault, match=fault.strerror):
        holder_of(URL, KEY)


def test_reading_the_holder_of_an_account_takes_no_lock(tmp_path):
    assert holder_of(URL, KEY) is None
    lock = AccountLock.acquire(URL, KEY, tmp_path)
    assert holder_of(URL, KEY) == Holder(os.getpid(), str(tmp_path))
    lock.close()
    assert holder_of(URL, KEY) is None


def test_a_lock_file_without_a_holder_is_still_a_lock(tmp_path, folders):
    lock = AccountLock.acquire(URL, KEY, tmp_path)
    for folder in folders:
        for path in folder.rglob("*.lock"):
            path.write_text("?")
    assert holder_of(URL, KEY) == Holder()
    with pytest.raises(AccountFault, match="a bot trades it already"):
        AccountLock.acquire(URL, KEY, tmp_path)
    lock.close()


def test_a_killed_bot_holds_no_lock(tmp_path):
    code = (
        "import pathlib, sys, time; from bot.io.secret import Secret; "
        "from bot.io.state.locks import AccountLock; "
        "lock = AccountLock.acquire(sys.argv[1], Secret(sys.argv[2]), pathlib.Path('.')); "
        "print('held', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, URL, KEY.reveal()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(AccountFault, match=f"process id {process.pid}"):
            AccountLock.acquire(URL, KEY, tmp_path)
        process.kill()
    AccountLock.acquire(URL, KEY, tmp_path).close()


def test_a_second_bot_on_the_same_port_is_refused_for_the_account(tmp_path, monkeypatch):
    """Its port is taken, too: what it must not do is trade there, under any port."""
    monkeypatch.setenv("LM_KEY", KEY.reveal())
    first = AccountLock.acquire(URL, KEY, tmp_path / "first")
    with socket.socket() as page:
        page.bind(("127.0.0.1", 0))
        page.listen()
        config = tmp_path / "bot.yaml"
        config.write_text(_CONFIG.format(port=page.getsockname()[1]))
        done = invoke("run", config, "--state-dir", tmp_path / "b")
    first.close()
    assert done.exit_code == 3
    assert f"process id {os.getpid()}" in done.output
    assert "status page" not in done.output


_CONFIG = """
series: AURELIA-VAL
venue: {{base_url: https://venue.example/v1, key_env: LM_KEY}}
strategy: {{name: fixed_spread}}
risk: {{event_loss_cents: 1000, series_loss_cents: 1000, rung_position_qty: 10, order_qty: 5}}
status: {{port: {port}}}
"""
