"""The commands config and hooks."""

import importlib.util
import json
import sys

import pytest

from helmdeck_cli.checks.effective_settings import effective_settings
from helmdeck_cli.commands.config import SAMPLE
from helmdeck_core import load_config
from helmdeck_core.config.types import Config
from helmdeck_testing import make_deck
from tests.cli_support import Cli, leave_the_machine

FIVE_MISTAKES = """\
modle = "x"
[selection]
confidence = "high"
ranker = "lexcial"
[providers.mine]
kind = "zzz"
api_key = "sk-plain-secret"
[plugins]
disable = ["no-such-plugin"]
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    monkeypatch.delenv("HELMDECK_PLUGIN_AUTOLOAD")


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


@pytest.fixture
def configure(tmp_path):
    return lambda text: (tmp_path / "helmdeck.toml").write_text(text, encoding="utf-8")


# -- show --------------------------------------------------------------------------------------------------


def test_config_show_prints_each_key_with_value_and_source(cli, configure, monkeypatch):
    configure('model = "stub/x"\n[selection]\nmax_entries = {c = 5}\n[compaction.tiers.c]\ndrop = ["x"]\n')
    monkeypatch.setenv("HELMDECK_SELECTION__SHORTLIST", "3")
    data = cli("config", "show", "--log-level", "debug", "--disable-plugin", "log", "--json").data
    found = {row["key"]: (row["value"], row["source"]) for row in data["settings"]}
    assert found["model"] == ("stub/x", "helmdeck.toml")
    assert found["selection.shortlist"] == (3, "environment HELMDECK_SELECTION__SHORTLIST")
    assert found["log_level"] == ("debug", "argument --log-level")
    assert found["plugins.disable"] == (["log"], "argument --disable-plugin")
    assert found["selection.max_entries.C"] == (5, "helmdeck.toml")
    assert "selection.max_entries.B" not in found, "the default of a tier is contributed by a plugin"
    assert found["compaction.tiers.C.drop"] == (["x"], "helmdeck.toml")
    assert found["selection.ranker"] == ("lexical", "default")


def test_effective_settings_cover_every_configuration_field():
    import attrs

    tops = {setting.key.partition(".")[0] for setting in effective_settings(load_config(environ={}))}
    assert tops == {field.name for field in attrs.fields(Config)}


def test_config_show_prints_no_secret(cli, configure, monkeypatch):
    monkeypatch.setenv("THE_KEY", "sk-from-environment")
    configure(
        '[providers.mine]\nkind = "local"\napi_key = "env:THE_KEY"\nbase_url = "https://ann:sk-in-url@host/v1"\n'
        'headers = {Authorization = "Bearer sk-header", X-Trace = "sk-trace"}\n'
        '[providers.mine.options]\napi_token = "sk-option"\nnested = {password = "sk-nested"}\nregion = "eu"\n'
    )
    for words in ((), ("--json",)):
        done = cli("config", "show", *words)
        assert done.code == 0
        assert "sk-" not in done.out + done.err
        assert "env:THE_KEY" in done.out
        assert "//(not shown)@host/v1" in done.out
        assert "eu" in done.out


def test_config_show_prints_no_secret_in_a_table_that_a_plugin_reads(cli, configure):
    configure(
        '[gateway]\nkey = "sk-gateway"\nmetrics_key = "env:METRICS_KEY"\nrequires_keys = true\n'
        '[events.options.otel]\nheaders = {x-team = "sk-team"}\n'
    )
    for words in ((), ("--json",)):
        done = cli("config", "show", *words)
        assert done.code == 0
        assert "sk-" not in done.out + done.err
        assert "env:METRICS_KEY" in done.out


def test_plain_secret_is_a_mistake_and_is_redacted(cli, configure):
    configure('[providers.mine]\nkind = "local"\napi_key = "sk-plain-secret"\n')
    for command in (["config", "show"], ["config", "check"], ["plan", "hello"]):
        for more in ((), ("--json",)):
            done = cli(*command, *more)
            assert done.code == 2
            assert "sk-plain" not in done.out + done.err
            assert "env:NAME_OF_A_VARIABLE or file:PATH" in done.err + done.out


def test_disable_plugin_option_adds_to_the_configured_list(cli, configure):
    configure('[plugins]\ndisable = ["log"]\n')
    found = {
        row["name"]: row["is_blocked"]
        for row in cli("plugins", "list", "--json", "--disable-plugin", "route").data["plugins"]
    }
    assert (found["log"], found["route"], found["plan"]) == (True, True, False)


# -- check -------------------------------------------------------------------------------------------------


def test_valid_configuration_is_ok(cli, configure):
    configure('model = "local/lexical"\n')
    done = cli("config", "check")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("ok: ")
    assert " catalog entries, model local/lexical" in done.out
    assert cli("config", "check", "--json").data["ok"] is True


@pytest.mark.parametrize("command", [["config", "check"], ["plan", "hello"], ["budgets"], ["catalog", "show"]])
def test_each_mistake_is_shown_with_file_key_value_and_allowed_values(cli, configure, command):
    configure(FIVE_MISTAKES)
    done = cli(*command)
    assert (done.code, done.out) == (2, "")
    head, *lines = done.err.splitlines()
    assert head == "helmdeck: the configuration cannot be used: 6 mistakes"
    assert [line[:5] for line in lines] == [f"  {number}. " for number in range(1, 7)]
    assert all("helmdeck.toml: " in line and "; allowed: " in line for line in lines)
    for part in (
        "modle: unknown key (did you mean 'model'?)",
        "selection.confidence: not a number, found 'high'",
        "selection.ranker: unknown ranker (did you mean 'lexical'?), found 'lexcial'",
        "providers.mine.kind: unknown kind of provider, found 'zzz'",
        "providers.mine.api_key: not a reference to a secret, found a string (not shown)",
        "plugins.disable: unknown plugin, found 'no-such-plugin'",
    ):
        assert part in done.err
    assert len(cli(*command, "--json").data["error"]["mistakes"]) == 6


def test_mistakes_name_options_and_variables_as_written(cli, monkeypatch):
    assert "argument --log-level: log_level: unknown log level" in cli("config", "check", "--log-level", "loud").err
    assert "argument --disable-plugin: plugins.disable" in cli("config", "check", "--disable-plugin", "x").err
    monkeypatch.setenv("HELMDECK_MODLE", "x")
    assert "environment HELMDECK_MODLE: unknown key" in cli("config", "check").err


def test_missing_or_malformed_file_is_named(cli, configure):
    assert (
        "gone.toml: the file cannot be read (No such file or directory)"
        in cli("config", "check", "--config", "gone.toml").err
    )
    configure("model = ")
    done = cli("config", "check")
    assert done.code == 2
    assert "helmdeck.toml: not valid TOML" in done.err
    assert cli("--help").code == 0


def test_config_check_covers_catalog_and_model(cli, configure):
    configure('model = "unknown/x"\n[catalog]\nsources = ["gone.json"]\n')
    done = cli("config", "check")
    assert done.code == 2
    assert "gone.json: " in done.err and "the file cannot be read" in done.err
    assert "model: there is no provider 'unknown'" in done.err


def test_config_check_reports_required_plugins_that_are_missing_with_all_other_mistakes(cli, configure):
    configure('model = "unknown/x"\n[plugins]\nrequired = ["ghost", "phantom"]\n')
    done = cli("config", "check")
    assert done.code == 2
    assert "plugin 'ghost'" in done.err and "plugin 'phantom'" in done.err and "provider 'unknown'" in done.err
    assert "install it, or remove it from [plugins] required" in done.err and "--disable-plugin" not in done.err


def test_config_check_names_the_file_of_mistakes_that_commands_and_rankers_find(cli, configure):
    configure(
        '[gateway]\nstore = "ftp:x"\n[gateway.models]\nbig = 3\n[selection.rankers.lexical]\nwords = "gone.toml"\n'
    )
    lines = [line for line in cli("config", "check").err.splitlines() if line.startswith("  ")]
    assert len(lines) == 3 and all(": helmdeck.toml: " in line.replace(". helmdeck", ": helmdeck") for line in lines)


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ('order = ["a", "a"]', "compaction.order: a trim step is listed twice, found 'a'"),
        ('drop = ["a", "a"]', "compaction.drop: a trim step is listed twice, found 'a'"),
        ('order = ["a"]\ndrop = ["a"]', "compaction.drop: the trim step is in order as well, found 'a'"),
        ('[compaction.tiers.C]\norder = ["a", "a"]', "compaction.tiers.C.order: a trim step is listed twice"),
        ('[fallback]\n"x/" = ["local/lexical"]', "fallback.\"x/\": no model id has this prefix, found 'x/'"),
    ],
)
def test_trim_steps_that_are_listed_twice_and_prefixes_of_no_model_are_mistakes(cli, configure, text, mistake):
    configure(f"[compaction]\n{text}\n".replace('"a"', '"pack.typical_use"'))
    done = cli("config", "check")
    assert done.code == 2 and mistake.replace("'a'", "'pack.typical_use'") in done.err


RECOVERY_MISTAKES = """\
model = "opanai/gpt-4o"
[recovery]
max_attempts = 0
deadline = 5
backoff_s = true
max_wait_s = inf
attempt_share = 1.5
max_cost_usd = -1
fallback_on = ["rate_limit"]
[fallback]
"openai/" = ["opanai/mini", "gpt-4o", "local/lexical", "local/lexical"]
"opneai/" = ["local/lexical"]
"gpt" = ["local/lexical"]
"anthropic/" = "local/lexical"
"groq/x" = ["groq/x"]
[budgets."openai/"]
filter_model = "unknown/x"
[providers.mine]
timeout_s = 9
[providers.vllm]
timeout_s = 0
"""


def problems(done):
    return {
        mistake["where"].removeprefix("helmdeck.toml: "): mistake["problem"]
        for mistake in done.data["error"]["mistakes"]
    }


def test_all_recovery_mistakes_are_reported_together(cli, configure):
    configure(RECOVERY_MISTAKES)
    found = problems(cli("config", "check", "--json"))
    assert found == {
        "model": "there is no provider 'opanai' (did you mean 'openai'?)",
        "recovery.max_attempts": "no model would be called at 0",
        "recovery.deadline": "unknown key (did you mean 'deadline_s'?)",
        "recovery.backoff_s": "not a number",
        "recovery.max_wait_s": "not a finite number",
        "recovery.attempt_share": "not a share",
        "recovery.max_cost_usd": "below 0",
        "recovery.fallback_on": "unknown cause (did you mean 'rate_limited'?)",
        'fallback."openai/"': "a model is listed twice",
        'fallback."opneai/"': "no model id has this prefix (did you mean 'openai'?)",
        "fallback.gpt": "no model id has this prefix",
        'fallback."anthropic/"': "not a list of strings",
        'fallback."groq/x"': "the model falls back to itself",
        'budgets."openai/".filter_model': "unknown provider in 'unknown/x'",
        "providers.mine.kind": "no plugin contributes a provider of this name, so kind is required, "
        "or a base_url for a server of kind 'openai-compatible' (did you mean 'gemini'?)",
        "providers.vllm.timeout_s": "every request would fail at 0",
    }


PROVIDER_MISTAKES = """\
model = "opanai/gpt-4o"
[providers.openai]
base_url = "ftp://x"
headers = {"x y" = "1"}
options = {formats = 1, response_formats = "json"}
[providers.azure]
api_key = "env:AZ"
[providers.anthropic.options]
max_tokens = "x"
beta = []
[providers.scripted.options]
replies = [{fail = "rate_limitt"}]
[providers.ollama]
timeout_s = 5
"""


def test_invalid_provider_settings_are_all_found_without_a_call(cli, configure):
    configure(PROVIDER_MISTAKES)
    done = cli("config", "check", "--json")
    assert list(problems(done)) == [
        "model",
        "providers.openai.options.formats",
        "providers.openai.options.response_formats",
        "providers.openai.base_url",
        "providers.openai.headers",
        "providers.azure.base_url",
        "providers.anthropic.options.max_tokens",
        "providers.anthropic.options.beta",
        "providers.scripted.options.replies.0.cause",
    ]
    assert "helmdeck.toml: providers.openai.base_url: not a URL that starts with http" in done.err
    assert "(did you mean 'openai'?)" in done.err


EVERY_KIND = """\
log_level = "LOUD"
[catalog]
sources = ["gone.json", "gone.toml", "exampel"]
[catalog.mcp.notes]
url = "localhost:9000/mcp"
[providers.mine]
kind = "openai-compatible"
base_url = "localhost:8080"
[[providers.vllm.routes]]
base_url = "http://127.0.0.1:8000/v1"
[[providers.vllm.routes]]
base_url = "example.com/v1"
[providers.other]
timeout_s = 5
[pipelines]
files = ["gone-too.toml"]
folder = "no-folder"
[history]
url = "sqlit:history.db"
[runs]
url = "postgre://host/db"
[selection.rankers.lexical]
words = "no-words.toml"
[gateway]
port = 70000
"""


def test_mistakes_of_all_kinds_are_reported_together(cli, configure, tmp_path):
    configure(EVERY_KIND)
    assert problems(cli("config", "check", "--json")) == {
        "catalog.sources": "unknown catalog source (did you mean 'example'?)",
        f"{tmp_path}/gone.json": "the file cannot be read (No such file or directory)",
        f"{tmp_path}/gone.toml": "the file cannot be read (No such file or directory)",
        f"{tmp_path}/gone-too.toml": "the file cannot be read (No such file or directory)",
        f"{tmp_path}/no-folder": "the file cannot be read (No such file or directory)",
        "catalog.mcp.notes.url": "not a URL",
        "providers.mine.base_url": "not a URL that starts with http:// or https://, found 'localhost:8080'",
        "providers.vllm.routes.1.base_url": "not a URL that starts with http:// or https://, found 'example.com/v1'",
        "providers.other.kind": "no plugin contributes a provider of this name, so kind is required, "
        "or a base_url for a server of kind 'openai-compatible' (did you mean 'together'?)",
        "history.url": "unknown kind of history store (did you mean 'sqlite:...'?)",
        "runs.url": "unknown kind of database (did you mean 'postgresql'?)",
        f"selection.rankers.lexical: {tmp_path}/no-words.toml": "No such file or directory",
        "gateway.port": "too high",
        "log_level": "unknown log level",
    }


def test_mistake_of_a_provider_is_not_reported_as_a_missing_provider_of_the_model_too(cli, configure):
    configure('model = "shop/m"\n[providers.shop]\nbase_url = "http://localhost/v1"\napi_key = "plain"\n')
    assert list(problems(cli("config", "check", "--json"))) == ["providers.shop.api_key"]


def test_sink_without_its_extra_is_a_mistake_and_hides_no_other_one(cli, configure, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    configure('[events]\nsinks = ["prometheus", "otel"]\n[gateway]\nport = 99999\n')
    done = cli("config", "check")
    assert done.code == 2
    assert "helmdeck.toml: events.sinks: the sink 'prometheus' needs prometheus-client" in done.err
    assert "pip install 'helmdeck[otel]'" in done.err and "gateway.port" in done.err
    assert cli("plan", "draft a post").code == 2


def test_stores_without_their_drivers_are_mistakes(cli, configure, monkeypatch):
    # A stand-in for a machine without the extras: their modules cannot be found.
    found = importlib.util.find_spec
    drivers = ("psycopg", "psycopg_pool", "redis", "dbos")
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name in drivers else found(name, *rest)
    )
    monkeypatch.setenv("STORE", "redis://localhost")
    configure(
        '[history]\nurl = "postgresql://localhost/h"\n[runs]\nengine = "dbos"\nurl = "postgresql://localhost/r"\n'
        '[cache]\nstore = "env:STORE"\n[gateway]\nstore = "redis://localhost"\n'
    )
    mistakes = problems(cli("config", "check", "--json"))
    assert {key: problem.partition("helmdeck[")[2] for key, problem in mistakes.items()} == {
        "history.url": "postgres]'",
        "runs.engine": "dbos]'",
        "runs.url": "postgres]'",
        "cache.store": "redis]'",
        "gateway.store": "redis]'",
    }


def test_store_that_cannot_be_written_is_a_mistake(cli, configure, tmp_path):
    (tmp_path / "history.db").mkdir()
    configure(f'[history]\nurl = "sqlite:{tmp_path}/history.db"\n')
    assert "is a folder" in problems(cli("config", "check", "--json"))["history.url"]


def test_missing_api_key_is_a_warning(cli, configure, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    configure('[providers.mine]\nkind = "local"\napi_key = "env:NO_SUCH_KEY"\n')
    done = cli("config", "check")
    assert done.code == 0
    assert done.err == "warning: providers.mine.api_key: env:NO_SUCH_KEY: the environment variable is not set\n"
    configure('log_level = "LOUD"\n[providers.mine]\nkind = "local"\napi_key = "env:NO_SUCH_KEY"\n')
    assert "warning: providers.mine.api_key" in cli("config", "check").err, "also beside mistakes"


# -- sample ------------------------------------------------------------------------------------------------


def test_sample_is_a_valid_configuration(cli, tmp_path):
    done = cli("config", "sample")
    assert done.out == SAMPLE
    assert len(SAMPLE.splitlines()) <= 60
    assert max(map(len, SAMPLE.splitlines())) <= 120
    path = tmp_path / "sample.toml"
    path.write_text(done.out, encoding="utf-8")
    with make_deck(file=path) as deck:
        assert deck.budget("workshop/any").budget.max_catalog_bytes == 18_000
    assert cli("config", "check", "--config", "sample.toml").code == 0


# -- hooks -------------------------------------------------------------------------------------------------


def test_hook_reference_is_written_and_hooks_are_printed_as_data(cli, tmp_path):
    written = cli("hooks", "--write", "out.md")
    assert (written.code, written.out, written.err) == (0, "", "wrote out.md\n")
    assert (tmp_path / "out.md").read_text().startswith("# Hooks\n")
    assert "no-such-folder/x.md: the file cannot be written" in cli("hooks", "--write", "no-such-folder/x.md").err
    names = [hook["name"] for hook in json.loads(cli("hooks", "--json").out)["hooks"]]
    assert "helmdeck_model_budget" in names


def test_error_while_rendering_keeps_the_old_file(cli, tmp_path, monkeypatch):
    from helmdeck_cli.printing import hook_reference as hookdocs

    (tmp_path / "out.md").write_text("old")
    monkeypatch.setattr(hookdocs, "hooks", lambda: 1 / 0)
    assert cli("hooks", "--write", "out.md").code == 1
    assert (tmp_path / "out.md").read_text() == "old"
