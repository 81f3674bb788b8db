"""How each client is found and run: its command, its own home, and nothing beyond loopback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import attrs

from benchmarks.gateway_clients.model import FILE_TEXT

VARIABLE: Final = "GATEWAY_TEST_CLIENTS"
"""Names the folders, separated like ``PATH``, each of which contains virtual environments and npm prefixes."""

SCRIPTS: Final = Path(__file__).resolve().parents[2] / "tests" / "real" / "client_scripts"
MODEL: Final = "fake"
"""The model name of every client."""

WORD: Final = "bluebird"
"""The word in the file that tools read."""


class Outcome(NamedTuple):
    """What a client did.

    :ivar status: exit status; ``None`` if it was killed at its limit.
    :ivar rows: of a script, the text and the error by case.
    """

    status: int | None
    output: str
    errors: str
    rows: Mapping[str, Mapping[str, str]]


class Setting(NamedTuple):
    """What a client is run with.

    :ivar url: the server's base URL without ``/v1``.
    :ivar home: an empty folder of its own; ``work`` is below it.
    """

    url: str
    home: Path
    work: Path
    prompt: str


def folders() -> Sequence[Path]:
    """Return the folders in which clients are installed."""
    named = [Path(each) for each in os.environ.get(VARIABLE, "").split(os.pathsep) if each]
    return [
        each for folder in named if folder.is_dir() for each in (folder, *sorted(folder.iterdir())) if each.is_dir()
    ]


def missing(what: str) -> str:
    """Return why a client cannot be run."""
    return f"{what} is not installed in a folder that {VARIABLE} names"


def find_program(name: str) -> Path | None:
    """Return a program of a virtual environment or an npm prefix."""
    places = (folder / sub / name for folder in folders() for sub in ("node_modules/.bin", "bin"))
    return next((place for place in places if place.is_file()), None)


def find_python(package: str) -> Path | None:
    """Return the interpreter of the virtual environment that has a package; one of the same name comes first."""
    for folder in sorted(folders(), key=lambda each: each.name != package):
        if any((folder / "lib").glob(f"python*/site-packages/{package}/__init__.py")):
            return folder / "bin" / "python"
    return None


def find_modules(package: str) -> Path | None:
    """Return the folder ``node_modules`` that has a package."""
    return next((folder / "node_modules" for folder in folders() if (folder / "node_modules" / package).is_dir()), None)


def find_node() -> str | None:
    """Return Node; one among the clients comes first."""
    found = find_program("node")
    return str(found) if found else shutil.which("node")


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return environment variables: a home of its own, and a proxy that refuses everything beyond loopback."""
    node = find_node()
    path = os.pathsep.join([*([str(Path(node).parent)] if node else ()), "/usr/local/bin", "/usr/bin", "/bin"])
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    local = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost")
    return {
        "PATH": path, "HOME": str(home), "TMPDIR": str(home), "LANG": "C.UTF-8", "TERM": "dumb", "CI": "1",
        "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_CACHE_HOME": str(home / ".cache"), "XDG_STATE_HOME": str(home / ".local/state"),
        "DO_NOT_TRACK": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True", **proxies, **local, **more,
    }  # fmt: skip


# -- scripts over libraries -----------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Library:
    """A library with a script.

    :ivar package: the package by which its installation is found.
    :ivar streams: cases of the script that stream text, by API.
    """

    name: str
    package: str
    script: str
    distributions: Sequence[str]
    streams: Mapping[str, str]

    @property
    def is_javascript(self) -> bool:
        """Whether Node runs it."""
        return self.script.endswith(".mjs")

    def reason(self) -> str:
        """Return why it cannot be run; empty if it can."""
        if self.is_javascript:
            return "" if find_modules(self.package) and find_node() else missing(f"{self.package} for Node")
        return "" if find_python(self.package) else missing(f"{self.package} for Python")

    def version(self) -> str:
        """Return the installed versions."""
        if self.is_javascript:
            modules = find_modules(self.package)
            assert modules is not None
            packages = ((modules / each / "package.json").read_text() for each in self.distributions)
            return ", ".join(
                f"{name} {json.loads(package)['version']}"
                for name, package in zip(self.distributions, packages, strict=True)
            )
        code = f"import importlib.metadata as m; print(', '.join(n + ' ' + m.version(n) for n in {list(self.distributions)}))"
        ran = subprocess.run([str(find_python(self.package)), "-c", code], capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    def run(self, setting: Setting, *cases: str, limit_s: float, ask_tool: str = "") -> Outcome:
        """Run cases; without names, all."""
        if self.is_javascript:
            modules = find_modules(self.package)
            assert modules is not None
            for each in SCRIPTS.glob("*.mjs"):  # imports are resolved from the folder of a script
                shutil.copy(each, setting.work)
            (setting.work / "node_modules").symlink_to(modules)
            command = [str(find_node()), str(setting.work / self.script)]
        else:
            command = [str(find_python(self.package)), str(SCRIPTS / self.script)]
        arguments = [setting.url, setting.prompt, ask_tool or file_prompt(setting.work), *cases]
        more = {"PYTHONDONTWRITEBYTECODE": "1", "OPENAI_AGENTS_DISABLE_TRACING": "1", "CLIENT_MODEL": MODEL}
        return execute([*command, *arguments], environment(setting.home, **more), setting.work, limit_s)


LIBRARIES: Final[Mapping[str, Library]] = {
    each.name: each
    for each in (
        Library(
            name="openai", package="openai", script="openai_client.py", distributions=("openai",),
            streams={"chat": "chat_stream", "responses": "responses_stream"},
        ),
        Library(
            name="anthropic", package="anthropic", script="anthropic_client.py", distributions=("anthropic",),
            streams={"messages": "messages_stream"},
        ),
        Library(
            name="langchain", package="langchain_openai", script="langchain_client.py",
            distributions=("langchain-openai", "langchain-anthropic"),
            streams={"chat": "chat_stream", "responses": "responses_stream", "messages": "messages_stream"},
        ),
        Library(
            name="pydantic-ai", package="pydantic_ai", script="pydantic_ai_client.py",
            distributions=("pydantic-ai-slim",),
            streams={"chat": "chat_stream", "responses": "responses_stream", "messages": "messages_stream"},
        ),
        Library(
            name="instructor", package="instructor", script="instructor_client.py", distributions=("instructor",),
            streams={"chat": "calls_stream"},
        ),
        Library(
            name="openai-agents", package="agents", script="openai_agents_client.py",
            distributions=("openai-agents",), streams={"chat": "chat_stream", "responses": "responses_stream"},
        ),
        Library(
            name="openai (JavaScript)", package="openai", script="openai_client.mjs", distributions=("openai",),
            streams={"chat": "chat_stream", "responses": "responses_stream"},
        ),
        Library(
            name="anthropic (JavaScript)", package="@anthropic-ai/sdk", script="anthropic_client.mjs",
            distributions=("@anthropic-ai/sdk",), streams={"messages": "messages_stream"},
        ),
        Library(
            name="AI SDK", package="@ai-sdk/openai-compatible", script="ai_client.mjs",
            distributions=("ai", "@ai-sdk/openai-compatible"), streams={"chat": "chat_stream"},
        ),
    )
}  # fmt: skip


# -- programs -------------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Program:
    """A client on the command line.

    :ivar api: the API that it requests.
    :ivar prepare: writes its files; returns the arguments and environment variables.
    :ivar has_tools: it reads files by tools of its own.
    """

    name: str
    program: str
    api: str
    prepare: Callable[[Setting], tuple[Sequence[str], Mapping[str, str]]]
    has_tools: bool = True

    def reason(self) -> str:
        """Return why it cannot be run; empty if it can."""
        return "" if find_program(self.program) else missing(self.program)

    def version(self) -> str:
        """Return the installed version."""
        program = find_program(self.program)
        assert program is not None
        if program.parent.name == ".bin":
            package = next(parent for parent in program.resolve().parents if (parent / "package.json").is_file())
            described = json.loads((package / "package.json").read_text())
            return f"{described['name']} {described['version']}"
        names = {"aider": "aider-chat", "mini": "mini-swe-agent"}
        name = names.get(self.program, self.program)
        code = f"import importlib.metadata as m; print({name!r}, m.version({name!r}))"
        python = str(program.parent / "python")
        return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    def run(self, setting: Setting, *, limit_s: float) -> Outcome:
        """Run it with a prompt."""
        program = find_program(self.program)
        assert program is not None
        arguments, variables = self.prepare(setting)
        return execute([str(program), *arguments], environment(setting.home, **variables), setting.work, limit_s)


def _codex(setting: Setting) -> tuple[Sequence[str], Mapping[str, str]]:
    folder = setting.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'model = "{MODEL}"\nmodel_provider = "gateway"\ncheck_for_update_on_startup = false\n'
        "[analytics]\nenabled = false\n"
        f'[model_providers.gateway]\nname = "gateway"\nbase_url = "{setting.url}/v1"\n'
        'env_key = "GATEWAY_KEY"\nwire_api = "responses"\n'
    )
    arguments = ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", setting.prompt]
    return arguments, {"GATEWAY_KEY": "any", "CODEX_HOME": str(folder)}


def _claude(setting: Setting) -> tuple[Sequence[str], Mapping[str, str]]:
    variables = {
        "ANTHROPIC_BASE_URL": setting.url, "ANTHROPIC_API_KEY": "any",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
    }  # fmt: skip
    arguments = ["-p", setting.prompt, "--model", MODEL, "--output-format", "text", "--permission-mode", "acceptEdits"]
    return arguments, variables


def _opencode(setting: Setting) -> tuple[Sequence[str], Mapping[str, str]]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{setting.url}/v1", "apiKey": "any"},
        "models": {MODEL: {"name": MODEL, "limit": {"context": 128_000, "output": 4_000}}},
    }
    (setting.work / "opencode.json").write_text(
        json.dumps({"provider": {"local": provider}, "autoupdate": False, "share": "disabled"})
    )
    variables = {
        "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }  # fmt: skip
    return ["run", "-m", f"local/{MODEL}", setting.prompt], variables


def _aider(setting: Setting) -> tuple[Sequence[str], Mapping[str, str]]:
    flags = (
        "--yes-always --no-check-update --analytics-disable --no-show-model-warnings --no-git --no-gitignore".split()
    )
    flags += "--no-pretty --no-suggest-shell-commands --no-detect-urls --no-show-release-notes".split()
    caches = setting.home / ".aider" / "caches"
    caches.mkdir(parents=True)
    (caches / "model_prices_and_context_window.json").write_text('{"none": {}}')  # which it would download
    variables = {"OPENAI_API_KEY": "any", "OPENAI_API_BASE": f"{setting.url}/v1"}
    files = [each.name for each in sorted(setting.work.glob("*.py"))]
    return ["--model", f"openai/{MODEL}", "--message", setting.prompt, *flags, *files], variables


def _mini(setting: Setting) -> tuple[Sequence[str], Mapping[str, str]]:
    variables = {
        "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors", "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_GLOBAL_CONFIG_DIR": str(setting.home), "OPENAI_API_KEY": "any", "OPENAI_API_BASE": f"{setting.url}/v1",
    }  # fmt: skip
    return ["-m", f"openai/{MODEL}", "-t", setting.prompt, "-y", "--exit-immediately"], variables


def _llm(setting: Setting) -> tuple[Sequence[str], Mapping[str, str]]:
    (setting.home / "extra-openai-models.yaml").write_text(
        f"- model_id: {MODEL}\n  model_name: {MODEL}\n  api_base: {setting.url}/v1\n  supports_tools: true\n"
    )
    code = "def look_up(name: str) -> str:\n    'read a file'\n    return open(name).read()\n"
    variables = {"LLM_USER_PATH": str(setting.home), "OPENAI_API_KEY": "any"}
    return ["-m", MODEL, "--functions", code, setting.prompt], variables


def _gemini(setting: Setting) -> tuple[Sequence[str], Mapping[str, str]]:
    folder = setting.home / ".gemini"
    folder.mkdir()
    quiet = {"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}}
    auth = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (folder / "settings.json").write_text(json.dumps({**auth, **quiet}))
    variables = {
        "GOOGLE_GEMINI_BASE_URL": setting.url, "GEMINI_API_KEY": "any", "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }  # fmt: skip
    return ["-p", setting.prompt, "--model", MODEL, "--yolo"], variables


def _qwen(setting: Setting) -> tuple[Sequence[str], Mapping[str, str]]:
    folder = setting.home / ".qwen"
    folder.mkdir()
    quiet = {"privacy": {"usageStatisticsEnabled": False}, "general": {"enableAutoUpdate": False}}
    (folder / "settings.json").write_text(json.dumps(quiet))
    no_proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "")  # it ignores NO_PROXY
    variables = no_proxies | {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": f"{setting.url}/v1", "OPENAI_MODEL": MODEL}
    return ["--auth-type", "openai", "--yolo", "-p", setting.prompt], variables


def _cline(setting: Setting) -> tuple[Sequence[str], Mapping[str, str]]:
    folder = setting.home / ".cline" / "data" / "settings"
    folder.mkdir(parents=True)
    provider = {"provider": "openai-compatible", "apiKey": "any", "model": MODEL, "baseUrl": f"{setting.url}/v1"}
    known = {
        "openai-compatible": {"settings": provider, "updatedAt": "2026-01-01T00:00:00.000Z", "tokenSource": "manual"}
    }
    (folder / "providers.json").write_text(
        json.dumps({"version": 1, "lastUsedProvider": "openai-compatible", "modes": {}, "providers": known})
    )
    return ["--provider", "openai-compatible", "--model", MODEL, "--json", setting.prompt], {}


PROGRAMS: Final[Mapping[str, Program]] = {
    each.name: each
    for each in (
        Program(name="codex", program="codex", api="responses", prepare=_codex),
        Program(name="claude-code", program="claude", api="messages", prepare=_claude),
        Program(name="opencode", program="opencode", api="chat", prepare=_opencode),
        Program(name="aider", program="aider", api="chat", prepare=_aider, has_tools=False),
        Program(name="mini-swe-agent", program="mini", api="chat", prepare=_mini),
        Program(name="llm", program="llm", api="chat", prepare=_llm),
    )
}

GEMINI_CLI: Final = Program(name="gemini-cli", program="gemini", api="gemini", prepare=_gemini)
"""Not one of ``PROGRAMS``: the models of the benchmark do not speak its API, so it has no run without a gateway."""

AGENTS: Final[Mapping[str, Program]] = {
    **{name: PROGRAMS[name] for name in ("codex", "claude-code", "opencode")},
    "qwen-code": Program(name="qwen-code", program="qwen", api="chat", prepare=_qwen),
    "gemini-cli": GEMINI_CLI,
    "cline": Program(name="cline", program="cline", api="chat", prepare=_cline),
    "aider": PROGRAMS["aider"],
}
"""The agents that edit files."""


# -- running --------------------------------------------------------------------------------------------------------


def setting_in(folder: Path, url: str, prompt: str = "When is the tide?") -> Setting:
    """Return a setting in an empty folder."""
    home, work = folder / "home", folder / "work"
    for each in (home, work):
        each.mkdir(parents=True)
    return Setting(url, home, work, prompt)


def with_file(setting: Setting) -> Setting:
    """Return a setting whose prompt asks for the word in a file, which is written."""
    (setting.work / "word.txt").write_text(f"{FILE_TEXT}{WORD}\n")
    return setting._replace(prompt=file_prompt(setting.work))


def file_prompt(work: Path) -> str:
    """Return the prompt that asks for the word in a file."""
    return f"Read the file {work / 'word.txt'} and name the word in it."


def execute(command: Sequence[str], variables: Mapping[str, str], folder: Path, limit_s: float) -> Outcome:
    """Run a command in a process group of its own, which is killed at the limit."""
    ran = subprocess.Popen(
        command, env=dict(variables), cwd=folder, text=True, errors="replace", start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    status: int | None = None
    try:
        output, errors = ran.communicate(timeout=limit_s)
        status = ran.returncode
    except subprocess.TimeoutExpired:
        os.killpg(ran.pid, signal.SIGKILL)
        output, errors = ran.communicate()
    rows = {row["case"]: row for row in _rows(output)}
    return Outcome(status, output, errors, rows)


def _rows(output: str) -> Iterator[Mapping[str, str]]:
    for line in output.splitlines():
        if line.startswith('{"case"'):
            yield json.loads(line)
