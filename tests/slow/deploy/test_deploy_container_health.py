"""Claims about `bot-health`, which supervisors run: its request, its line and its exit code."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import pytest

from bot.io import health
from bot.io.status.status import BEAT_HEADER
from tests.builders.io.loopback import loopback


@contextmanager
def page(
    status: int,
    text: str,
    beats: Iterator[str] | None = None,
    asked: list[str] | None = None,
) -> Iterator[str]:
    """A page on loopback that answers every GET so; each look gets the next beat. Its address.
    asked: gets what was asked for."""

    def answer(request: BaseHTTPRequestHandler) -> tuple[int, bytes, dict[str, str]]:
        if asked is not None:
            asked.append(request.path)
        return status, text.encode(), {} if beats is None else {BEAT_HEADER: next(beats)}

    with loopback(answer) as url:
        yield f"{url}/healthz"


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


@pytest.mark.parametrize(
    ("status", "text", "beats", "words", "code", "said"),
    [
        (200, "ok\n", None, (), 0, "ok"),
        (503, "latched: a breaker\n", None, (), 1, "latched: a breaker"),
        (503, "boom \x1b[31m red\nok", None, (), 1, "boom ?[31m red?ok"),
        (302, "", None, (), 1, None),
        (503, "latched", numbers, ("--live",), 0, "decides"),
        (503, "starting", None, ("--live",), 1, "starting"),
    ],
    ids=["healthy", "unhealthy", "control characters", "redirect", "alive", "not begun"],
)
def test_the_exit_code_and_line_of_a_health_check(capsys, status, text, beats, words, code, said):
    with page(status, text, None if beats is None else beats()) as url:
        found = ended(capsys, "--url", url, *words)
    assert found[0] == code
    assert said is None or found[1] == said


def test_a_health_check_works_without_stdout(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with page(200, "ok\n") as url, pytest.raises(SystemExit) as end:
        health.main(["--url", url])
    assert end.value.code == 0


def test_a_health_check_may_name_a_series(capsys):
    asked: list[str] = []
    with page(200, "ok", asked=asked) as url:
        ended(capsys, "--url", f"{url}?series=AURELIA-VAL")
    assert asked == ["/healthz?series=AURELIA-VAL"]


def test_an_unreachable_page_is_unhealthy(capsys):
    with page(200, "ok") as url:
        pass
    code, said = ended(capsys, "--url", url)
    assert code == 1
    assert said.startswith("no answer")


def test_an_invalid_address_is_unhealthy(capsys):
    assert ended(capsys, "--url", "http://127.0.0.1:x/")[0] == 1


def test_only_plain_http_is_accepted(capsys):
    assert ended(capsys, "--url", "https://127.0.0.1/")[0] == 2


def test_a_beat_that_does_not_change_is_not_alive(capsys, monkeypatch):
    monkeypatch.setattr(health, "LIVE_S", 0.3)
    with page(200, "ok", one()) as url:
        assert ended(capsys, "--url", url, "--live")[0] == 1


def test_the_health_check_loads_no_other_module():
    loaded = subprocess.run(
        [sys.executable, "-c", "import sys, bot.io.health; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    ours = {name for name in loaded if name.partition(".")[0] in ("bot", "venue", "strategies")}
    assert ours == {"bot", "bot.io", "bot.io.health"}
    assert not {"typer", "pydantic", "httpx", "numpy", "asyncio", "msgspec"} & set(loaded)


def test_a_page_that_never_answers_is_unhealthy_after_a_timeout(capsys, monkeypatch):
    monkeypatch.setattr(health.ask, "__defaults__", (0.2,))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun_s = time.monotonic()
        assert ended(capsys, "--url", f"http://127.0.0.1:{silent.getsockname()[1]}/")[0] == 1
        assert time.monotonic() - begun_s < 0.9
