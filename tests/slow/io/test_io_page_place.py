"""Claims about where commands find the page of the bot that runs on a state directory."""

import socket

import pytest

from bot.io.state import small_files as pageplace
from bot.io.state.locks import StateDirectory
from bot.io.state.small_files import keep_page, page_kept
from bot.io.status.serving import address
from tests.slow.io.test_io_cli_asking import DEMO, body, invoke, site, state


@pytest.mark.parametrize("port", ["0", "1"])
def test_a_bot_is_asked_where_its_page_is_whatever_port_the_configuration_names(tmp_path, port):
    """As the second of several series in a process, whose page is that of the first."""
    config, folder = tmp_path / "demo.yaml", tmp_path / "state"
    config.write_text(DEMO.read_text().replace("port: 8090", f"port: {port}"))
    pause = ("pause", str(config), "--reason", "test", "--state-dir", str(folder))
    with site(body()) as page:
        held = StateDirectory.open(folder)
        try:
            state(folder)
            keep_page(folder, f"{page.url}/")
            assert invoke(*pause).exit_code == 0
        finally:
            held.close()
        assert len(page.asked) == 1
        assert invoke(*pause).exit_code == (2 if port == "0" else 3)
        assert len(page.asked) == 1


def test_where_the_disk_takes_no_address_nobody_is_led_to_the_page_of_a_run_before(
    tmp_path, monkeypatch
):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    held = StateDirectory.open(tmp_path / "state")
    try:
        keep_page(held.path, "http://127.0.0.1:40001/")
        monkeypatch.setattr(pageplace, "replace_file", full)
        keep_page(held.path, "http://127.0.0.1:8090/")
        assert page_kept(held.path) == ""
    finally:
        held.close()


def test_a_page_that_listens_everywhere_is_asked_at_an_address_and_not_by_a_name():
    """The name may lead to another address first, where somebody else would be told the token."""
    with socket.create_server(("0.0.0.0", 0)) as listener:
        assert address(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}/"
