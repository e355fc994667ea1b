"""Claims about certificates: REST and channel trust none that the environment names."""

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
def self_signed(tmp_path) -> tuple[Path, Path]:
    """A self-signed certificate for this host, and its key."""
    certificate, key = tmp_path / "self_signed.pem", tmp_path / "self_signed.key"
    words = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", "req", *words, *names, *files], check=True, capture_output=True)
    return certificate, key


async def connect_both(self_signed: tuple[Path, Path]) -> tuple[m.Answer, int]:
    """The answer to a read at a server with that certificate, and how many channels opened."""
    channels = 0

    async def talk(_socket: ServerConnection) -> None:
        nonlocal channels
        channels += 1

    shown = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    shown.load_cert_chain(*self_signed)
    async with serve(talk, "127.0.0.1", 0, ssl=shown) as server:
        place = f"127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        rest = Rest(f"https://{place}/v1", Secret("k" * 20), 1)
        answer = (await rest.ask(m.ReadBalance())).answer
        await rest.drain()
        running = asyncio.ensure_future(Feed(f"wss://{place}/", lambda _: None, OFTEN).run())
        await asyncio.sleep(0.5)
        running.cancel()
        await asyncio.wait([running])
    return answer, channels


async def test_neither_rest_nor_channel_trusts_a_certificate_named_in_the_environment(
    self_signed, monkeypatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(self_signed[0]))
    answer, channels = await connect_both(self_signed)
    assert isinstance(answer, m.Rejected)
    assert "CERTIFICATE_VERIFY_FAILED" in answer.message
    assert channels == 0


async def test_rest_and_channel_connect_to_a_trusted_certificate(self_signed, monkeypatch):
    believed = ssl.create_default_context(cafile=str(self_signed[0]))
    monkeypatch.setattr(sockets.httpx, "create_ssl_context", lambda **_: believed)
    answer, channels = await connect_both(self_signed)
    assert not isinstance(answer, m.Rejected) or answer.status
    assert channels
