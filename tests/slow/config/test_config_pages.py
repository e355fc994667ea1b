"""Claims about what is made from the sections: reference and schema are current and true."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from bot.config.bot_config import finish, read_draft
from bot.config.plugins import find_strategy, shipped_strategies
from bot.config.schema import APPLIES, schema, schema_text
from bot.config.sections import (
    LIVE,
    SETTINGS_OF,
    File,
    applies_of,
    field_of,
    key_of_field,
    section_of,
)
from bot.core.reconfigure import FIXED_PACE
from bot.core.reconfigure import LIVE as LIVE_PARTS
from bot.core.settings import TraderSettings
from tests.builders.config.configuration_page import page

TRADER = finish(read_draft(Path("configs/demo.yaml"))).trader
ROOT = Path(__file__).resolve().parents[3]
SHIPPED = sorted(ROOT.glob("configs/*.yaml"))
SERIES = [path for path in SHIPPED if path.name != "venue.yaml"]
SECTIONS = {
    name: section
    for name, field in File.model_fields.items()
    if (section := section_of(field)) is not None
}


def judge() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema())


def faults(text: str) -> list[str]:
    return [fault.message for fault in judge().iter_errors(yaml.safe_load(text))]


DEMO = (ROOT / "configs/demo.yaml").read_text()


def test_reference_and_schema_are_generated_from_the_sections():
    assert (ROOT / "docs/configuration.md").read_text() == page()
    assert (ROOT / "configs/schema.json").read_text() == schema_text()
    jsonschema.Draft202012Validator.check_schema(json.loads(schema_text()))


@pytest.mark.parametrize("path", SERIES, ids=lambda path: path.name)
def test_every_shipped_file_names_the_schema_and_is_valid_by_it(path):
    text = path.read_text()
    assert text.startswith("# yaml-language-server: $schema=schema.json\n")
    assert faults(text) == []


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("order_qty: 100", "order_qty: 0", "less than the minimum of 1"),
        ("order_qty: 100", "order_qty: 1.5", "not of type 'integer'"),
        ("order_qty: 100", "order_quantity: 100", "'order_quantity' was unexpected"),
        ("levels: 2", "levls: 2", "'levls' was unexpected"),
        ("lot_qty: 10", "lot_qty: 0", "less than the minimum of 1"),
        ("series: AURELIA-VAL", "", "'series' is a required property"),
    ],
)
def test_the_schema_rejects_values_that_the_bot_refuses(old, new, word):
    assert any(word in fault for fault in faults(DEMO.replace(old, new, 1)))


def test_the_schema_describes_the_parameters_of_every_shipped_strategy():
    definitions = schema()["$defs"]
    for name in shipped_strategies():
        params = find_strategy(name, Path()).Params
        assert set(definitions[f"{name}.params"].get("properties", {})) == set(params.model_fields)


def test_settings_of_the_trader_and_keys_of_the_file_match():
    for name, field in SETTINGS_OF.items():
        kind = type(getattr(TRADER, field))
        assert {field_of(key) for key in SECTIONS[name].model_fields} == set(kind.__struct_fields__)
        assert [key_of_field(field_of(key)) for key in SECTIONS[name].model_fields] == list(
            SECTIONS[name].model_fields
        )


@pytest.mark.parametrize("section", SECTIONS.values(), ids=SECTIONS)
def test_every_key_has_a_description(section):
    for name, field in section.model_fields.items():
        assert field.description, name


def test_the_live_keys_are_those_that_the_trader_applies():
    """A live key that the trader does not take over would be told as applied and change nothing."""
    live = {
        f"{name}.{key}"
        for name, section in SECTIONS.items()
        for key, field in section.model_fields.items()
        if applies_of(section, field) == LIVE
    }
    section_for = {field: section for section, field in SETTINGS_OF.items()}
    taken = {
        f"{section_for[part]}.{key}"
        for part in LIVE_PARTS
        if part in section_for
        for key in SECTIONS[section_for[part]].model_fields
        if not (section_for[part] == "throttle" and key in FIXED_PACE)
    }
    dates = {f"calendar.{key}" for key in SECTIONS["calendar"].model_fields}
    others = {"strategy.name", "strategy.params", "strategy.variants", "fair_value.sources"}
    assert live == taken | dates | others
    assert set(LIVE_PARTS) < set(TraderSettings.__struct_fields__)


def test_the_schema_marks_every_key_as_live_or_restart():
    definitions = schema()["$defs"]
    assert definitions["Risk"]["properties"]["order_qty"][APPLIES] == "live"
    assert definitions["Throttle"]["properties"]["requests_in_flight"][APPLIES] == "restart"
    for section in SECTIONS.values():
        for key in definitions[section.__name__]["properties"].values():
            assert key[APPLIES] in ("live", "restart")
