"""``helmdeck import litellm``: each setting of the other file has an outcome, and the new file is a valid configuration."""

import itertools
import json
import re
import tomllib
from pathlib import Path

import pytest

from helmdeck_core.cli import UsageError, main
from helmdeck_gateway.imports.litellm import import_litellm
from helmdeck_gateway.imports.yaml_source import YamlSource, shown
from tests.case_support import each_case

FILES = Path(__file__).parents[1] / "data" / "litellm"
SECRETS = re.compile(r"4711|0815|redis-secret|sk-master|cohere-secret|sk-lf|pa55|bearer")


@pytest.fixture
def convert(tmp_path, capsys):
    """Import a file or text, and return the new configuration, the report, and all output."""

    def convert(source):
        file = FILES / source
        if "\n" in source:
            file = tmp_path / "config.yaml"
            file.write_text(source)
        out = tmp_path / "helmdeck.toml"
        code = main(["import", "litellm", str(file), "--out", str(out), "--force", "--json", "--no-plugins"])
        printed = capsys.readouterr()
        assert code == 0, printed.err
        text = out.read_text()
        return tomllib.loads(text), json.loads(printed.out), text + printed.out + printed.err

    return convert


@each_case("name", ["company.yaml", "keys.yaml"])
def test_every_value_has_an_outcome_with_its_line_and_no_secret_is_copied(convert, name):
    _, report, output = convert(name)
    source = YamlSource.read(FILES / name)
    settings = [row["setting"] for row in report["settings"]]
    for leaf in source.leaves:
        assert any(shown(leaf[:size]) in settings for size in range(1, len(leaf) + 1)), leaf
    lines = (FILES / name).read_text().splitlines()
    for row in report["settings"]:
        last = re.split(r"[.\[]", row["setting"])[-1]
        assert last.endswith("]") or last in lines[row["line"] - 1], row
    assert not SECRETS.search(output)
    for row in report["settings"]:
        is_shown = f"line {row['line']}, {row['setting']}: {row['outcome']}" in report["config"]
        assert is_shown == (row["outcome"] in ("action needed", "approximated", "left out"))


def test_configuration_of_a_company_passes_the_check_and_keeps_models_fallbacks_and_limits(convert):
    config, report, _ = convert("company.yaml")
    assert report["mistakes"] == []
    chain = ["azure-deployments/gpt-4o-main", "azure-deployments-2/gpt-4o-main", "anthropic/claude-sonnet-4-5"]
    models = config["gateway"]["models"]
    assert models["gpt-4o"] == models["gpt-4"] == [*chain, "vllm-internal/qwen3-32b"]
    assert (models["claude"], models["embeddings"]) == (chain[2], "openai/text-embedding-3-small")
    assert config["providers"]["azure-deployments"] == {
        "base_url": "https://acme-eu.openai.azure.com/openai", "api_key": "env:AZURE_EU_KEY",
        "options": {"api_version": "2024-10-21"},
    }  # fmt: skip
    assert config["budgets"]["azure-deployments/gpt-4o-main"] == {
        "input_cost_usd_per_mtok": 2.5, "output_cost_usd_per_mtok": 10.0,
    }  # fmt: skip
    assert config["recovery"] == {"deadline_s": 90, "cool_down_after": 3, "cool_down_s": 30, "max_attempts": 6}
    assert (config["gateway"]["key"], config["gateway"]["store"]) == ("env:HELMDECK_MASTER_KEY", "env:DATABASE_URL")
    assert set(report["missing"]) == {"HELMDECK_MASTER_KEY", "OPENAI_COMPATIBLE_API_KEY", "HELMDECK_CACHE_STORE"}
    assert config["cache"] == {"mode": "on", "store": "env:HELMDECK_CACHE_STORE"}
    assert config["guards"] == {
        "pii": {"kind": "personal_data", "when": ["request"], "action": "redact", "restores": False}
    }
    assert "vllm-internal/qwen3-32b" in report["unpriced"]


def test_keys_of_one_vendor_become_routes_and_orders_become_chains(convert):
    config, report, _ = convert("keys.yaml")
    assert config["providers"]["openai"]["routes"] == [
        {"api_key": "env:OPENAI_KEY_1", "weight": 3.0}, {"api_key": "env:OPENAI_KEY_2", "weight": 1.0},
    ]  # fmt: skip
    assert config["providers"]["openai"]["timeout_s"] == 60
    assert config["gateway"]["models"]["ordered"] == ["ollama/qwen3", "openrouter/qwen/qwen3-32b"]
    assert config["gateway"]["store"] == "redis://cache.internal:6379"
    assert all("bedrock" in each for each in report["mistakes"])
    notes = {row["setting"]: row["note"] for row in report["settings"]}
    assert notes["model_list[7]"].startswith("no provider of Helmdeck serves 'sagemaker'")


def test_deployments_of_several_vendors_share_by_weight(convert):
    config, report, _ = convert(
        "model_list:\n"
        "- {model_name: m, litellm_params: {model: groq/a, weight: 2, api_key: pa55-a}}\n"
        "- {model_name: m, litellm_params: {model: mistral/b, rpm: 6, api_key: pa55-b}}\n"
        "- {model_name: n, litellm_params: {model: openai/x, api_base: 'https://u:pa55@h.example/v1', api_key: pa55-c}}\n"
        "- {model_name: o, litellm_params: {model: openai/x, api_base: os.environ/NOT_SET_HERE, api_key: pa55-d}}\n"
    )
    assert config["gateway"]["models"]["m"] == {"groq/a": 2.0, "mistral/b": 6.0}
    assert report["mistakes"] == []
    keys = [table["api_key"] for table in config["providers"].values()]
    assert len(set(keys)) == len(keys) == 4
    assert config["providers"]["h-example"]["base_url"] == "https://h.example/v1"


GUARDRAILS = """
litellm_settings: {cache: true, cache_params: {type: local, ttl: 60, mode: default_off, namespace: x}}
guardrails:
- guardrail_name: pii
  litellm_params:
    guardrail: presidio
    mode: [pre_call, post_call]
    default_on: true
    output_parse_pii: true
    pii_entities_config: {EMAIL_ADDRESS: MASK, CREDIT_CARD: BLOCK, PERSON: MASK}
- guardrail_name: keys
  litellm_params: {guardrail: hide-secrets, mode: pre_call}
- guardrail_name: words
  litellm_params:
    guardrail: litellm_content_filter
    mode: pre_call
    patterns:
    - {pattern_type: prebuilt, pattern_name: email, action: MASK}
    - {pattern_type: prebuilt, pattern_name: us_ssn, action: BLOCK}
    - {pattern_type: regex, name: Ticket No, pattern: 'TICKET-[0-9]{4}', action: BLOCK}
    blocked_words: [{keyword: top secret, action: BLOCK}, {keyword: 3}]
- {guardrail_name: moderation, litellm_params: {guardrail: lakera, mode: pre_call}}
- {guardrail_name: logged, litellm_params: {guardrail: presidio, mode: logging_only}}
- {guardrail_name: names, litellm_params: {guardrail: presidio, mode: pre_call, pii_entities_config: {PERSON: MASK}}}
"""


def test_cache_and_guardrails_with_an_equivalent_are_carried_over_and_the_others_named(convert):
    config, report, _ = convert(GUARDRAILS)
    assert report["mistakes"] == []
    assert config["cache"] == {"mode": "off", "ttl_s": 60.0}
    both = {"kind": "personal_data", "when": ["request", "answer"]}
    assert config["guards"] == {
        "pii": both | {"action": "redact", "restores": True, "options": {"detect": ["email"]}},
        "pii-2": both | {"action": "block", "options": {"detect": ["card"]}},
        "keys": {"kind": "secrets", "when": ["request"], "action": "redact", "restores": False},
        "words": {"kind": "personal_data", "when": ["request"], "action": "redact", "restores": False, "options": {"detect": ["email"]}},
        "words-2": {"kind": "patterns", "when": ["request"], "action": "block", "options": {"patterns": {"ticket_no": "TICKET-[0-9]{4}"}}},
        "words-3": {
            "kind": "patterns", "when": ["request"], "action": "block",
            "options": {"ignores_case": True, "patterns": {"top_secret": r"top\ secret"}},
        },
    }  # fmt: skip
    left_out = {row["setting"] for row in report["settings"] if row["outcome"] == "left out"}
    assert left_out == {
        "litellm_settings.cache_params.namespace", "guardrails[0].litellm_params.pii_entities_config.PERSON",
        "guardrails[2].litellm_params.patterns[1]", "guardrails[2].litellm_params.blocked_words[1]", "guardrails[3]",
        "guardrails[4]", "guardrails[5].litellm_params.pii_entities_config.PERSON", "guardrails[5]",
    }  # fmt: skip


WRONG = """
model_list:
- 7
- model_name: [a]
  litellm_params: text
- model_name: b
  litellm_params: {model: groq/x, weight: true, rpm: many, timeout: .nan, order: -1, headers: [a], api_key: 5, api_base: 9}
  model_info: {input_cost_per_token: free, mode: [chat]}
- {model_name: "quote\\"s.and dots/", litellm_params: {model: groq/y, vertex_project: 3}}
router_settings: {fallbacks: {b: [c]}, model_group_alias: [x], num_retries: "3", timeout: -1, redis_port: [1]}
litellm_settings: [a, b]
general_settings: {master_key: 3, database_url: [x], max_request_size_mb: 1e300, maximum_spend_logs_retention_period: soon}
environment_variables: text
guardrails: {x: 3, y: {guardrail_name: [1], litellm_params: {guardrail: presidio, mode: {a: 1}, pii_entities_config: [3]}}}
credential_list: 7
"""


def test_values_of_wrong_types_are_left_out_and_the_rest_is_carried_over(convert):
    config, report, _ = convert(WRONG)
    assert config["gateway"]["models"] == {'quote"s.and dots/': "groq/y"}
    assert report["mistakes"] == []


NESTED_SECRETS = """
model_list:
- {model_name: a, litellm_params: {model: groq/x, api_base: "https://h.example/v1?code=pa55#pa55"}}
- {model_name: b, litellm_params: {model: groq/x}, model_info: {mode: {key: pa55}}}
- {model_name: c, litellm_params: {model: groq/x, api_base: {key: pa55}}}
- {model_name: d, litellm_params: {model: bedrock/x, aws_secret_access_key: pa55}}
router_settings:
  fallbacks: [{a: [{model: b, api_key: pa55}]}]
  routing_strategy: [pa55]
  model_group_alias: {x: {api_key: pa55}}
litellm_settings:
  callbacks: [{langfuse: {secret: pa55}}]
  cache: true
  cache_params: {type: {password: pa55}}
guardrails: [{guardrail_name: {key: pa55}, litellm_params: {guardrail: {key: pa55}, mode: pre_call}}]
"""


def test_secret_in_a_table_a_list_or_the_query_of_a_url_is_neither_printed_nor_copied(convert):
    config, _, output = convert(NESTED_SECRETS)
    assert not SECRETS.search(output)
    assert config["providers"]["groq"]["base_url"] == "https://h.example/v1"


def test_value_that_a_repeated_key_replaces_is_reported_with_its_line(convert):
    config, report, _ = convert(
        "model_list:\n"
        "- model_name: m\n"
        "  litellm_params: &shared {model: groq/a}\n"
        "  litellm_params: {<<: *shared, model: groq/b}\n"
        "- {model_name: n, litellm_params: &merged {<<: *shared, model: groq/c}}\n"
        "- {model_name: o, litellm_params: *merged}\n"
    )
    assert config["gateway"]["models"] == {"m": "groq/b", "n": "groq/c", "o": "groq/c"}
    left_out = [row for row in report["settings"] if row["outcome"] == "left out"]
    assert [(row["line"], row["setting"]) for row in left_out] == [(3, "model_list[0].litellm_params")]
    assert left_out[0]["note"] == "line 4 has the same key again, and its value is valid"


@each_case(
    ("kind", "url", "expected"),
    [
        ("azure", "https://a.openai.azure.com", "https://a.openai.azure.com/openai"),
        ("azure", "https://a.openai.azure.com/openai/v1/", "https://a.openai.azure.com/openai"),
        ("azure", "https://openai.example/openai/deployments/x", "https://openai.example/openai"),
        ("anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1"),
        ("anthropic", "https://proxy.example/v1", "https://proxy.example/v1"),
        ("anthropic", "https://proxy.example/a/v1/messages", "https://proxy.example/a/v1"),
        ("mistral", "https://proxy.example/mistral/v1", "https://proxy.example/mistral/v1"),
    ],
)  # fmt: skip
def test_url_of_a_server_has_the_path_that_the_provider_here_needs(convert, kind, url, expected):
    config, _, _ = convert(
        f"model_list:\n- {{model_name: m, litellm_params: {{model: {kind}/x, api_base: {url!r}}}}}\n"
    )
    (provider,) = config["providers"].values()
    assert provider["base_url"] == expected


def test_price_and_order_of_zero_are_carried_over_and_a_timeout_of_zero_is_left_out(convert):
    config, report, _ = convert(
        "model_list:\n"
        "- {model_name: m, litellm_params: {model: groq/b, order: 1, timeout: 0}}\n"
        "- {model_name: m, litellm_params: {model: groq/a, order: 0, input_cost_per_token: 0, output_cost_per_token: 0}}\n"
    )
    assert config["gateway"]["models"]["m"] == ["groq/a", "groq/b"]
    assert config["budgets"]["groq/a"] == {"input_cost_usd_per_mtok": 0.0, "output_cost_usd_per_mtok": 0.0}
    outcomes = {row["setting"]: (row["outcome"], row["note"]) for row in report["settings"]}
    assert outcomes["model_list[0].litellm_params.timeout"] == ("left out", "not a number above 0")


def test_entry_for_every_model_is_built_in_and_fallbacks_in_a_table_have_a_reason(convert):
    _, report, _ = convert(
        "model_list:\n- {model_name: '*', litellm_params: {model: '*'}}\nrouter_settings: {fallbacks: {a: [b]}}\n"
    )
    outcomes = {row["setting"]: (row["outcome"], row["note"]) for row in report["settings"]}
    assert outcomes["model_list[0]"][0] == "built in"
    assert outcomes["router_settings.fallbacks"] == ("left out", "not a list, such as [{MODEL: [MODEL]}]")


@each_case(
    ("text", "message"),
    [
        ("model_list: [\n", "expected the node content"),
        ("- a\n- b\n", "has no settings"),
        ("a: !!python/object/apply:os.system [ls]\n", "could not determine a constructor"),
        ("a: &a [x, x]\n" + "".join(f"{c}: &{c} [*{p}, *{p}, *{p}, *{p}]\n" for p, c in itertools.pairwise("abcdefghi")), "more than 20,000"),
        ("a: &a [*a]\n", "nested too deeply"),
        ("[" * 1_000 + "\n", "malformed"),
    ],
)  # fmt: skip
def test_file_that_is_no_configuration_is_refused(text, message):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        file.write_text(text)
        with pytest.raises(Exception, match=message):
            import_litellm(file)


def test_file_that_cannot_be_read_is_named_with_the_reason(tmp_path):
    with pytest.raises(UsageError, match=r": the file cannot be read \(Is a directory\)$"):
        import_litellm(tmp_path)
    (tmp_path / "config.yaml").write_bytes(b"# caf\xe9\n")
    with pytest.raises(UsageError, match=r"config.yaml: the byte 0xe9 in line 1 is not UTF-8"):
        import_litellm(tmp_path / "config.yaml")


def test_existing_file_is_not_replaced_and_the_result_can_go_to_standard_output(tmp_path, capsys):
    out = tmp_path / "helmdeck.toml"
    out.write_text("")
    assert main(["import", "litellm", str(FILES / "keys.yaml"), "--out", str(out)]) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert main(["import", "litellm", str(FILES / "keys.yaml")]) == 0
    printed = capsys.readouterr()
    assert tomllib.loads(printed.out)["gateway"]["key"] == "env:LITELLM_MASTER_KEY"
    assert "sagemaker" in printed.err
