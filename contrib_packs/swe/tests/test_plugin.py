"""``swe.solve`` with mini-swe-agent and a scripted model behind a loopback server, in real repositories."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import helmdeck_pack_swe
from helmdeck_core import PackError, PackErrorCode, RateLimited
from helmdeck_pack_swe.agent_process import ACTION, MAX_OBSERVATION, MAX_OUTPUT_BYTES, observation, run_command
from helmdeck_pack_swe.solve import NAME, PYTHON_VARIABLE, shortened
from helmdeck_testing import completion

needs_agent = pytest.mark.skipif(
    PYTHON_VARIABLE not in os.environ and importlib.util.find_spec("minisweagent") is None,
    reason=f"mini-swe-agent is not installed, and {PYTHON_VARIABLE} names no Python that has it",
)

SOURCE = "def mean(values):\n    return sum(values) / (len(values) + 1)\n"
TEST = "from stats import mean\n\nassert mean([2, 4]) == 3, mean([2, 4])\n"
RUN_TEST = [sys.executable, "test_stats.py"]

FIX = "I fix the divisor.\n\n```bash\nsed -i 's/(len(values) + 1)/len(values)/' stats.py\n```"
CHECK = f"I run the test.\n\n```bash\n{sys.executable} test_stats.py\n```"
DONE = "Done.\n\n```bash\nprintf 'COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\\nFixed the divisor.\\n'\n```"


def command(text):
    return f"I try it.\n\n```bash\n{text}\n```"


def git(*words, folder):
    options = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(["git", *options, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(tmp_path):
    """A repository with a planted bug, whose test fails."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "--quiet", "--initial-branch=main", folder=folder)
    (folder / "stats.py").write_text(SOURCE)
    (folder / "test_stats.py").write_text(TEST)
    git("add", ".", folder=folder)
    git("commit", "--quiet", "-m", "Add mean", folder=folder)
    return folder


def state(folder):
    """Everything that must not change: refs, configuration, index, working tree, list of worktrees."""
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "objects" not in path.parts}
    return files, git("for-each-ref", folder=folder), git("worktree", "list", folder=folder)


@pytest.fixture
def solve(deck_with, chat_server, repository):
    """Run the pack; the model replies with the given texts. The requests are kept in ``solve.requests``."""

    def run(*replies, **options):
        left = list(replies)
        server = chat_server(lambda body: completion(left.pop(0)) if isinstance(left[0], str) else left.pop(0))
        providers = {"vllm": {"base_url": server.base_url}}
        deck = deck_with(helmdeck_pack_swe, config={"providers": providers, "recovery": {"max_attempts": 1}})
        run.requests = server.requests
        arguments = {"path": str(repository), "task": "mean is wrong: fix it", **options}
        return deck.run(NAME, arguments, model="vllm/coder")

    return run


# -- with the agent --------------------------------------------------------------------------------------------


@needs_agent
def test_planted_bug_is_fixed_by_a_patch_that_applies_and_the_repository_is_untouched(solve, repository, tmp_path):
    before = state(repository)
    output = solve(CHECK, FIX, CHECK, DONE, test_command=RUN_TEST)
    assert state(repository) == before
    assert (output["status"], output["summary"], output["steps"]) == ("submitted", "Fixed the divisor.", 4)
    assert (output["files"], output["tests"]["exit_code"], "findings" in output) == (["stats.py"], 0, False)
    clone = tmp_path / "review"
    git("clone", "--quiet", str(repository), str(clone), folder=tmp_path)
    (tmp_path / "solution.patch").write_text(output["patch"])
    git("apply", str(tmp_path / "solution.patch"), folder=clone)
    assert subprocess.run(RUN_TEST, cwd=clone, check=False).returncode == 0
    assert subprocess.run(RUN_TEST, cwd=repository, check=False, capture_output=True).returncode == 1
    assert output["base"] == git("rev-parse", "HEAD", folder=repository).strip()
    conversation = [message["content"] for message in solve.requests[-1].body["messages"]]
    assert any("AssertionError: 2.0" in content for content in conversation), (
        "the model sees the output of its commands"
    )


@needs_agent
def test_agent_cannot_push_and_has_no_credentials(solve, repository, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-Wm4Xc9Tb2Ld8Gn5Vf1Hs6Jp3Ya")
    before = state(repository)
    attempts = (
        f"git remote -v; git push {repository} HEAD:refs/heads/stolen; git push file://{repository} HEAD:refs/heads/stolen; "
        "git push https://127.0.0.1:9/x HEAD; git commit -qam mine; git checkout -qb other; env; cat; echo done"
    )
    output = solve(command(attempts), FIX, DONE)
    seen = json.dumps([request.body for request in solve.requests])
    assert "sk-Wm4X" not in seen
    assert "not allowed" in seen
    assert state(repository) == before
    assert output["files"] == ["stats.py"]


@needs_agent
def test_commits_of_the_agent_are_part_of_the_patch_and_files_of_tools_are_not(solve):
    commit = command("git commit -qam fix && mkdir __pycache__ && touch __pycache__/a.pyc && echo new > 'notes é.txt'")
    output = solve(FIX, commit, DONE)
    assert sorted(output["files"]) == ["notes é.txt", "stats.py"]
    assert "+    return sum(values) / len(values)" in output["patch"]


@needs_agent
def test_agent_that_does_not_finish_returns_what_it_has_with_a_finding(solve):
    output = solve(FIX, CHECK, max_steps=2, test_command=RUN_TEST)
    assert (output["status"], output["steps"]) == ("step_limit", 2)
    assert output["findings"] == ["the agent did not finish: step limit"]
    assert output["tests"]["exit_code"] == 0


@needs_agent
def test_failing_tests_and_unchanged_files_are_findings(solve, repository):
    output = solve(DONE)
    assert (output["patch"], output["files"], output["findings"]) == ("", [], ["nothing was changed"])
    (repository / "stats.py").write_text(SOURCE + "\n")
    output = solve(command("echo '# note' >> stats.py"), DONE, test_command=RUN_TEST)
    uncommitted = "the repository has uncommitted changes, which the agent did not see"
    assert output["findings"] == [uncommitted, "the tests fail with exit code 1"]
    assert "AssertionError" in output["tests"]["output"]


@needs_agent
def test_reply_without_a_single_command_is_corrected(solve):
    output = solve("I have no idea.", f"{FIX}\n{CHECK}", FIX, DONE)
    assert (output["status"], output["steps"]) == ("submitted", 4)
    assert "exactly one" in json.dumps(solve.requests[1].body)


@needs_agent
def test_changes_that_are_not_utf_8_are_an_artifact_failure(solve):
    with pytest.raises(PackError, match="not UTF-8") as caught:
        solve(command(r"printf 'caf\351\n' > latin.txt"), DONE)
    assert caught.value.code is PackErrorCode.ARTIFACT_FAILED


@needs_agent
def test_binary_files_are_part_of_the_patch(solve):
    output = solve(command(r"printf '\000\001' > image.bin"), DONE)
    assert (output["files"], "GIT binary patch" in output["patch"]) == (["image.bin"], True)


@needs_agent
def test_failed_model_call_is_raised_with_its_cause(solve, repository):
    before = state(repository)
    with pytest.raises(RateLimited):
        solve(FIX, (429, {}, {"error": {"message": "slow down"}}))
    assert state(repository) == before


@needs_agent
def test_time_limit_ends_the_agent_with_its_commands(solve, tmp_path):
    pid = tmp_path / "pid"
    output = solve(FIX, command(f"echo $$ > {pid}; cat /dev/zero > /dev/null"), timeout_s=2)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
    assert output["status"] == "time_limit"
    assert output["files"] == ["stats.py"]


# -- without the agent -----------------------------------------------------------------------------------------


def test_missing_agent_is_reported_with_what_to_install(solve, monkeypatch):
    monkeypatch.delenv(PYTHON_VARIABLE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PackError, match=f"mini-swe-agent is not installed.*{PYTHON_VARIABLE}"):
        solve()


def test_interpreter_without_the_agent_is_reported(solve, monkeypatch, tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setenv(PYTHON_VARIABLE, str(bare))
    with pytest.raises(PackError, match="mini-swe-agent failed: ModuleNotFoundError") as caught:
        solve()
    assert caught.value.code is PackErrorCode.HANDLER_FAILED


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"task": " \n"}, "task is empty"),
        ({"path": "/no/such/folder"}, "is not a folder"),
        ({"path": "\0"}, "is not a folder"),
        ({"max_steps": 0}, r"\$\.max_steps"),
        ({"test_command": "pytest; rm -rf /"}, r"\$\.test_command"),
    ],
)
def test_invalid_input_is_rejected_before_anything_runs(solve, options, problem):
    with pytest.raises(PackError, match=problem) as caught:
        solve(**options)
    assert caught.value.code is PackErrorCode.INVALID_INPUT
    assert solve.requests == []


def test_folder_outside_of_a_repository_is_invalid_input(solve, tmp_path, monkeypatch):
    monkeypatch.setenv(PYTHON_VARIABLE, sys.executable)
    with pytest.raises(PackError, match="git rev-parse: fatal: not a git repository") as caught:
        solve(path=str(tmp_path))
    assert caught.value.code is PackErrorCode.INVALID_INPUT


def test_command_is_killed_with_its_children_at_its_limits(tmp_path):
    output = run_command("cat /dev/zero | head -c 1000000000 & wait", str(tmp_path), 30)
    assert "wrote more than" in output["exception_info"]
    assert len(output["output"]) <= MAX_OUTPUT_BYTES + 65_536 * 2
    output = run_command("echo before; cat /dev/zero > /dev/null", str(tmp_path), 0.3)
    assert (output["output"], output["exception_info"], output["returncode"]) == ("before\n", "killed after 0.3 s", -9)


def test_middle_of_a_long_output_is_left_out():
    text = observation({"output": "a" * 30_000 + "end", "returncode": 1, "exception_info": ""})
    assert len(text) < MAX_OBSERVATION + 200
    assert "20,003 characters left out" in text
    assert text.endswith("end\n</output>")


def test_older_outputs_are_shortened_and_the_task_and_the_last_ones_are_not():
    turns = [{"role": "assistant", "content": "a" * 5_000}, {"role": "user", "content": "o" * 5_000}] * 10
    conversation = [{"role": "system", "content": "s"}, {"role": "user", "content": "t" * 5_000}, *turns]
    sizes = [len(each["content"]) for each in shortened(conversation) if each["role"] == "user"]
    assert sizes == [5_000, *[612] * 4, *[5_000] * 6]


@pytest.mark.parametrize("fence", ["bash", "sh", "mswea_bash_command"])
def test_command_of_a_block_is_read(fence):
    assert ACTION.findall(f"why\n```{fence}\nls -la\n```\n") == ["ls -la"]


def test_agent_process_imports_nothing_but_the_standard_library():
    source = (Path(helmdeck_pack_swe.__file__).parent / "agent_process.py").read_text(encoding="utf-8")
    imports = [line.split()[1] for line in source.splitlines() if line.startswith(("import ", "from "))]
    assert {name.partition(".")[0] for name in imports} <= sys.stdlib_module_names
