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


def test_a_unix_socket_is_its_owner_s_alone(tmp_path):
    path = tmp_path / "control.sock"
    before = os.umask(0)
    try:
        with control_listener(f"unix:{path}") as listener:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert control_address(listener) == f"unix:{path}"
        assert os.umask(0) == 0
    finally:
        os.umask(before)


def test_a_socket_that_a_dead_process_left_is_replaced(tmp_path):
    path = tmp_path / "control.sock"
    control_listener(f"unix:{path}").close()
    assert path.exists()
    with control_listener(f"unix:{path}") as listener:
        listener.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_a_socket_that_answers_is_left_alone(tmp_path):
    path = tmp_path / "control.sock"
    with control_listener(f"unix:{path}") as listener:
        listener.listen()
        with pytest.raises(ControlFault, match="another process listens"):
            control_listener(f"unix:{path}")
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_a_socket_that_does_not_listen_yet_is_left_alone(tmp_path):
    path = tmp_path / "control.sock"
    with control_listener(f"unix:{path}") as listener:
        bound = path.stat().st_ino
        with pytest.raises(AddressFault, match="another process listens"):
            control_listener(f"unix:{path}")
        assert path.stat().st_ino == bound
        listener.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_the_lock_of_a_socket_is_its_owner_s_alone_and_ends_with_it(tmp_path):
    path = tmp_path / "control.sock"
    before = os.umask(0)
    try:
        control_listener(f"unix:{path}").close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / ".control.sock.lock").stat().st_mode) == 0o600
    control_listener(f"unix:{path}").close()


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
def test_nothing_but_this_machine_is_listened_to(text):
    with pytest.raises(ControlFault):
        control_listener(text)


def test_an_address_in_use_is_told():
    with control_listener("127.0.0.1:0") as first:
        first.listen()
        with pytest.raises(ControlFault, match="cannot be bound"):
            control_listener(control_address(first))


# --- the token -----------------------------------------------------------------------------------


def test_an_absent_token_file_is_made_for_its_owner_only(tmp_path, capfd):
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
def test_a_token_that_a_disk_refuses_leaves_no_file_that_bars_the_next_start(
    tmp_path, monkeypatch, refusing
):
    path = tmp_path / "token"

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, refusing, full)
        with pytest.raises(ControlFault, match="No space left"):
            token_sha256(path)
    assert list(tmp_path.iterdir()) == []
    assert token_sha256(path) == token_sha256(path)


def test_a_token_file_has_its_name_only_once_all_of_it_is_on_disk(tmp_path, monkeypatch):
    path = tmp_path / "token"
    named: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda _: named.append(path.exists()))
    token_sha256(path)
    assert named == [False]


def test_a_token_file_is_used_again(tmp_path):
    path = tmp_path / "token"
    assert token_sha256(path) == token_sha256(path)
    assert hashlib.sha256(read_token(path).encode()).digest() == token_sha256(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o601])
def test_a_token_file_that_others_can_touch_is_refused(tmp_path, mode):
    path = tmp_path / "token"
    token_sha256(path)
    path.chmod(mode)
    for use in (token_sha256, read_token):
        with pytest.raises(ControlFault, match="chmod 600"):
            use(path)


@pytest.mark.parametrize("text", ["", "short", "with a space in the middle", "x" * 257, "ä" * 20])
def test_a_file_without_a_token_is_refused_and_not_shown(tmp_path, text):
    path = tmp_path / "token"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(ControlFault, match="holds no token") as told:
        token_sha256(path)
    assert not text or text not in str(told.value)


def test_a_link_a_folder_and_a_pipe_are_no_token_files(tmp_path):
    target = tmp_path / "target"
    token_sha256(target)
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(target)
    os.mkfifo(pipe, 0o600)
    for path in (link, pipe, tmp_path):
        with pytest.raises(ControlFault):
            token_sha256(path)


def test_a_client_makes_no_token_file(tmp_path):
    with pytest.raises(ControlFault, match="no token file"):
        read_token(tmp_path / "token")
    assert list(tmp_path.iterdir()) == []
