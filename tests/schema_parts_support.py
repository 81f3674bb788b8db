"""The schemas within a schema, and a check of each of them."""

import functools
import json

from jsonschema import Draft202012Validator


def parts(schema):
    """Every schema within a schema."""
    yield schema
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            for each in value.values():
                yield from parts(each)
        elif key == "items":
            yield from parts(value)
        elif key == "anyOf":
            for each in value:
                yield from parts(each)


def assert_is_schema(schema):
    """Check each part without the parts in it, once: the schemas of a catalog share most parts, and a check is slow."""
    for part in parts(schema):
        inner = {key: dict.fromkeys(part[key], True) for key in ("properties", "$defs") if key in part}
        inner |= {"items": True} if "items" in part else {}
        inner |= {"anyOf": [True] * len(part["anyOf"])} if "anyOf" in part else {}
        _assert_is_part(json.dumps({**part, **inner}))


@functools.cache
def _assert_is_part(written):
    Draft202012Validator.check_schema(json.loads(written))
