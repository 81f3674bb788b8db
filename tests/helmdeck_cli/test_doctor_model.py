"""``helmdeck doctor --model``: what a model can do, on servers that keep, ignore, refuse or mishandle what they accept."""

import asyncio
import datetime
import errno
import json
import os
import socket
import tomllib

import pytest

from helmdeck_cli import config_file
from helmdeck_cli.model_checks import probes, server_facts, tool_choice
from helmdeck_cli.model_checks.proposal import proposed
from helmdeck_cli.model_checks.results import Examination, Result, Verdict
from helmdeck_cli.model_checks.session import Reply, Session
from helmdeck_core import Helmdeck, LikelyTimeout, ProviderPool
from helmdeck_core.cli import ExitCode
from helmdeck_testing import Chunks, Ending, completion
from tests.case_support import each_case
from tests.cli_support import Cli, leave_the_machine

KEY = "sk-very-secret-key-0123456789"
HELD = {"code": "K7", "note": "kept"}


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    leave_the_machine(monkeypatch, tmp_path)
    monkeypatch.setenv("ACME_KEY", KEY)


@pytest.fixture
def cli(capsys):
    return Cli(capsys)


class Model:
    """A server whose abilities are its fields."""

    def __init__(
        self, *, schema="kept", tools=True, chooses=True, logprobs=True, text="Lyon is in France.", fails=None
    ):
        self.schema, self.tools, self.chooses, self.logprobs, self.text = schema, tools, chooses, logprobs, text
        self.fails = fails
        self.props = None

    def __call__(self, request):
        body = request.body
        if request.method == "GET" or "messages" not in body:
            if request.path == "/props" and self.props:
                return {"default_generation_settings": {"n_ctx": self.props}}
            is_list = request.path.endswith("/models")
            return {"data": [{"id": "m"}]} if is_list else (404, {}, {"error": {"message": "not found"}})
        if self.fails is not None:
            return self.fails
        text = self.answer(body)
        if not isinstance(text, str):
            return text
        if body.get("stream"):
            usage = {"prompt_tokens": 200, "completion_tokens": 20}
            events = [{"choices": [{"index": 0, "delta": {"content": part}}]} for part in text.split(" ")]
            end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
            lines = [f"data: {json.dumps(each)}\n\n".encode() for each in (*events, end)]
            return Chunks([*lines, b"data: [DONE]\n\n"])
        return {**completion(text, prompt_tokens=20, completion_tokens=9), **self.likely(text, body)}

    def answer(self, body):
        if body.get("tools"):
            return self.tool_answer()
        form = body.get("response_format", {})
        schema = form.get("json_schema", form).get("schema", {})
        properties = schema.get("properties", {})
        if schema and self.schema == "refused":
            return (
                400,
                {},
                {"error": {"message": "response_format json_schema is not supported", "param": "response_format"}},
            )
        if schema and self.schema == "deadlock":
            return completion('{"code" :' + " " * 90, "length", prompt_tokens=20, completion_tokens=96)
        if "code" in properties and self.schema == "kept":
            return json.dumps(HELD)
        prompt = body["messages"][-1]["content"]
        if prompt.startswith("Request: "):
            if self.chooses == "late":
                return (408, {}, {"error": {"message": "request timeout"}})
            right = tool_choice.requests()[prompt.partition("\n")[0].removeprefix("Request: ")]
            name = right if self.chooses else "mail.send"
            return json.dumps({"tool": name}) if schema and self.schema == "kept" else name
        if "JSON" in prompt:
            return '{"city": "Paris", "country": "France"}'
        return self.text

    def likely(self, text, body):
        if not (body.get("logprobs") and self.logprobs):
            return {}
        message, likely = {"role": "assistant", "content": text}, {"token": text, "logprob": -0.1}
        listed = {"content": [{**likely, "top_logprobs": [likely]}]}
        return {"choices": [{"index": 0, "message": message, "finish_reason": "length", "logprobs": listed}]}

    def tool_answer(self):
        if not self.tools:
            return "I cannot know that."
        call = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"place": "Bergen"}'}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        return {**completion(""), "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}


class BreaksOnce(Model):
    """Closes the connection at the first request with a schema."""

    def __call__(self, request):
        if "response_format" in request.body and self.schema == "kept":
            self.schema = "again"
            return Chunks([], Ending.RESET)
        self.schema = "kept"
        return super().__call__(request)


@pytest.fixture
def examined(cli, chat_server, tmp_path):
    """Examine a model; return how the command ended, and the server."""

    def run(model, *words, kind="openai-compatible", more=""):
        server = chat_server(lambda body: completion("unused"))
        server.respond = model
        text = f'# mine\nmodel = "acme/m"\n\n[providers.acme]\nkind = "{kind}"\nbase_url = "{server.base_url}"\n'
        (tmp_path / "helmdeck.toml").write_text(f'{text}api_key = "env:ACME_KEY"\n{more}')
        return cli("doctor", "--model", "acme/m", "--json", *words), server

    return run


def verdicts(done):
    return {each["name"]: each["verdict"] for each in done.data["results"]}


def text_of(done, name):
    return next(each["text"] for each in done.data["results"] if each["name"] == name)


def budget(done):
    return done.data["settings"][0]["values"]


def test_able_model_is_able_in_every_row_and_its_rows_follow_from_what_was_measured(examined):
    model = Model()
    model.props = 4_096
    done, server = examined(model)
    assert done.code == 0 and done.data["ok"]
    assert set(verdicts(done).values()) == {"yes"}
    assert text_of(done, "context") == "4,096 tokens (/props of the server)"
    assert text_of(done, "right tools").startswith("20 of 20, the ranker alone ")
    assert "the choice of tools" in done.data["summary"]
    row = budget(done)
    assert (row["supports_logprobs"], row["chooser"]) == (True, "model")
    assert row["enforces_schema"] is True and row["input_tokens"] + row["output_tokens"] < 4_096
    assert "20 of 20 tools right" in row["evidence"]
    chats = [each.body for each in server.requests if "messages" in each.body]
    assert done.data["calls"] == len(chats) <= 30
    assert all(each["max_tokens"] <= 96 for each in chats), "every request is bounded in tokens"
    assert KEY not in done.out + done.err


@each_case(
    ("schema", "verdict", "text", "wants"),
    [
        ("ignored", "no", "accepted and ignored", False),
        ("refused", "no", "refused: ", False),
        ("deadlock", "no", "a loop inside the schema", False),
        ("kept", "yes", "cannot be invented", True),
    ],
)
def test_schema_counts_only_if_the_server_keeps_it(examined, schema, verdict, text, wants):
    done, _ = examined(Model(schema=schema))
    assert verdicts(done)["json schema"] == verdict and text in text_of(done, "json schema")
    assert budget(done)["enforces_schema"] is wants
    assert done.code == 0


def rows_at(reads: float, writes: float) -> list[dict]:
    """Return the rows for a model of tier C whose server was measured with these speeds, without the evidence."""
    facts = {"context": 8_192, "reads_per_s": reads, "writes_per_s": writes}
    measured = Examination(
        model="llamacpp/m", results=[Result("text", Verdict.YES, "", facts)], calls=1, output_tokens=1, seconds=1.0
    )
    with Helmdeck(overrides={("budgets", "llamacpp/m"): {"tier": "C"}}, environ={}, autoload=False) as deck:
        settings = ProviderPool(deck.runtime).registry.first_settings("llamacpp")
        rows = proposed(measured, deck.budget("llamacpp/m"), settings, datetime.date(2026, 1, 1))
    return [{name: value for name, value in each.values.items() if name != "evidence"} for each in rows]


def test_rows_are_the_same_on_an_idle_machine_and_at_a_third_of_its_speed():
    idle = rows_at(150, 60)
    assert idle == rows_at(100, 40) == rows_at(50, 20)
    assert "output_tokens" not in idle[0] and "max_catalog_bytes" not in idle[0] and idle[1]["timeout_s"] == 900
    slow = rows_at(5, 1.5)
    assert (slow[0]["output_tokens"], slow[0]["max_catalog_bytes"], slow[1]["timeout_s"]) == (256, 2_048, 7_200)


def test_model_that_chooses_worse_than_the_ranker_is_worth_its_time_for_text_only(examined):
    done, _ = examined(Model(chooses=False, tools=False, logprobs=False))
    assert text_of(done, "right tools").startswith("3 of 20, the ranker alone ")
    assert "not for the choice of tools" in done.data["summary"] and budget(done)["chooser"] == "ranker"
    assert verdicts(done)["native tools"] == verdicts(done)["logprobs"] == "no"
    assert text_of(done, "logprobs") == "requested and ignored"


def test_busy_server_says_nothing_about_the_choice_and_leaves_it_to_the_ranker(examined):
    done, _ = examined(Model(chooses="late"))
    assert text_of(done, "right tools") == "no answer within 5 s"
    assert budget(done)["chooser"] == "ranker" and "tools right" not in budget(done)["evidence"]


@each_case(
    ("fails", "text"),
    [
        ((401, {}, {"error": {"message": f"bad key {KEY}"}}), "auth_failed"),
        ((200, {"content-type": "text/html"}, "<html>proxy</html>"), "the provider"),
        ((200, {}, b""), "the provider"),
        ((404, {}, {"error": {"message": "no model m"}}), "invalid_request"),
        ((503, {}, {"error": {"message": "loading model"}}), "provider_unavailable"),
        (completion(""), "likely_timeout"),
    ],
)
def test_server_that_returns_nothing_usable_is_a_row_and_an_exit_code_and_no_rows_follow(examined, fails, text):
    done, server = examined(Model(fails=fails))
    assert done.code == ExitCode.CHECK_FAILED and not done.data["ok"]
    assert verdicts(done)["text"] == "no" and text in text_of(done, "text")
    assert done.data["settings"] == [] and "nothing" in done.data["summary"]
    assert KEY not in done.out + done.err and "Traceback" not in done.err
    assert len([each for each in server.requests if "messages" in each.body]) <= 14


def test_refused_key_ends_the_examination_after_one_request(cli, examined):
    done, server = examined(Model(fails=(401, {}, {"error": {"message": "no"}})))
    assert len([each for each in server.requests if "messages" in each.body]) == 1
    assert verdicts(done)["right tools"] == "not tried"
    assert " 1 request, 0 output tokens" in cli("doctor", "--model", "acme/m").out


def test_server_that_does_not_answer_ends_at_the_limit_of_the_first_request(cli, tmp_path, monkeypatch):
    monkeypatch.setattr(probes, "LOADING_S", 0.05)
    monkeypatch.setattr(server_facts, "REQUEST_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        (tmp_path / "helmdeck.toml").write_text(f'[providers.vllm]\nbase_url = "{url}"\ntimeout_s = 0.05\n')
        done = cli("doctor", "--model", "vllm/m", "--json")
    assert done.code == ExitCode.CHECK_FAILED and done.data["calls"] == 1
    assert "likely_timeout" in text_of(done, "text") and verdicts(done)["speed"] == "not tried"


def test_no_request_is_sent_after_the_limit_of_the_examination(examined):
    done, server = examined(Model(), "--seconds", "1")
    assert done.data["calls"] == 0 and not [each for each in server.requests if "messages" in each.body]
    assert "--seconds raises it" in text_of(done, "text")


def test_ollama_reports_what_it_loaded_and_what_the_model_allows(cli, chat_server, tmp_path):
    def respond(request):
        return {
            "/api/tags": {"models": [{"name": "small:1b"}]},
            "/api/show": {"model_info": {"llama.context_length": 131_072, "llama.block_count": 30}},
            "/api/ps": {"models": [{"name": "small:1b", "context_length": 4_096}]},
            "/api/chat": {"message": {"role": "assistant", "content": "Lyon."}, "done": True, "done_reason": "stop"},
        }.get(request.path, (404, {}, {"error": "not found"}))

    server = chat_server(lambda body: completion("unused"))
    server.respond = respond
    (tmp_path / "helmdeck.toml").write_text(f'[providers.ollama]\nbase_url = "{server.base_url.removesuffix("/v1")}"\n')
    done = cli("doctor", "--model", "ollama/small:1b", "--json")
    assert text_of(done, "context") == "4,096 tokens (loaded by Ollama)"
    tables = {tuple(each["table"]): each["values"] for each in done.data["settings"]}
    assert tables["providers", "ollama", "options"] == {"num_ctx": 16_384}


def test_a_connection_that_breaks_once_says_nothing_about_the_model(examined):
    done, _ = examined(BreaksOnce())
    assert verdicts(done)["json schema"] == "yes"
    assert budget(done)["enforces_schema"] is True


def test_written_rows_leave_the_rest_of_the_file_and_settings_that_are_there(examined, tmp_path):
    more = '\n# measured by hand\n[budgets."acme/m"]\ntier = "B"  # 18 of 20\nenforces_schema = false\n'
    done, _ = examined(Model(), "--write", more=more)
    text = (tmp_path / "helmdeck.toml").read_text()
    row = tomllib.loads(text)["budgets"]["acme/m"]
    assert text.startswith("# mine\n") and '# measured by hand\n[budgets."acme/m"]\ntier = "B"  # 18 of 20\n' in text
    assert (row["tier"], row["enforces_schema"]) == ("B", False)
    assert row["evidence"].startswith("doctor ") and row["input_cost_usd_per_mtok"] == 0.0
    assert "left as they are" in done.err and "enforces_schema" in done.err


def test_written_rows_are_a_valid_configuration(cli, examined):
    model = Model()
    model.props = 4_096
    examined(model, "--write")
    assert cli("config", "check").code == 0
    assert "doctor" in cli("budgets", "acme/m").out


def test_table_shows_verdicts_and_the_rows_to_paste(cli, examined):
    examined(Model())
    done = cli("doctor", "--model", "acme/m")
    assert "json schema" in done.out and '[budgets."acme/m"]' in done.out and "--write adds them" in done.out


def test_alias_of_the_gateway_names_the_model(cli, examined):
    examined(Model(), more='\n[gateway.models]\nfast = ["acme/m", "local/lexical"]\n')
    assert cli("doctor", "--model", "fast", "--json").data["model"] == "acme/m"


def test_unknown_provider_and_needless_options_are_usage_errors(cli):
    assert "there is no provider 'nowhere'" in cli("doctor", "--model", "nowhere/m").err
    assert cli("doctor", "--model", "openai/m", "--offline").code == ExitCode.USAGE
    assert cli("doctor", "--write").code == ExitCode.USAGE


def test_without_a_model_the_command_that_tries_one_is_named(cli, chat_server, tmp_path):
    server = chat_server(lambda body: {"data": [{"id": "m"}]})
    (tmp_path / "helmdeck.toml").write_text(f'model = "vllm/m"\n[providers.vllm]\nbase_url = "{server.base_url}"\n')
    for words in ((), ("--offline",)):
        found = cli("doctor", "--json", *words).data["findings"]
        (note,) = [each for each in found if each["area"] == "model"]
        assert "not called: `helmdeck doctor --model vllm/m`" in note["text"]
    assert not [each for each in server.requests if "messages" in each.body]


def test_a_full_disk_leaves_the_file_that_is_there(examined, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(config_file.os, "fdopen", full)
    done, _ = examined(Model(), "--write", more="# measured by hand\n")
    assert done.code == ExitCode.USAGE and "No space left on device" in done.err
    assert (tmp_path / "helmdeck.toml").read_text().endswith("# measured by hand\n")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["helmdeck.toml"], "no draft is left"


@pytest.mark.parametrize(("writes_per_s", "verdict", "fact"), [(5.0, "not tried", None), (60.0, "no", "refused")])
def test_schema_that_is_not_answered_in_time_says_nothing_about_a_slow_server(writes_per_s, verdict, fact):
    class Late(Session):
        async def send(self, request, bound_s=0.0):
            return Reply(failure=LikelyTimeout("no answer"))

    session = Late(deck=None, model="m/one", rank=str, facts={"writes_per_s": writes_per_s})
    result = asyncio.run(probes.json_schema(session))
    assert (result.verdict, result.facts.get("schema")) == (verdict, fact)
