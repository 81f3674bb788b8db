"""Repositories, branches, tags and commits in a request: which value is which."""

from __future__ import annotations

from typing import Any

from tests.case_support import each_case
from tests.helmdeck_planner.test_argument_values import NUMBER, TEXT, arguments, described, tool

FILE = tool(
    "get_file_contents",
    {"branch": described("Branch to get contents from")},
    owner=TEXT,
    repo=TEXT,
    path=described("Path to the file"),
)
COMMITS = tool("list_commits_of_branch", {"sha": TEXT}, owner=TEXT, repo=TEXT)
BRANCH = tool(
    "create_branch",
    {"from_branch": described("Source branch to create from")},
    owner=TEXT,
    repo=TEXT,
    branch=described("Name for the new branch"),
)
PULL = tool(
    "create_pull_request",
    owner=TEXT,
    repo=TEXT,
    title=TEXT,
    head=described("The name of the branch with the changes"),
    base=described("The name of the branch that they are pulled into"),
)
WRITE = tool(
    "create_file",
    owner=TEXT,
    repo=TEXT,
    path=TEXT,
    content=described("Content of the file"),
    message=described("Commit message"),
    branch=described("Branch to create the file in"),
)
DIFF = tool("git_diff_between_branches", {"context_lines": NUMBER}, repo_path=TEXT, target=TEXT)
LOCAL = tool("git_create_branch", {"base_branch": TEXT}, repo_path=TEXT, branch_name=TEXT)
SHOW = tool("git_show_commit", repo_path=TEXT, revision=TEXT)
FORMS: dict[str, Any] = {"owner": "tide", "repo": "forms"}


@each_case(
    ("entry", "request_text", "args"),
    [
        (FILE, "show me a.md from the develop branch of tide/forms", {"path": "a.md", "branch": "develop", **FORMS}),
        (FILE, "what's in src/a.ts on release/3.1 in tide/forms?", {"path": "src/a.ts", "branch": "release/3.1", **FORMS}),
        (FILE, "get the contents of the folder packages/core in tide/forms", {"path": "packages/core", **FORMS}),
        (FILE, "get docs/a.md of tide/forms", {"path": "docs/a.md", **FORMS}),
        (COMMITS, "list the commits on kim/search of tide/forms", {"sha": "kim/search", **FORMS}),
        (COMMITS, "list the commits of tide/forms for release/0.9", {"sha": "release/0.9", **FORMS}),
        (BRANCH, "create a branch spike/wasm from next in tide/forms", {"branch": "spike/wasm", "from_branch": "next", **FORMS}),
        (BRANCH, "create the branch fix/a based on main for tide/forms", {"branch": "fix/a", "from_branch": "main", **FORMS}),
        (BRANCH, "create a new branch docs-refresh in tide/forms", {"branch": "docs-refresh", **FORMS}),
        (BRANCH, "create a branch spike/wasm from release/1.0", {"branch": "spike/wasm", "from_branch": "release/1.0"}),
        (PULL, "create a pull request 'Tabs' in tide/forms to get feat/tabs into main", {
            "title": "Tabs", "head": "feat/tabs", "base": "main", **FORMS,
        }),
        (WRITE, "create the file a.txt with 'hi' on main of tide/forms, commit message 'Add a'", {
            "path": "a.txt", "content": "hi", "branch": "main", "message": "Add a", **FORMS,
        }),
        (PULL, "create a pull request 'Tabs' in tide/forms.js to get feat/tabs into main", {
            "title": "Tabs", "head": "feat/tabs", "base": "main", "owner": "tide", "repo": "forms.js",
        }),
        (DIFF, "diff /srv/a against release/3.2 with 5 lines of context", {
            "repo_path": "/srv/a", "target": "release/3.2", "context_lines": 5,
        }),
        (DIFF, "diff between branches: how far is projects/notes from hotfix/typo", {
            "repo_path": "projects/notes", "target": "hotfix/typo",
        }),
        (LOCAL, "create fix/tls off v1.8-stable in the repository infra/proxy", {
            "repo_path": "infra/proxy", "branch_name": "fix/tls", "base_branch": "v1.8-stable",
        }),
        (SHOW, "show HEAD:src/main.c from /srv/a", {"repo_path": "/srv/a", "revision": "HEAD:src/main.c"}),
        (SHOW, "show the tip of release/2.1 in /srv/a", {"repo_path": "/srv/a", "revision": "release/2.1"}),
    ],
)  # fmt: skip
def test_repositories_branches_paths_and_commits_are_distinguished(
    entry: dict[str, Any], request_text: str, args: dict[str, Any]
) -> None:
    assert arguments(request_text, entry) == args


def test_a_new_branch_is_the_one_to_switch_to() -> None:
    switch = tool("switch_branch", repo_path=TEXT, branch_name=TEXT)
    request = "create the branch fix/a in /srv/a and switch the branch"
    assert arguments(request, LOCAL, switch) == {"repo_path": "/srv/a", "branch_name": "fix/a"}


def test_a_branch_after_a_step_is_not_a_repository() -> None:
    status = tool("git_status", repo_path=TEXT)
    request = "show the status of /srv/a, then the diff between branches against origin/main"
    assert arguments(request, status, DIFF) == {"repo_path": "/srv/a", "target": "origin/main"}
