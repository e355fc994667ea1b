"""Claims about certificates: what the environment names is believed neither by REST nor channel."""

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve

from bot.core import messages as m
from bot.io.client import sockets
from bot.io.client.feed import Feed, FeedTimes
from bot.io.client.rest import Rest
from bot.io.secret import Secret

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make one with"),
]
OFTEN = FeedTimes(backoff_min_s=0.01, backoff_max_s=0.02)


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def own(tmp_path) -> tuple[Path, Path]:
    """A certificate that nobody has signed, for this host, and its key."""
    certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
    words = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *words, *names, *files], check=True, capture_output=True)
    return certificate, key


async def met(own: tuple[Path, Path]) -> tuple[m.Answer, int]:
    """What REST answers of a server with that certificate, and how many channels came to it."""
    shaken = 0

    async def talk(_socket: ServerConnection) -> None:
        nonlocal shaken
        shaken += 1

    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(*own)
    async with serve(talk, "127.0.0.1", 0, ssl=shown) as server:
        place = f"127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        rest = Rest(f"https://{place}/v1", Secret("k" * 20), 1)
        answer = (await rest.ask(m.ReadBalance())).answer
        await rest.drain()
        running = asyncio.ensure_future(Feed(f"wss://{place}/", lambda _: None, OFTEN).run())
        await asyncio.sleep(0.5)
        running.cancel()
        await asyncio.wait([running])
    return answer, shaken


async def test_a_certificate_that_the_environment_names_is_believed_by_nobody(own, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(own[0]))
    answer, shaken = await met(own)
    assert isinstance(answer, m.Rejected)
    assert "CERTIFICATE_VERIFY_FAILED" in answer.message
    assert shaken == 0


async def test_one_that_is_believed_opens_both(own, monkeypatch):
    believed = ssl.create_default_context(cafile=str(own[0]))
    monkeypatch.setattr(sockets.httpx, "create_ssl_context", lambda **_: believed)
    answer, shaken = await met(own)
    assert not isinstance(answer, m.Rejected) or answer.status
    assert shaken
