"""The pages for users of other libraries: both versions of the code print the same, over a loopback server."""

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from helmdeck_testing import Chunks, sse

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
LIBRARIES = {
    "litellm": "litellm",
    "instructor": "instructor",
    "pydantic_ai": "pydantic-ai-slim[openai]",
    "langchain": "langchain-openai",
    "llm": "llm",
    "openai": "openai",
    "llamaindex": "llama-index-llms-openai",
}
MODULES = {"langchain": "langchain_openai", "llamaindex": "llama_index.llms.openai"}
"""The module that a program imports, where it is not the name of its page."""

AI_SDK = "ai @ai-sdk/openai @ai-sdk/openai-compatible zod"

REPLIES = {
    "What is the capital of France?": "Paris.",
    "And of Italy?": "Rome.",
    "Which city has the Eiffel Tower?": '{"name": "Paris", "country": "France"}',
    "Is it cold in Oslo?": "It is cold: 3 degrees.",
}


def text_of(message):
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class Model:
    """Answers by the last question; the first invoice is wrong, and one model is out of quota."""

    def __init__(self):
        self.invoices = iter(['{"number": 7, "total": -1}', '{"number": 7, "total": 120.5}'])

    def __call__(self, body):
        if body["model"] == "gpt-4.1-nano":
            return 429, {}, {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
        texts = [text_of(message) for message in body["messages"] if message["role"] == "user"]
        (question,) = [each for each in [*REPLIES, "Read this invoice"] if each in texts[-1]][:1] or [
            "Read this invoice"
        ]
        if question == "Is it cold in Oslo?" and body["messages"][-1]["role"] != "tool":
            return self.call("get_weather", '{"city": "Oslo"}')
        text = REPLIES.get(question) or next(self.invoices)
        forced = [
            each["function"]["name"] for each in body.get("tools", ()) if body.get("tool_choice", "auto") != "auto"
        ]
        if forced and text.startswith("{"):
            return self.call(forced[0], text)
        if body.get("stream"):
            halves = [text[:3], text[3:]]
            events = [self.chunk(delta={"content": half}) for half in halves]
            return Chunks(sse(*events, self.chunk(delta={}, finish_reason="stop"), "[DONE]"))
        return self.answer({"role": "assistant", "content": text}, "stop")

    def call(self, name, arguments):
        function = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
        return self.answer({"role": "assistant", "content": None, "tool_calls": [function]}, "tool_calls")

    def answer(self, message, reason):
        usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}

    def chunk(self, finish_reason=None, **choice):
        row = {"index": 0, "finish_reason": finish_reason, **choice}
        return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [row]}


def printed_on_page(name):
    text = (ROOT / "docs" / "coming-from" / f"{name.replace('_', '-')}.md").read_text(encoding="utf-8")
    return re.search(r"^Both print:\n\n```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[1]


def is_installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package above it
        return False


def environment(url, folder):
    return {
        "HOME": str(folder),
        "OPENAI_API_KEY": "sk-none",
        "OPENAI_BASE_URL": url,
        "OPENAI_API_BASE": url,
        "HELMDECK_PROVIDERS__OPENAI__BASE_URL": url,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LLM_USER_PATH": str(folder),
    }


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_version_with_helmdeck_prints_what_the_page_shows(chat_server, tmp_path, monkeypatch, capsys, name):
    for variable, value in environment(chat_server(Model()).base_url, tmp_path).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / f"from_{name}_after.py"), run_name="__main__")
    assert capsys.readouterr().out.rstrip() + "\n" == printed_on_page(name)


@pytest.mark.parametrize("name", LIBRARIES)
def test_the_version_with_the_other_library_prints_the_same(chat_server, tmp_path, name):
    if not is_installed(MODULES.get(name, name)):
        pytest.skip(f"pip install '{LIBRARIES[name]}'")
    command = [sys.executable, str(EXAMPLES / f"from_{name}_before.py")]
    variables = environment(chat_server(Model()).base_url, tmp_path)
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip() + "\n" == printed_on_page(name)


@pytest.fixture
def ai_sdk(tmp_path):
    """Run a program of the AI SDK, which finds its packages beside itself."""
    node, modules = shutil.which("node"), os.environ.get("AI_SDK_NODE_MODULES")
    if node is None or not modules:
        pytest.skip(f"npm install {AI_SDK}; AI_SDK_NODE_MODULES names the folder node_modules")
    (tmp_path / "node_modules").symlink_to(Path(modules).resolve())

    def run(name, **variables):
        shutil.copy(EXAMPLES / name, tmp_path)
        env = {"PATH": os.environ["PATH"], **variables}
        command = [node, name]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip() + "\n"

    return run


def test_the_ai_sdk_prints_what_the_page_shows(chat_server, ai_sdk):
    variables = {"OPENAI_BASE_URL": chat_server(Model()).base_url, "OPENAI_API_KEY": "sk-none"}
    assert ai_sdk("from_ai_sdk_before.mjs", **variables) == printed_on_page("ai_sdk")


def test_the_ai_sdk_prints_the_same_over_the_gateway(chat_server, ai_sdk, monkeypatch):
    pytest.importorskip("starlette", reason="pip install 'helmdeck[serve]'")
    from tests.helmdeck_gateway.gateway_support import running_gateway

    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    config = {"providers": {"openai": {"base_url": chat_server(Model()).base_url}}}
    with running_gateway(config=config) as gateway:
        assert ai_sdk("from_ai_sdk_after.mjs", GATEWAY_URL=f"{gateway.url}/v1") == printed_on_page("ai_sdk")


def test_every_program_is_tested():
    programs = {path.name for path in EXAMPLES.glob("from_*")}
    stems = [*(f"{name}_{{}}.py" for name in LIBRARIES), "ai_sdk_{}.mjs"]
    assert programs == {f"from_{stem}".format(version) for stem in stems for version in ("before", "after")}
