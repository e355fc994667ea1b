"""Claims about where commands find the page of the bot that runs on a state directory."""

import pytest

from bot.io.folder.pageplace import keep_page
from bot.io.folder.statedir import StateDirectory
from tests.io.test_io_cli_asking import DEMO, body, invoke, site, state


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
