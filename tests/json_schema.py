# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON documents against the schemas of docs/."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any


def validate(value: Any, schema: dict[str, Any], at: str = "$", whole: dict[str, Any] | None = None) -> None:
    """The parts of JSON Schema that the schema uses, and no more: an unknown word is an error."""
    known = {
        "$schema", "$defs", "title", "description", "type", "required", "properties", "items", "additionalProperties",
        "const", "enum", "pattern", "minItems", "maxItems", "$ref", "allOf",
    }  # fmt: skip
    assert set(schema) <= known, at
    whole = whole or schema
    if "$ref" in schema:
        validate(value, whole["$defs"][schema["$ref"].removeprefix("#/$defs/")], at, whole)
    for part in schema.get("allOf", ()):
        validate(value, part, at, whole)
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        kinds = {
            "object": isinstance(value, dict), "array": isinstance(value, list), "string": isinstance(value, str),
            "null": value is None, "integer": type(value) is int, "number": type(value) in (int, float),
        }  # fmt: skip
        assert any(kinds[t] for t in types), f"{at}: {value!r} is no {types}"
    if "const" in schema:
        assert value == schema["const"], at
    if "enum" in schema:
        assert value in schema["enum"], f"{at}: {value!r}"
    if "pattern" in schema:
        assert re.search(schema["pattern"], value), at
    if isinstance(value, dict):
        assert set(schema.get("required", ())) <= set(value), f"{at}: {set(schema.get('required', ())) - set(value)}"
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, item in value.items():
            if key in properties:
                validate(item, properties[key], f"{at}.{key}", whole)
            elif others:
                validate(item, others, f"{at}.{key}", whole)
    if isinstance(value, list):
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)), at
        for i, item in enumerate(value):
            validate(item, schema.get("items", {}), f"{at}[{i}]", whole)


def check_schema(document: Any, schema: Path) -> None:
    """Hold a document to a schema file."""
    validate(document, json.loads(schema.read_text(encoding="utf-8")))
