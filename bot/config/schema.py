"""The JSON Schema of the configuration file, made from the sections, for editors."""

import json
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from bot.config.plugins import find_strategy, shipped_strategies
from bot.config.sections import File, applies_of, section_of

URI: Final = "https://json-schema.org/draft/2020-12/schema"
APPLIES: Final = "x-applies"
"""The property of each key that says `live` or `restart`."""


def schema() -> dict[str, Any]:
    made = File.model_json_schema()
    definitions: dict[str, Any] = made.pop("$defs")
    for model in _models(File):
        part = made if model is File else definitions[model.__name__]
        part.pop("title", None)
        for name, field in model.model_fields.items():
            key = part["properties"][name]
            key.pop("title", None)
            key.pop("applies", None)
            key.pop("was", None)
            key[APPLIES] = applies_of(model, field)
    for name in shipped_strategies():
        definitions |= _params(name)
    definitions["StrategyPart"]["allOf"] = [_when(name) for name in shipped_strategies()]
    return {"$schema": URI, "title": "A series of the bot", **made, "$defs": definitions}


def schema_text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _models(model: type[BaseModel]) -> list[type[BaseModel]]:
    found = [model]
    for field in model.model_fields.values():
        section = section_of(field)
        if section is not None:
            found += [each for each in _models(section) if each not in found]
    return found


def _params(name: str) -> dict[str, Any]:
    params = find_strategy(name, Path()).Params.model_json_schema(
        ref_template=f"#/$defs/{name}.{{model}}"
    )
    params.pop("title", None)
    for key in params.get("properties", {}).values():
        key.pop("title", None)
    inner = params.pop("$defs", {})
    return {f"{name}.params": params} | {f"{name}.{key}": each for key, each in inner.items()}


def _when(name: str) -> dict[str, Any]:
    return {
        "if": {"properties": {"name": {"const": name}}, "required": ["name"]},
        "then": {"properties": {"params": {"$ref": f"#/$defs/{name}.params"}}},
    }
