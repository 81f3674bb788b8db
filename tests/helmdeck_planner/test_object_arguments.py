"""Inputs that are objects, lists of objects and lists of lists: which words belong to which object and field."""

from __future__ import annotations

from typing import Any

from helmdeck_core import UNKNOWN_TOOL
from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, TEXT, arguments, described, plan, tool

TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}


def listed(**fields: Any) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": fields, "required": list(fields)}}


def entry(name: str, description: str, **required: Any) -> dict[str, Any]:
    return {**tool(name, **required), "description": description}


RELATION = listed(**{"from": TEXT, "to": TEXT, "relationType": TEXT})
CREATE = entry(
    "create_entities",
    "Create multiple new entities in the knowledge graph",
    entities=listed(name=TEXT, entityType=TEXT, observations=TEXTS),
)
RELATE = entry(
    "create_relations", "Create multiple new relations between entities in the knowledge graph", relations=RELATION
)
OBSERVE = entry(
    "add_observations",
    "Add new observations to existing entities in the knowledge graph",
    observations=listed(entityName=TEXT, contents=TEXTS),
)
FORGET = entry(
    "delete_entities", "Delete multiple entities and their relations from the knowledge graph", entityNames=TEXTS
)
REMOVE = entry(
    "delete_observations",
    "Delete specific observations from entities in the knowledge graph",
    deletions=listed(entityName=TEXT, observations=TEXTS),
)
UNRELATE = entry("delete_relations", "Delete multiple relations from the knowledge graph", relations=RELATION)
MEMORY = (CREATE, RELATE, OBSERVE, FORGET, REMOVE, UNRELATE)
PUSH = entry(
    "push_files", "Push multiple files to a repository in a single commit",
    branch=TEXT, files=listed(path=TEXT, content=TEXT), message=described("Commit message"),
)  # fmt: skip
ORDER = tool("create_order", customer=TEXT, items=listed(sku=described("Stock keeping unit"), quantity=NUMBER))
CHART = tool("generate_bar_chart", data=listed(category=TEXT, value=NUMBER))
FORM = tool(
    "fill_form",
    fields=listed(
        target=described("Element reference or a unique selector"),
        name=TEXT,
        type={"enum": ["textbox", "checkbox"]},
        value=TEXT,
    ),
)
PAGE = tool("update_page", page_id=TEXT, properties={"type": "object"})
ROWS = tool("insert_rows", table=TEXT, rows={"type": "array", "items": {"type": "object"}})
SHEET = tool("append_rows", sheet=TEXT, rows={"type": "array", "items": TEXTS})
EDIT = tool("edit_file", path=TEXT, edits=listed(oldText=TEXT, newText=TEXT))


def entity(name: str, kind: str, *observations: str) -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": list(observations)}


def relation(source: str, link: str, target: str) -> dict[str, Any]:
    return {"from": source, "to": target, "relationType": link}


def noted(name: str, *contents: str) -> dict[str, Any]:
    return {"entityName": name, "contents": list(contents)}


def files(**contents: str) -> list[dict[str, str]]:
    return [{"path": f"{name}.txt", "content": content} for name, content in contents.items()]


@each_case(
    ("tools", "request_text", "value"),
    [
        ((CREATE,), "create the entities Anna (person, likes tea) and Bob (robot, can fly)", [
            entity("Anna", "person", "likes tea"), entity("Bob", "robot", "can fly"),
        ]),
        ((CREATE,), "create the entity db-1, type host: it runs Linux and is old", [
            entity("db-1", "host", "it runs Linux", "is old"),
        ]),
        ((CREATE,), "create entities for app-1 and app-2, type host, with the note 'old'", [
            entity("app-1", "host", "old"), entity("app-2", "host", "old"),
        ]),
        ((CREATE,), "create two entities of type city: Lund with the observation 'old' and Malmo with the observation 'big'", [
            entity("Lund", "city", "old"), entity("Malmo", "city", "big"),
        ]),
        ((CREATE,), "make a new entity for the company Acme Ltd, with the observation 'old'", [entity("Acme Ltd", "company", "old")]),
        ((RELATE,), "add two relations: Anna works at Acme, and Bob manages Anna", [
            relation("Anna", "works at", "Acme"), relation("Bob", "manages", "Anna"),
        ]),
        ((RELATE,), "create the relation Anna Berg reports_to Leo Hart", [relation("Anna Berg", "reports_to", "Leo Hart")]),
        ((RELATE,), "link her so that Anna Berg sings_in Choir West", [relation("Anna Berg", "sings_in", "Choir West")]),
        ((RELATE,), "add a 'member of' relation between Leo Hart and Choir West", [relation("Leo Hart", "member of", "Choir West")]),
        ((OBSERVE,), "add 'vegan' to Anna and 'tall' to Bob", [noted("Anna", "vegan"), noted("Bob", "tall")]),
        ((OBSERVE,), "add to the entity Hangar 4 that the roof leaks", [noted("Hangar 4", "the roof leaks")]),
        ((PUSH,), "push two files to main: a.txt with alpha and b.txt containing 'beta', message 'Seed'", files(a="alpha", b="beta")),
        ((ORDER,), "create an order for Acme: 2 of SKU-1 and 5 of SKU-9", [
            {"sku": "SKU-1", "quantity": 2}, {"sku": "SKU-9", "quantity": 5},
        ]),
        ((CHART,), "generate a bar chart of apples 10 and pears: 20", [
            {"category": "apples", "value": 10}, {"category": "pears", "value": 20},
        ]),
        ((FORM,), "fill the form: textbox 'Name' (#name) with 'Ada', textbox 'City' in #city with 'Kiel'", [
            {"target": "#name", "name": "Name", "type": "textbox", "value": "Ada"},
            {"target": "#city", "name": "City", "type": "textbox", "value": "Kiel"},
        ]),
        ((PAGE,), "on page 5dd-21 set Status to In Progress, Owner to Mia and Points to 5", {
            "Status": "In Progress", "Owner": "Mia", "Points": 5,
        }),
        ((ROWS,), "add two rows to the table pets: name 'Rex', age 4 and name 'Mia', age 2", [
            {"name": "Rex", "age": 4}, {"name": "Mia", "age": 2},
        ]),
        ((SHEET,), "append the rows 'bolts', 40 and 'nuts', 12 to the sheet Stock", [["bolts", "40"], ["nuts", "12"]]),
        ((EDIT,), "in a.txt replace 'v1' with 'v2' and 'old' with 'new'", [
            {"oldText": "v1", "newText": "v2"}, {"oldText": "old", "newText": "new"},
        ]),
    ],
)  # fmt: skip
def test_words_fill_the_fields_of_each_object(tools: tuple[dict[str, Any], ...], request_text: str, value: Any) -> None:
    assert value in arguments(request_text, *tools).values()


@each_case(
    ("request_text", "name"),
    [
        ("delete the note 'frozen until May' from the entry ledger", "delete_observations"),
        ("delete the relation 'owns' from Anna to Acme", "delete_relations"),
        ("delete the entities Anna and Bob", "delete_entities"),
        ("remember that Anna speaks Tamil", "add_observations"),
        ("remember Anna as a person who speaks Tamil", "create_entities"),
        ("put in a new entity: name 'Heron', type 'boat', observations 'long' and 'red'", "create_entities"),
        ("tell Bob Hale that lunch is ready", UNKNOWN_TOOL),
    ],
)
def test_the_objects_that_take_all_words_decide_between_entries(request_text: str, name: str) -> None:
    assert [step["tool"] for step in plan(request_text, *MEMORY)] == [name]


def test_two_joined_names_stay_in_one_command() -> None:
    found = arguments("forget legacy-ftp and smtp-relay-old altogether, both boxes were scrapped in June", *MEMORY)
    assert found == {"entityNames": ["legacy-ftp", "smtp-relay-old"]}


def test_a_pronoun_is_the_object_of_the_step_before() -> None:
    [_, step] = plan("add the observation 'retired' to Tom and delete the observation 'at work' from him", *MEMORY)
    assert step["args"] == {"deletions": [{"entityName": "Tom", "observations": ["at work"]}]}


@each_case(
    ("tools", "request_text"),
    [
        ((CREATE,), "create an entity for Anna"),
        ((RELATE,), "add a relation between Anna and Acme"),
        ((OBSERVE,), "add an observation to Anna"),
        ((CHART,), "generate a bar chart of the sales"),
        ((PAGE,), "update the page properties"),
    ],
)
def test_an_object_without_all_required_fields_stays_open(tools: tuple[dict[str, Any], ...], request_text: str) -> None:
    assert arguments(request_text, *tools) == {}
