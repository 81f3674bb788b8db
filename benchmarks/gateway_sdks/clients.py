"""The SDKs: how the adapter of each is started and spoken to."""

from __future__ import annotations

import contextlib
import json
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from benchmarks.gateway_clients.programs import SCRIPTS, environment, find_modules, find_node, find_python, missing
from benchmarks.gateway_sdks.checks import CheckFailed, Reply, UnsupportedByClient
from benchmarks.gateway_sdks.upstream import ScriptedUpstream

LIMIT_S: Final = 90.0
"""Limit of one operation; the first one includes the imports of the SDK."""


@attrs.frozen
class Sdk:
    """An SDK with an adapter.

    :ivar api: the API of the gateway that it uses.
    :ivar package: the package by which its installation is found.
    """

    name: str
    api: str
    package: str
    script: str
    distributions: Sequence[str]
    arguments: Sequence[str] = ()

    @property
    def is_javascript(self) -> bool:
        """Whether Node runs it."""
        return self.script.endswith(".mjs")

    def reason(self) -> str:
        """Return why it cannot be run; empty if it can."""
        found = find_modules(self.package) if self.is_javascript else find_python(self.package)
        return "" if found else missing(self.package)

    def version(self) -> str:
        """Return the installed versions."""
        if self.is_javascript:
            modules = find_modules(self.package)
            assert modules is not None
            described = [json.loads((modules / each / "package.json").read_text()) for each in self.distributions]
            return ", ".join(f"{each['name']} {each['version']} (npm)" for each in described)
        code = f"import importlib.metadata as m; print(', '.join(n + ' ' + m.version(n) for n in {list(self.distributions)}))"
        command = [str(find_python(self.package)), "-c", code]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    @contextlib.contextmanager
    def running(self, url: str, upstream: ScriptedUpstream, folder: Path) -> Iterator[Adapter]:
        """Run the adapter within a ``with`` block."""
        if self.is_javascript:
            modules = find_modules(self.package)
            assert modules is not None
            for each in SCRIPTS.glob("*.mjs"):  # imports are resolved from the folder of a script
                shutil.copy(each, folder)
            (folder / "node_modules").symlink_to(modules)
            command = [str(find_node()), str(folder / self.script), url]
        else:
            command = [str(find_python(self.package)), str(SCRIPTS / self.script), url]
        variables = environment(folder, PYTHONDONTWRITEBYTECODE="1", OPENAI_AGENTS_DISABLE_TRACING="1")
        with (folder / "errors.log").open("w") as errors:
            process = subprocess.Popen(
                [*command, *self.arguments], env=variables, cwd=folder, text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=errors,
            )  # fmt: skip
            try:
                yield Adapter(process, upstream, folder / "errors.log")
            finally:
                process.kill()
                process.communicate()


class Adapter:
    """A running adapter.

    :ivar upstream: the model behind the gateway.
    """

    def __init__(self, process: subprocess.Popen[str], upstream: ScriptedUpstream, log: Path) -> None:
        self.upstream = upstream
        self._process = process
        self._log = log
        self._replies: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, name="adapter", daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # closed at the end
            for line in self._process.stdout:
                self._replies.put(line)
        self._replies.put("")

    def send(self, op: str, **fields: Any) -> Reply:
        """Run an operation.

        :raises UnsupportedByClient: the SDK has none.
        :raises CheckFailed: the adapter ended, or did not answer in time.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"op": op, "fields": fields}) + "\n")
            self._process.stdin.flush()
            line = self._replies.get(timeout=LIMIT_S)
        except queue.Empty:
            self._process.kill()
            raise CheckFailed(f"no result after {LIMIT_S:.0f} s") from None
        except OSError:
            line = ""
        if not line:
            lines = self._log.read_text().strip().splitlines() or ["no output"]
            raise CheckFailed(f"the adapter ended: {lines[-1]:.200}")
        reply: Mapping[str, Any] = json.loads(line)
        if "unsupported" in reply:
            raise UnsupportedByClient(reply["unsupported"])
        return reply


_OPENAI_RESPONSES: Final = "openai, Responses"

SDKS: Final[Mapping[str, Sdk]] = {
    each.name: each
    for each in (
        Sdk("openai", "chat", "openai", "adapter_openai.py", ["openai"]),
        Sdk(_OPENAI_RESPONSES, "responses", "openai", "adapter_openai.py", ["openai"], ["responses"]),
        Sdk("anthropic", "messages", "anthropic", "adapter_anthropic.py", ["anthropic"]),
        Sdk("google-genai", "gemini", "google/genai", "adapter_google_genai.py", ["google-genai"]),
        Sdk("openai (Node)", "chat", "openai", "adapter_openai.mjs", ["openai"]),
        Sdk("anthropic (Node)", "messages", "@anthropic-ai/sdk", "adapter_anthropic.mjs", ["@anthropic-ai/sdk"]),
        Sdk("AI SDK", "chat", "@ai-sdk/openai-compatible", "adapter_ai.mjs", ["ai", "@ai-sdk/openai-compatible"]),
        Sdk("LangChain", "chat", "langchain_openai", "adapter_langchain.py", ["langchain-openai"]),
        Sdk(
            "LlamaIndex", "chat", "llama_index/llms/openai_like", "adapter_llama_index.py",
            ["llama-index-llms-openai-like", "llama-index-embeddings-openai-like"],
        ),
        Sdk("pydantic-ai", "chat", "pydantic_ai", "adapter_pydantic_ai.py", ["pydantic-ai-slim"]),
        Sdk("openai-agents", "responses", "agents", "adapter_openai_agents.py", ["openai-agents"]),
    )
}  # fmt: skip
