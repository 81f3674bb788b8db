"""Values that a request states once for several steps: the repository, the table, the thing that is meant."""

from __future__ import annotations

from typing import Any

from helmdeck_core import UNKNOWN_TOOL
from helmdeck_selection import read_catalog
from tests.case_support import each_case
from tests.helmdeck_planner import test_lexical_plans as lexical
from tests.helmdeck_planner.test_lexical_plans import LIST_OF_TEXT, TEXT, tool

Steps = list[tuple[str, dict[str, Any]]]

DOCK = {**TEXT, "description": "Id of the dock"}
BERTH = {**TEXT, "description": "Id of the berth"}
VAULT = read_catalog(
    {
        "tools": [
            tool(
                "stage_files", "Stage files.", "repo_path files", is_read_only=False, repo_path=TEXT, files=LIST_OF_TEXT
            ),
            tool(
                "commit",
                "Commit what is staged.",
                "repo_path message",
                is_read_only=False,
                repo_path=TEXT,
                message=TEXT,
            ),
            tool(
                "create_branch",
                "Create a branch.",
                "repo_path branch_name",
                is_read_only=False,
                repo_path=TEXT,
                branch_name=TEXT,
            ),
            tool(
                "switch_branch",
                "Switch to a branch.",
                "repo_path branch_name",
                is_read_only=False,
                repo_path=TEXT,
                branch_name=TEXT,
            ),
            tool("get_status", "Get the status of the working tree.", "repo_path", is_read_only=True, repo_path=TEXT),
            tool("list_docks", "List all docks.", is_read_only=True),
            tool("get_berth", "Get a berth.", "dock_id berth_id", is_read_only=True, dock_id=DOCK, berth_id=BERTH),
            tool(
                "delete_berth", "Delete a berth.", "dock_id berth_id", is_read_only=False, dock_id=DOCK, berth_id=BERTH
            ),
        ]
    },
    "vault",
)
SEA = "/home/ada/sea"


def steps(request: str) -> Steps:
    return lexical.plan(request, VAULT)


@each_case(
    ("request_text", "expected"),
    [
        (
            f'In {SEA} stage log/a.txt and log/b.txt and commit them as "Two logs"',
            [
                ("stage_files", {"repo_path": SEA, "files": ["log/a.txt", "log/b.txt"]}),
                ("commit", {"repo_path": SEA, "message": "Two logs"}),
            ],
        ),
        (
            f"in {SEA}: make a branch called tide-table, switch to it, and show the status",
            [
                ("create_branch", {"repo_path": SEA, "branch_name": "tide-table"}),
                ("switch_branch", {"repo_path": SEA, "branch_name": "tide-table"}),
                ("get_status", {"repo_path": SEA}),
            ],
        ),
        (
            f"log/a.txt and log/b.txt should go into the next commit, so stage them. The repo is {SEA}.",
            [("stage_files", {"repo_path": SEA, "files": ["log/a.txt", "log/b.txt"]})],
        ),
    ],
)
def test_a_repository_that_is_stated_once_is_that_of_all_steps(request_text: str, expected: Steps) -> None:
    assert steps(request_text) == expected


def test_a_second_repository_replaces_the_first_one() -> None:
    request = f"show the status of {SEA}, then show the status of /home/ada/land"
    assert steps(request) == [("get_status", {"repo_path": SEA}), ("get_status", {"repo_path": "/home/ada/land"})]


@each_case(
    "request_text",
    [
        "dock dck41, berth brtNorth: get it",
        "In dock dck41, berth brtNorth, what does the berth look like? Get it, please.",
    ],
)
def test_labels_and_ids_alone_are_no_step(request_text: str) -> None:
    assert all(name in ("get_berth", UNKNOWN_TOOL) for name, _ in steps(request_text))


def test_ids_with_labels_are_those_of_all_acts() -> None:
    request = "dock dck41, berth brt7: get the berth and delete the berth"
    args = {"dock_id": "dck41", "berth_id": "brt7"}
    assert steps(request) == [("get_berth", args), ("delete_berth", args)]
