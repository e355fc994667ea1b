"""Claims about the description of the channel: it is valid AsyncAPI 3 and true of the frames."""

import json
import warnings
from typing import get_args

import jsonschema
import pytest
import yaml

from tests.builders.house.tree import ROOT
from venue.stream import asyncapi
from venue.wire import codec, frames, limits
from venue.wire.errors import ChannelCode

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # fields of the library that shadow others of its own
    from asyncapi3.models.asyncapi import AsyncAPI3

DOCUMENT = asyncapi.description()
MESSAGES = DOCUMENT["components"]["messages"]
UUID = "00000000-0000-4000-8000-000000000001"


def nodes(node):
    """Every object of the document."""
    if isinstance(node, dict):
        yield node
    for inner in node.values() if isinstance(node, dict) else node:
        if isinstance(inner, dict | list):
            yield from nodes(inner)


def resolved(reference):
    found = DOCUMENT
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return found


def validator(message):
    payload = MESSAGES[message]["payload"]
    return jsonschema.Draft7Validator(
        {"allOf": [payload], "components": DOCUMENT["components"]},
        format_checker=jsonschema.FormatChecker(["uuid"]),
    )


def example(message):
    (shown,) = MESSAGES[message]["examples"]
    return shown["payload"]


def subscribe(target, **data):
    return {"type": "subscribe", "data": {"targets": [{"target": target, "data": data}]}}


def test_the_description_is_valid_asyncapi_3():
    AsyncAPI3.model_validate(DOCUMENT)


def test_every_reference_of_the_channel_resolves_and_every_component_is_used():
    targets = {node["$ref"] for node in nodes(DOCUMENT) if "$ref" in node}
    assert all(resolved(target) for target in targets)
    for section, parts in DOCUMENT["components"].items():
        assert {f"#/components/{section}/{name}" for name in parts} <= targets


def test_every_schema_of_the_channel_is_valid_json_schema():
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("name", MESSAGES)
def test_the_example_of_a_message_fits_its_schema(name):
    assert list(validator(name).iter_errors(example(name))) == []


def test_every_kind_of_server_frame_is_described_as_it_is_sent():
    shown = {name: example(name) for name in MESSAGES if name != "subscribe"}
    read = {name: codec.decode_frame(json.dumps(frame)) for name, frame in shown.items()}
    assert {name: json.loads(codec.encode(frame)) for name, frame in read.items()} == shown
    updates = {type(each.data) for each in read.values() if isinstance(each, frames.MarketUpdate)}
    assert updates == set(get_args(frames.Update))
    assert {type(each) for each in read.values()} == set(get_args(frames.ServerFrame))


@pytest.mark.parametrize(
    "frame",
    [
        example("subscribe"),
        subscribe("event-market", eventMarketId=UUID),
        subscribe("market", marketId=UUID),
        {"type": "subscribe", "data": {"targets": []}},
    ],
)
def test_a_subscribe_that_fits_the_schema_is_accepted(frame):
    assert validator("subscribe").is_valid(frame)
    codec.parse_subscribe(json.dumps(frame).encode())


@pytest.mark.parametrize(
    "frame",
    [
        {},
        {"type": "unsubscribe", "data": {"targets": []}},
        {"type": "subscribe", "data": {}},
        subscribe("event-market"),
        subscribe("event-market", symbol="ACME"),
        subscribe("event-market", ticker="ACME", eventMarketId=UUID),
        subscribe("somewhere", ticker="ACME"),
        {"type": "subscribe", "data": {"targets": example("subscribe")["data"]["targets"] * 101}},
    ],
)
def test_a_subscribe_that_does_not_fit_the_schema_is_rejected(frame):
    assert not validator("subscribe").is_valid(frame)
    with pytest.raises(codec.FrameRefusal):
        codec.parse_subscribe(json.dumps(frame).encode())


def test_the_numbers_and_codes_of_the_channel_are_described():
    about = DOCUMENT["channels"]["stream"]["description"]
    assert f"{limits.MESSAGE_BYTES_MAX:,} bytes" in about
    code = DOCUMENT["components"]["schemas"]["ChannelError"]["properties"]["code"]
    assert all(each in code["description"] for each in ChannelCode)


def test_the_description_of_the_channel_in_the_docs_is_current():
    text = (ROOT / "docs/asyncapi.yaml").read_text(encoding="utf-8")
    assert text == asyncapi.document(), "run: make pages"
    assert yaml.safe_load(text) == DOCUMENT
