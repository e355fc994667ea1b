"""Claims about `bot-health`, which supervisors run: what it asks, and what it ends with."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bot.io import health
from bot.io.status.status import BEAT_HEADER


@contextmanager
def page(
    status: int,
    text: str,
    beats: Iterator[str] | None = None,
    asked: list[str] | None = None,
) -> Iterator[str]:
    """A page on loopback that answers every GET so; each look gets the next beat. Its address.
    asked: gets what was asked for."""
    asked = [] if asked is None else asked

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            if beats is not None:
                self.send_header(BEAT_HEADER, next(beats))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/healthz"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[object, str]:
    with pytest.raises(SystemExit) as end:
        health.main(list(words))
    return end.value.code, capsys.readouterr().out.strip()


def numbers() -> Iterator[str]:
    """A beat that is another one at every look."""
    count = 0
    while True:
        count += 1
        yield str(count)


def one() -> Iterator[str]:
    while True:
        yield "7"


def test_200_is_well(capsys):
    with page(200, "ok\n") as url:
        assert ended(capsys, "--url", url) == (0, "ok")


def test_200_is_well_also_where_nobody_wants_to_read_it(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with page(200, "ok\n") as url, pytest.raises(SystemExit) as end:
        health.main(["--url", url])
    assert end.value.code == 0


def test_503_is_not_well_and_says_why(capsys):
    with page(503, "latched: a breaker\n") as url:
        assert ended(capsys, "--url", url) == (1, "latched: a breaker")


def test_what_a_page_repeats_of_others_stays_one_line_that_steers_no_terminal(capsys):
    with page(503, "boom \x1b[31m red\nok") as url:
        assert ended(capsys, "--url", url) == (1, "boom ?[31m red?ok")


def test_the_one_series_that_is_named_is_asked_for(capsys):
    asked: list[str] = []
    with page(200, "ok", asked=asked) as url:
        ended(capsys, "--url", f"{url}?series=AURELIA-VAL")
    assert asked == ["/healthz?series=AURELIA-VAL"]


def test_a_redirect_is_not_followed_and_not_well(capsys):
    with page(302, "") as url:
        assert ended(capsys, "--url", url)[0] == 1


def test_nobody_there_is_not_well(capsys):
    with page(200, "ok") as url:
        pass
    code, said = ended(capsys, "--url", url)
    assert code == 1
    assert said.startswith("no answer")


def test_an_address_that_is_none_is_not_well(capsys):
    assert ended(capsys, "--url", "http://127.0.0.1:x/")[0] == 1


def test_only_plain_http_is_asked(capsys):
    assert ended(capsys, "--url", "https://127.0.0.1/")[0] == 2


def test_a_bot_that_is_not_well_but_decides_is_alive(capsys):
    with page(503, "latched", numbers()) as url:
        assert ended(capsys, "--url", url, "--live") == (0, "decides")


def test_a_beat_that_stands_still_is_not_alive(capsys, monkeypatch):
    monkeypatch.setattr(health, "LIVE_S", 0.3)
    with page(200, "ok", one()) as url:
        assert ended(capsys, "--url", url, "--live")[0] == 1


def test_a_bot_that_has_not_begun_is_not_alive(capsys):
    with page(503, "starting") as url:
        assert ended(capsys, "--url", url, "--live") == (1, "starting")


def test_it_reads_the_header_that_the_page_sends():
    assert health._BEAT_HEADER == BEAT_HEADER


def test_it_loads_nothing_that_is_not_needed():
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, bot.io.health; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    ours = {name for name in loaded if name.partition(".")[0] in ("bot", "venue", "strategies")}
    assert ours == {"bot", "bot.io", "bot.io.health"}
    assert not {"typer", "pydantic", "httpx", "numpy", "asyncio", "msgspec"} & set(loaded)


def test_it_takes_as_long_as_a_page_that_never_answers_may_take(capsys, monkeypatch):
    monkeypatch.setattr(health, "ANSWER_S", 0.2)

    class Deaf(BaseHTTPRequestHandler):
        def handle(self) -> None:
            time.sleep(1)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Deaf)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}/"
        monkeypatch.setattr(health.ask, "__defaults__", (0.2,))
        begun_s = time.monotonic()
        assert ended(capsys, "--url", url)[0] == 1
        assert time.monotonic() - begun_s < 0.9
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
