"""Catalogs, plans and values for tests of response schemas."""

import json

from hypothesis import strategies as st

from helmdeck_core import Catalog, Task
from helmdeck_planner.packs.constraints import plan_forms, route_forms
from helmdeck_provider_bedrock.request import CLAUDE_SCHEMAS
from helmdeck_provider_bedrock.request import SCHEMAS as BEDROCK_SCHEMAS
from helmdeck_provider_cohere.request import SCHEMAS as COHERE_SCHEMAS
from helmdeck_providers.schemas.dialect import ANNOTATIONS, BOUNDS
from helmdeck_providers.schemas.server_dialects import DIALECTS
from tests.schema_parts_support import parts

NARROW = {
    dialect.name: dialect
    for dialect in (*DIALECTS.values(), BEDROCK_SCHEMAS, CLAUDE_SCHEMAS, COHERE_SCHEMAS)
    if dialect.keywords is not None
}
RUN = "helmdeck__pipeline-run"


def forms_of(entries, kind="plan"):
    task = Task(name=kind, variant="full_steps", model="a/b", request="x", catalog=entries)
    forms = plan_forms(task, single_pick="s") if kind == "plan" else route_forms(task, most_alternatives=3)
    return {form.name: form for form in forms}


# -- catalogs ----------------------------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "mode", "text"])
LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "string", "format": "uri", "minLength": 1},
        {"type": "integer", "minimum": 0},
        {"type": "number"},
        {"type": "boolean"},
        {"enum": ["x", "y"]},
        {"enum": [1, 2]},
        {"enum": ["x", 1, None]},
        {"type": ["string", "null"]},
        {},
    ]
)


@st.composite
def objects(draw, inner):
    properties = draw(st.dictionaries(NAMES, inner, max_size=3))
    required = [name for name in properties if draw(st.booleans())]
    return {"type": "object", "properties": properties, "required": required}


INPUTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        objects(inner),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda *options: {"anyOf": list(options)}, inner, inner),
    ),
    max_leaves=5,
)


@st.composite
def catalogs(draw):
    packs = [
        {"name": f"tool.{number}", "input_schema": draw(objects(INPUTS))} for number in range(draw(st.integers(0, 3)))
    ]
    if draw(st.booleans()):
        packs.append({"name": "named", "metadata": {"accepts": ["text"]}})
    pipelines = [
        {"id": f"run-{number}", "input_schema": draw(objects(INPUTS))} for number in range(draw(st.integers(0, 2)))
    ]
    return Catalog.from_data({"packs": packs, "pipelines": pipelines}, "test")


# -- plans -------------------------------------------------------------------------------------------------------


def values(schema, root):
    """Values that fit one of our own schemas."""
    if "$ref" in schema:
        return values(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    if "anyOf" in schema:
        return st.one_of([values(option, root) for option in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "object":
            properties, needed = schema["properties"], set(schema["required"])
            made = {name: values(each, root) for name, each in properties.items()}
            return st.fixed_dictionaries(
                {name: made[name] for name in properties if name in needed},
                optional={name: made[name] for name in properties if name not in needed},
            )
        case "array":
            least, most = schema.get("minItems", 0), min(schema["maxItems"], 2)
            return st.lists(values(schema["items"], root), min_size=least, max_size=most)
        case "string":
            return st.sampled_from(["", "x", "two\nlines", "null", "{}", '{"a": 1}'])
        case "integer":
            return st.integers(-3, 3)
        case "number":
            return st.sampled_from([0.5, 2])
        case "boolean":
            return st.booleans()
    return st.none()


class Inexpressible(Exception):
    pass


PYTHON = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "null": type(None)}


def expressed(value, schema, root, *, as_text=False):
    """The value as it is written under a schema: ``null`` for what is left out, a text for what is only sayable as one."""
    if "$ref" in schema:
        return expressed(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, as_text=as_text)
    if value is None and schema.get("nullable"):
        return None
    for is_text in (False, True):
        for option in schema.get("anyOf", ()):
            try:
                return expressed(value, option, root, as_text=is_text)
            except Inexpressible:
                continue
    if "anyOf" in schema:
        raise Inexpressible(value)
    kind = schema.get("type")
    if isinstance(value, dict) and kind == "object":
        properties = schema.get("properties", {})
        if value.keys() - properties.keys() and properties:
            raise Inexpressible(value)
        found = {name: expressed(each, properties.get(name, {}), root, as_text=True) for name, each in value.items()}
        left = [name for name in schema.get("required", ()) if name not in value]
        return found | {name: expressed(None, properties[name], root) for name in left}
    if isinstance(value, list) and kind == "array":
        return [expressed(each, schema.get("items", {}), root, as_text=True) for each in value]
    if isinstance(value, (dict, list)) and kind == "string" and as_text:
        value = json.dumps(value)
    fits = kind is None or (isinstance(value, PYTHON.get(kind, ())) and (kind == "boolean") >= isinstance(value, bool))
    if not fits or value not in schema.get("enum", [value]):
        raise Inexpressible(value)
    return value


def is_same(read, expected):
    """Whether a value was read as it was expected.

    A text in a place where texts may stand stays one, and ``null`` where it may stand is what was left out.
    """
    if isinstance(read, str) and isinstance(expected, (dict, list)):
        return json.loads(read) == expected
    if isinstance(expected, dict):
        if not isinstance(read, dict) or any(read[name] is not None for name in read.keys() - expected.keys()):
            return False
        return expected.keys() <= read.keys() and all(is_same(read[name], expected[name]) for name in expected)
    if isinstance(expected, list):
        return isinstance(read, list) and len(read) == len(expected) and all(map(is_same, read, expected))
    return read == expected


# -- limits ------------------------------------------------------------------------------------------------------


def written_out(schema, root):
    """The schema with everything that it refers to in its place."""
    if "$ref" in schema:
        return written_out(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    found = {key: value for key, value in schema.items() if key != "$defs"}
    if "properties" in found:
        found["properties"] = {name: written_out(each, root) for name, each in found["properties"].items()}
    if "items" in found:
        found["items"] = written_out(found["items"], root)
    if "anyOf" in found:
        found["anyOf"] = [written_out(each, root) for each in found["anyOf"]]
    return found


def depth_of(schema):
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    within = max((depth_of(each) for each in (*inner, *schema.get("anyOf", ()))), default=0)
    return within + (schema.get("type") in ("object", "array"))


STRUCTURE = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref", "$defs"}


def assert_is_taken(schema, dialect):
    """What the pages of an interface say that it takes, counted here once more."""
    for part in parts(schema):
        bounds = {each for kind in BOUNDS.values() for each in kind}
        assert part.keys() <= STRUCTURE | set(dialect.keywords) | ({"nullable"} if dialect.null_keyword else set())
        assert part.keys() & bounds <= dialect.keywords
        assert "format" not in part or dialect.formats is None or part["format"] in dialect.formats
        assert part.get("minItems", 0) <= (dialect.most_min_items if dialect.most_min_items is not None else 99)
        if "$ref" in part:
            assert dialect.has_references and part.keys() <= {"$ref"}
            continue
        assert part.keys() & {"type", "anyOf"} or (dialect.has_any_value and part.keys() <= ANNOTATIONS)
        assert dialect.null_keyword <= (part.get("type") != "null")
        assert part.get("type") == "object" or not part.keys() & {"properties", "required", "additionalProperties"}
        assert part.get("type") == "array" or not part.keys() & {"items", "minItems", "maxItems"}
        if part.get("type") == "object":
            assert_object_is_taken(part, dialect)
        if dialect.distinguishes_by_first_property:
            assert_told_apart([each for each in part.get("anyOf", ()) if each.get("type") == "object"])
    whole = written_out(schema, schema)
    assert schema.get("type") == "object"
    every = list(parts(whole))
    properties = [len(part.get("properties", ())) for part in every]
    enums = [part["enum"] for part in every if "enum" in part]
    optional = sum(len(part["properties"]) - len(part.get("required", ())) for part in every if "properties" in part)
    named = [*schema.get("$defs", ()), *(name for part in every for name in part.get("properties", ()))]
    limits = {
        "most_depth": depth_of(whole),
        "most_properties": sum(properties),
        "most_properties_each": max(properties),
        "most_optional": optional,
        "most_unions": sum("anyOf" in part for part in every),
        "most_choices": sum(map(len, enums)),
        "most_text": sum(len(str(each)) for each in [*named, *(value for enum in enums for value in enum)]),
        "most_size": len(json.dumps(schema, separators=(",", ":"), ensure_ascii=False).encode()),
    }
    for name, value in limits.items():
        most = getattr(dialect, name)
        assert most is None or value <= most, f"{name}: {value} of {most}"


def assert_object_is_taken(part, dialect):
    if dialect.closes_objects:
        assert part["additionalProperties"] is False and set(part["required"]) <= part["properties"].keys()
    if dialect.requires_all:
        assert set(part["required"]) == part["properties"].keys()
    assert part.get("properties") or not dialect.needs_properties
    assert part.get("required") or not dialect.needs_required


def assert_told_apart(objects):
    seen = {}
    for each in objects:
        first = next(iter(each["properties"]), "")
        known = each["properties"].get(first, {}).get("enum")
        for other in seen.get(first, ()):
            assert known and other and not set(map(str, known)) & set(map(str, other))
        seen.setdefault(first, []).append(known)
