# SPDX-License-Identifier: GPL-3.0-or-later
"""JSON documents against the schemas of docs/. A test that calls this has the marker `tools`: jsonschema is pinned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
REPORT = DOCS / "report.schema.json"
PREVIEW = DOCS / "preview.schema.json"
# Words of a schema that say something to people, or to other parts of it.
_SILENT = {"$schema", "$defs", "title", "description"}


def check(document: Any, path: Path) -> None:
    """Hold a document to a schema file, and the file to the standard: an unknown word would be passed over."""
    from jsonschema import Draft202012Validator, validators

    schema = json.loads(path.read_text(encoding="utf-8"))
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)
    assert _words(schema) <= {*Draft202012Validator.VALIDATORS, *_SILENT}
    # To the standard 1.0 is an integer; to a program that reads a count it may not be.
    strict = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    validator = validators.extend(Draft202012Validator, type_checker=strict)(schema)
    wrong = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
    assert wrong == []


def _words(schema: Any) -> set[str]:
    """Every word that a schema and the schemas in it use."""
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    for name in ("properties", "$defs"):
        found = found.union(*(_words(part) for part in schema.get(name, {}).values()))
    for name in ("items", "additionalProperties"):
        found |= _words(schema.get(name))
    for name in ("allOf", "anyOf", "oneOf"):
        found = found.union(*(_words(part) for part in schema.get(name, ())))
    return found
