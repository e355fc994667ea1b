"""The claims that any message is answered as the interface says, and that none ends the venue."""

import socket
from contextlib import suppress
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, Phase, example, given, seed, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.builders.abuse.frames import handshake
from tests.fuzz.channel import CLOSE_POLICY, EMPTY_SET, FRAMES_PER_EXAMPLE, converse
from tests.fuzz.site import served
from venue.wire.limits import MESSAGE_BYTES_MAX

FRAMES = 6_000
RAW_STREAMS = 200
SUBSCRIBED = '{"type":"subscribed","data":{"targets":0}}'


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    with served(folder) as (made, process):
        yield made
        assert process.poll() is None
    lines = (folder / "venue.log").read_text(encoding="utf-8").splitlines()
    # The server's library logs text that is no UTF-8 with a traceback, closes, and goes on.
    faults = [line for line in lines if "Traceback" in line or "internal_error" in line]
    assert [line for line in faults if "Invalid UTF-8" not in line] == []


def answers_still(site):
    with connect(site.stream_url, proxy=None, compression=None) as channel:
        channel.send(EMPTY_SET)
        return channel.recv(timeout=10) == SUBSCRIBED


def test_every_message_is_answered_as_the_interface_says(site):
    assert converse(site, FRAMES // FRAMES_PER_EXAMPLE, seed_number=1) > FRAMES * 0.9
    assert answers_still(site)


def test_messages_after_the_third_unreadable_one_are_not_answered(site):
    with connect(site.stream_url, proxy=None, compression=None) as channel:
        with suppress(ConnectionClosed):  # it may be closed while we still send
            for _ in range(10):
                channel.send("x")
        with pytest.raises(ConnectionClosed):
            for answers in range(4):  # noqa: B007 - the last value counts
                channel.recv(timeout=10)
        assert (answers, channel.close_code) == (3, CLOSE_POLICY)


def upgraded(site):
    """A raw connection after the handshake of a websocket."""
    where = urlsplit(site.stream_url)
    raw = socket.create_connection((str(where.hostname), where.port or 80), timeout=10)
    raw.sendall(handshake(where.path))
    assert raw.recv(1024).startswith(b"HTTP/1.1 101")
    return raw


def test_arbitrary_bytes_instead_of_frames_do_not_end_the_venue(site):
    @seed(1)
    @settings(
        max_examples=RAW_STREAMS,
        deadline=None,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    @example(b"\x81\x84\0\0\0\0\xff\xfe\xfd\xfc")  # text that is not UTF-8
    @example(b"\x81\x04text")  # not masked
    @example(b"\x81\xff" + b"\xff" * 12)  # a length beyond every limit
    @example(b"\xc1\x80\0\0\0\0")  # a reserved bit
    @example(b"\x80\x80\0\0\0\0")  # a continuation of nothing
    @example(b"\x89\xfe\x00\x7e" + b"\0" * 130)  # a ping that is too long
    @given(st.binary(min_size=1, max_size=200))
    def stream(sent):
        with upgraded(site) as raw:
            raw.sendall(sent)

    stream()
    assert answers_still(site)


def test_an_oversize_message_closes_only_its_own_connection(site):
    with connect(site.stream_url, proxy=None, compression=None) as other:
        with connect(site.stream_url, proxy=None, compression=None) as channel:
            with pytest.raises(ConnectionClosed):
                for _ in range(100):
                    channel.send("x" * (MESSAGE_BYTES_MAX + 1))
                    channel.recv(timeout=10)
            assert channel.close_code == 1009
        other.send(EMPTY_SET)
        assert other.recv(timeout=10) == SUBSCRIBED
