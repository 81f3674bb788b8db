"""One verb for several objects that state the same inputs: "add a card 'A' to list L1 and 'B' to list L2"."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, TEXT, described, plan, tool

CARD = tool("add_card", list_id=described("ID of the list"), name=described("Name of the card"))
ISSUE = tool(
    "create_issue",
    {"priority": described("0=None, 1=Urgent, 2=High", NUMBER)},
    title=described("Issue title"),
    team=described("Team name"),
)
SCALE = tool(
    "kubectl_scale",
    {"namespace": described("Namespace of the deployment")},
    name=described("Name of the deployment to scale"),
    replicas=described("Number of replicas to scale to", NUMBER),
)
LOGS = tool("get_logs", {"tail": described("Number of lines from the end", NUMBER)}, pod=described("Name of the pod"))
WORKLOG = tool("add_worklog", issue_key=described("Key of the issue (e.g., 'PROJ-123')"), minutes=NUMBER)
ROUTE = tool("get_directions", origin=described("Start of the route"), destination=described("End of the route"))
COMMENT = tool(
    "add_comment",
    owner=described("Repository owner"),
    repo=described("Repository name"),
    issue_number=described("Number of the issue", NUMBER),
    body=described("Text of the comment"),
)
LENGTH = tool(
    "convert_length",
    value=NUMBER,
    from_unit={"type": "string", "enum": ["m", "km", "ft", "mi"]},
    to_unit={"type": "string", "enum": ["m", "km", "ft", "mi"]},
)
DELETE = tool("delete_records", record_ids={"type": "array", "items": TEXT, "description": "IDs of the records"})
READ_ALL = tool("read_files", paths={"type": "array", "items": TEXT, "description": "Paths of the files"})


def steps(request: str, *tools: dict[str, Any]) -> list[dict[str, Any]]:
    """The arguments of the steps; a gap has none."""
    return [dict(sorted(step["args"].items())) for step in plan(request, *tools)]


@each_case(
    ("entry", "request_text", "found"),
    [
        (
            CARD,
            'add a card "Milk" to list L1 and "Paint" to list L2',
            [{"list_id": "L1", "name": "Milk"}, {"list_id": "L2", "name": "Paint"}],
        ),
        (
            ISSUE,
            'create an issue "Login fails" in team Web with priority 1 and "Crash" in team Mobile with priority 2',
            [
                {"priority": 1, "team": "Web", "title": "Login fails"},
                {"priority": 2, "team": "Mobile", "title": "Crash"},
            ],
        ),
        (
            SCALE,
            "scale web in prod to 3 replicas and api in staging to 5",
            [
                {"name": "web", "namespace": "prod", "replicas": 3},
                {"name": "api", "namespace": "staging", "replicas": 5},
            ],
        ),
        (
            LOGS,
            "show the last 50 lines of pod a-1 and 20 of pod b-2",
            [{"pod": "a-1", "tail": 50}, {"pod": "b-2", "tail": 20}],
        ),
        (
            WORKLOG,
            "add 30 minutes to PROJ-1, 15 to PROJ-3 and 45 to PROJ-2",
            [
                {"issue_key": "PROJ-1", "minutes": 30},
                {"issue_key": "PROJ-3", "minutes": 15},
                {"issue_key": "PROJ-2", "minutes": 45},
            ],
        ),
        (
            ROUTE,
            "get directions from Rome to Milan and from Paris to Lyon",
            [{"destination": "Milan", "origin": "Rome"}, {"destination": "Lyon", "origin": "Paris"}],
        ),
    ],
)
def test_each_object_is_a_step_with_the_values_beside_it(
    entry: dict[str, Any], request_text: str, found: list[dict[str, Any]]
) -> None:
    assert steps(request_text, entry) == found


def test_what_follows_the_last_object_is_stated_for_each() -> None:
    found = steps('add the comment "done" to issue 5 and "wip" to issue 7 in acme/web', COMMENT)

    repository = {"owner": "acme", "repo": "web"}
    assert found == [
        {"body": "done", "issue_number": 5, **repository},
        {"body": "wip", "issue_number": 7, **repository},
    ]


def test_an_object_that_no_entry_takes_is_a_gap_and_changes_no_other_step() -> None:
    found = plan("convert 5 miles to km and 3 pounds to kg", LENGTH)

    assert [step["args"] for step in found] == [{"value": 5, "from_unit": "mi", "to_unit": "km"}, {}]
    assert "3 pounds to kg" in found[1]["rationale"]


@each_case(
    ("entry", "request_text", "found"),
    [
        (DELETE, "delete the records recA01 and recA02", {"record_ids": ["recA01", "recA02"]}),
        (READ_ALL, "read /a/x.md and /b/y.md together", {"paths": ["/a/x.md", "/b/y.md"]}),
        (ISSUE, 'create an issue "Milk and bread" in team Web', {"team": "Web", "title": "Milk and bread"}),
    ],
)
def test_a_list_and_a_joint_inside_of_a_value_are_one_step(
    entry: dict[str, Any], request_text: str, found: dict[str, Any]
) -> None:
    assert steps(request_text, entry) == [found]


def test_no_other_step_takes_a_value_of_an_object_that_is_a_gap() -> None:
    found = plan('create an issue "Login fails" in Web and "Crash on start" in Mobile', ISSUE)

    assert [step["args"].get("title") for step in found] == ["Login fails", None]
    assert all("team" not in step["args"] for step in found)
    assert "Crash on start" in found[1]["rationale"]
