"""Findings in schemas: common schemas are valid without a look at the meta-schema, and no other finding is lost by that."""

import sys

from jsonschema import Draft7Validator, Draft202012Validator

from helmdeck_cli.checks.schemas import KEYWORDS, schema_findings
from tests.case_support import each_case

VALUES = [
    None, True, 0, -1, 1, 0.5, -0.5, "", "string", "int", {}, {"x": {}}, {"x": 1}, {"x": {"type": "int"}}, {"type": "int"},
    [], ["string"], ["string", "string"], ["int"], [1], [{}], [{"type": "int"}], [True],
]  # fmt: skip


@each_case(("dialect", "validator"), [("draft-07", Draft7Validator), ("2020-12", Draft202012Validator)])
def test_keyword_has_a_finding_exactly_if_the_meta_schema_of_its_dialect_rejects_it(dialect, validator):
    url = validator.META_SCHEMA["$schema"]
    assert dialect in url
    meta, wrong = validator(validator.META_SCHEMA), []
    for key in sorted(KEYWORDS - {"$schema"} | {"$recursiveRef", "id", "x-own"}):
        for value in VALUES:
            schema = {"$schema": url, "properties": {"x": {key: value}}}
            is_found = "error" in [level for level, _, _ in schema_findings(schema, ())]
            if is_found == meta.is_valid(schema):
                wrong.append((key, value))
    assert wrong == []


def test_common_schema_is_checked_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    path = {"type": "string", "description": "A path.", "minLength": 1}
    schema = {"type": "object", "properties": {"path": path, "n": {"type": ["integer", "null"]}}, "required": ["path"]}
    assert list(schema_findings(schema, ())) == []


def test_schema_that_is_nested_too_deeply_is_a_finding():
    schema = {"type": "object"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"x": schema}}
    assert ("error", (), "the schema is nested too deeply") in list(schema_findings(schema, ()))
