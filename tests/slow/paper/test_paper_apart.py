"""Claims about what a paper run cannot do: write to the venue, by any way that it is given."""

import ast
import asyncio
import inspect
import typing

import pytest

from bot.core import messages as m
from bot.io.adapter import VenueAddress
from bot.io.client.native import NativeAdapter
from bot.io.client.preflight import PUBLIC_READS, PublicVenue
from bot.io.secret import Secret
from tests.builders.house import tree


def test_the_client_of_a_paper_run_has_no_method_for_writes():
    methods = {name for name in vars(PublicVenue) if not name.startswith("_")}
    assert methods == {"read_public", "channel", "close"}
    taken = typing.get_type_hints(PublicVenue.read_public)["request"]
    assert set(typing.get_args(taken)) == {m.ReadSeries, m.ReadBook} == set(PUBLIC_READS)
    assert list(inspect.signature(PublicVenue.read_public).parameters) == ["self", "request"]


@pytest.mark.parametrize("request_", [m.CancelResting("1"), m.ReadBalance(), m.ReadResting("")])
def test_a_paper_run_cannot_send_anything_but_public_reads(request_):
    async def asked():
        address = VenueAddress("http://127.0.0.1:1/v1", "ws://127.0.0.1:1", Secret("k" * 20))
        public = PublicVenue(NativeAdapter(), address)
        with pytest.raises(AssertionError, match="nothing else"):
            await public.read_public(request_)

    asyncio.run(asked())


def test_the_paper_venue_uses_no_other_client():
    names = {
        alias.name
        for node in ast.walk(tree.tree(tree.ROOT / "bot/lab/paper.py"))
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith(("bot.io.adapter", "bot.io.client", "httpx"))
        for alias in node.names
    }
    assert not names & {"adapter_named", "connect", "NativeAdapter", "Rest", "AsyncClient"}
    assert "PublicVenue" in names
