"""Claims about the bodies of the description: what fits is accepted, what does not is refused."""

from typing import Any

import pytest
import yaml
from openapi_schema_validator import OAS31Validator

from tests.builders.venue.rest_bench import LOW, TICKERS, Client, order
from venue.engine import messages as m
from venue.rest import openapi
from venue.wire import routes
from venue.wire.limits import QTY_MAX

pytestmark = pytest.mark.anyio
DOCUMENT: dict[str, Any] = yaml.safe_load(openapi.document())


ORDER = {"ticker": "A-26Q4-1B", "outcome": "yes", "side": "buy", "price": 40, "qty": 10}
ORDER["client_order_id"] = "a"
BY_BUDGET = {"qty": None, "budget_cents": 500, "time_in_force": "ioc"}
FITTING_ORDERS = [
    {},
    {"ticker": None, "market_id": LOW},
    {"side": "sell", "time_in_force": "gtc"},
    {"time_in_force": None, "budget_cents": None, "market_id": None, "more": [1]},
    BY_BUDGET,
    BY_BUDGET | {"time_in_force": "fok"},
]
UNFIT_ORDERS = [
    {"market_id": LOW},
    {"ticker": None},
    {"budget_cents": 500},
    {"qty": None},
    BY_BUDGET | {"qty": 1},
    BY_BUDGET | {"side": "sell"},
    BY_BUDGET | {"time_in_force": "gtc"},
    BY_BUDGET | {"time_in_force": None},
    BY_BUDGET | {"budget_cents": 0},
    {"price": 0},
    {"price": 100},
    {"price": None},
    {"qty": 0},
    {"qty": QTY_MAX + 1},
    {"outcome": "maybe"},
    {"client_order_id": ""},
    {"client_order_id": "a" * 65},
    {"client_order_id": "\u00e9"},
    {"ticker": "-"},
]


def validator(name):
    """What judges a value by a component schema."""
    return OAS31Validator({"$ref": f"#/components/schemas/{name}", **DOCUMENT})


@pytest.mark.parametrize("change", FITTING_ORDERS)
async def test_an_order_that_fits_the_schema_is_accepted(desk, change):
    body = ORDER | {"ticker": TICKERS[LOW]} | change
    assert validator("NewOrder").is_valid(body)
    desk.answers.append(m.Placed(order(8), "a", True, None))
    assert (await Client(desk).ask("POST", "/orders", json=body)).status_code == 201


@pytest.mark.parametrize("change", [*UNFIT_ORDERS, *({name: ...} for name in ORDER)], ids=str)
async def test_an_order_that_does_not_fit_the_schema_is_rejected(desk, change):
    body = ORDER | {"ticker": TICKERS[LOW]} | change
    body = {name: value for name, value in body.items() if value is not ...}
    assert not validator("NewOrder").is_valid(body)
    assert (await Client(desk).ask("POST", "/orders", json=body)).status_code == 400


@pytest.mark.parametrize("body", [{"price": 40}, {"qty": 5, "price": None}, {"qty": 5, "x": 1}])
async def test_an_amend_that_fits_the_schema_is_accepted(desk, body):
    assert validator("Amend").is_valid(body)
    desk.answers.append(m.Amended(order(7), kept_place=True))
    assert (await Client(desk).ask("PUT", "/orders/7", json=body)).status_code == 200


@pytest.mark.parametrize("body", [{}, {"price": None}, {"qty": 0}, {"price": 100}, {"x": 1}, []])
async def test_an_amend_that_does_not_fit_the_schema_is_rejected(desk, body):
    assert not validator("Amend").is_valid(body)
    assert (await Client(desk).ask("PUT", "/orders/7", json=body)).status_code == 400


@pytest.mark.parametrize("route", routes.ROUTES, ids=lambda route: route.name)
def test_a_parameter_has_a_valid_example_a_default_or_choices(route):
    shown = DOCUMENT["paths"][route.path][route.method.lower()]
    for parameter in shown.get("parameters", []):
        schema = parameter["schema"]
        if "example" in parameter:
            assert OAS31Validator(schema).is_valid(parameter["example"])
        else:
            assert "default" in schema or "enum" in schema


@pytest.mark.parametrize("route", [routes.CREATE_ORDER, routes.AMEND_ORDER])
def test_the_examples_of_a_body_fit_its_schema(route):
    shown = DOCUMENT["paths"][route.path][route.method.lower()]["requestBody"]
    media = shown["content"]["application/json"]
    for example in media["examples"].values():
        assert OAS31Validator({**media["schema"], **DOCUMENT}).is_valid(example["value"])
