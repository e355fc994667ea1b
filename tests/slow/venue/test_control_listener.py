"""Claims about where the operator's interface listens and the file that holds its token."""

import errno
import hashlib
import os
import re
import socket
import stat

import pytest

from venue.admin.listener import (
    AddressFault,
    ControlFault,
    control_address,
    control_listener,
    read_token,
    token_sha256,
)


def test_a_unix_socket_and_its_lock_are_readable_by_their_owner_only(tmp_path):
    path = tmp_path / "control.sock"
    before = os.umask(0)
    try:
        with control_listener(f"unix:{path}") as listener:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert control_address(listener) == f"unix:{path}"
        assert os.umask(0) == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / ".control.sock.lock").stat().st_mode) == 0o600
    control_listener(f"unix:{path}").close()


def test_a_socket_of_a_dead_process_is_replaced(tmp_path):
    path = tmp_path / "control.sock"
    control_listener(f"unix:{path}").close()
    assert path.exists()
    with control_listener(f"unix:{path}") as listener:
        listener.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


@pytest.mark.parametrize("listens", [True, False])
def test_a_socket_of_a_live_process_is_left_alone(tmp_path, listens):
    path = tmp_path / "control.sock"
    with control_listener(f"unix:{path}") as listener:
        if listens:
            listener.listen()
        bound = path.stat().st_ino
        with pytest.raises(AddressFault, match="another process listens"):
            control_listener(f"unix:{path}")
        assert path.stat().st_ino == bound
        listener.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_a_file_that_is_no_socket_is_left_alone(tmp_path):
    path = tmp_path / "precious"
    path.write_text("kept")
    with pytest.raises(ControlFault, match="no socket"):
        control_listener(f"unix:{path}")
    assert path.read_text() == "kept"


@pytest.mark.parametrize("text", ["127.0.0.1:0", "localhost:0", "127.0.0.53:0", "[::1]:0"])
def test_a_loopback_address_is_bound(text):
    with control_listener(text) as listener:
        host, port = control_address(listener).rsplit(":", 1)
        assert host in {"127.0.0.1", "127.0.0.53", "[::1]"}
        assert int(port) > 0


@pytest.mark.parametrize(
    "text",
    [
        "0.0.0.0:8091", "[::]:8091", "10.0.0.1:8091", "venue.example:8091", ":8091", "8091", "",
        "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:65536",
        "127.0.0.1:99999999999", "127.0.0.1:0065536", "127.0.0.1:" + "0" * 5000,
        "127.0.0.1:\u0661", "unix:", "unix:/", "localhost.evil.example:1",
    ],
)  # fmt: skip
def test_an_address_of_another_machine_is_rejected(text):
    with pytest.raises(ControlFault):
        control_listener(text)


def test_an_address_in_use_is_an_error():
    with control_listener("127.0.0.1:0") as first:
        first.listen()
        with pytest.raises(ControlFault, match="cannot be bound"):
            control_listener(control_address(first))


# --- the token -----------------------------------------------------------------------------------


def test_a_new_token_file_is_readable_by_its_owner_only(tmp_path, capfd):
    path = tmp_path / "deep" / "token"
    before = os.umask(0)
    try:
        digest = token_sha256(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    token = path.read_text().strip()
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert digest == hashlib.sha256(token.encode()).digest()
    assert token not in "".join(capfd.readouterr())


@pytest.mark.parametrize("refusing", ["fsync", "link"])
def test_a_token_that_the_disk_refuses_leaves_no_file(tmp_path, monkeypatch, refusing):
    path = tmp_path / "token"

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, refusing, full)
        with pytest.raises(ControlFault, match="No space left"):
            token_sha256(path)
    assert list(tmp_path.iterdir()) == []
    assert token_sha256(path) == token_sha256(path)


def test_a_token_file_gets_its_name_after_it_is_synced(tmp_path, monkeypatch):
    path = tmp_path / "token"
    named: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda _: named.append(path.exists()))
    token_sha256(path)
    assert named == [False]


def test_an_existing_token_file_is_reused(tmp_path):
    path = tmp_path / "token"
    assert token_sha256(path) == token_sha256(path)
    assert hashlib.sha256(read_token(path).encode()).digest() == token_sha256(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o601])
def test_a_token_file_that_others_can_access_is_rejected(tmp_path, mode):
    path = tmp_path / "token"
    token_sha256(path)
    path.chmod(mode)
    for use in (token_sha256, read_token):
        with pytest.raises(ControlFault, match="chmod 600"):
            use(path)


@pytest.mark.parametrize("text", ["", "short", "with a space in the middle", "x" * 257, "ä" * 20])
def test_a_file_without_a_token_is_rejected_and_not_shown(tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ControlFault, match="holds no token") as caught:
        token_sha256(path)
    assert not text or text not in str(caught.value)


def test_a_link_a_folder_and_a_pipe_are_rejected_as_token_files(tmp_path):
    target = tmp_path / "target"
    token_sha256(target)
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(target)
    os.mkfifo(pipe, 0o600)
    for path in (link, pipe, tmp_path):
        with pytest.raises(ControlFault):
            token_sha256(path)


def test_a_client_creates_no_token_file(tmp_path):
    with pytest.raises(ControlFault, match="no token file"):
        read_token(tmp_path / "token")
    assert list(tmp_path.iterdir()) == []
