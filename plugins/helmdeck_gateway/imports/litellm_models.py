"""Deployments of a LiteLLM ``model_list``, read as calls of Helmdeck's providers."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from helmdeck_gateway.imports.findings import Findings
from helmdeck_gateway.imports.yaml_source import Place, quoted

KINDS: Final[Mapping[str, str]] = {
    "openai": "openai", "text-completion-openai": "openai", "anthropic": "anthropic", "gemini": "gemini",
    "vertex_ai": "vertex", "groq": "groq", "mistral": "mistral", "deepseek": "deepseek", "xai": "xai",
    "together_ai": "together", "fireworks_ai": "fireworks", "perplexity": "perplexity", "cerebras": "cerebras",
    "openrouter": "openrouter", "ollama": "ollama", "ollama_chat": "ollama", "hosted_vllm": "vllm", "vllm": "vllm",
    "lm_studio": "lmstudio", "llamafile": "llamacpp", "huggingface": "huggingface", "moonshot": "moonshot",
    "dashscope": "alibaba", "zai": "zai", "snowflake": "snowflake", "azure": "azure-deployments",
    "azure_ai": "openai-compatible", "litellm_proxy": "openai-compatible", "openai_like": "openai-compatible",
    "custom_openai": "openai-compatible", "nvidia_nim": "openai-compatible", "databricks": "openai-compatible",
    "xinference": "openai-compatible", "sambanova": "openai-compatible",
}  # fmt: skip
"""The provider by the first part of LiteLLM's model names."""

CONTRIBUTED: Final[Mapping[str, str]] = {"bedrock": "bedrock", "cohere": "cohere", "cohere_chat": "cohere"}
"""Providers in distributions of their own."""

BARE: Final = (
    (re.compile(r"(gpt-|o\d|chatgpt-|text-embedding-|codex)"), "openai"),
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gemini"), "gemini"),
)
"""The provider of model names without one."""

PRICES: Final[Mapping[str, str]] = {
    "input_cost_per_token": "input_cost_usd_per_mtok",
    "output_cost_per_token": "output_cost_usd_per_mtok",
    "cache_read_input_token_cost": "cached_input_cost_usd_per_mtok",
}
PATHS: Final = {
    "azure-deployments": (re.compile(r"/openai(/v1|/deployments/.*)?$"), "/openai"),
    "anthropic": (re.compile(r"(/v1)?(/messages)?$"), "/v1"),
}
"""The end of a base URL here, where LiteLLM adds it to the URL of the server or accepts more."""
EVERY_MODEL: Final = "clients may name every model of a configured provider: provider/model"
SIGNED: Final = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
"""Keys of an AWS account, which the provider reads from the variables of these names in capitals."""
MODES: Final = ("chat", "completion", "embedding", "responses")
ENVIRONMENT: Final = "os.environ/"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET: Final = re.compile(r"(?i)auth|key|token|secret|password|cookie")
REQUEST_FIELDS: Final = frozenset(
    ("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "n", "presence_penalty",
     "frequency_penalty", "reasoning_effort", "thinking", "response_format", "user", "stream", "extra_body")
)  # fmt: skip


@attrs.frozen(kw_only=True)
class Connection:
    """How a server is called.

    :ivar key: reference to its API key.
    """

    kind: str
    base_url: str = ""
    key: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: float | None = None
    first_token_timeout_s: float | None = None
    max_concurrent: int | None = None


@attrs.frozen(kw_only=True)
class Deployment:
    """One entry of ``model_list``.

    :ivar group: the name that clients send.
    :ivar model: the name that the provider knows; empty for a pattern.
    """

    place: Place
    group: str
    model: str
    connection: Connection
    weight: float = 1.0
    order: float | None = None
    prices: Mapping[str, float] = attrs.field(factory=dict)


class ModelReader:
    """Reads the entries of ``model_list``."""

    def __init__(self, findings: Findings) -> None:
        self._source = findings.source
        self._findings = findings
        self.missing: list[str] = []  # environment variables that the operator has to set
        self._variables: dict[str, str] = {}  # by the secret

    def read(self) -> list[Deployment]:
        """Return the deployments that can be carried over."""
        found = [self._deployment(place) for place, _ in self._source.children("model_list")]
        return [each for each in found if each is not None]

    def reference(self, place: Place, variable: str) -> str:
        """Return the reference for a secret; one that the file contains is not copied."""
        value = self._source.at(*place)
        if isinstance(value, str) and value.startswith(ENVIRONMENT):
            name = value.removeprefix(ENVIRONMENT)
            if _NAME.fullmatch(name):
                self._findings.add(place, "carried over", f"env:{name}")
                return f"env:{name}"
        variable = self._variables.setdefault(str(value), self._free(variable))
        self.missing.append(variable)
        note = f"the secret in the file was not copied; set the environment variable {variable} to it"
        self._findings.add(place, "action needed", note)
        return f"env:{variable}"

    def _free(self, variable: str) -> str:
        """A name for another secret."""
        taken, number, name = set(self._variables.values()), 1, variable
        while name in taken:
            number += 1
            name = f"{variable}_{number}"
        return name

    def url(self, place: Place) -> str:
        """Return the URL of a setting; one in an environment variable is read now."""
        value = self._source.at(*place)
        if not isinstance(value, str):
            self._findings.add(place, "action needed", f"{quoted(value)} is not a URL; write it as base_url")
            return "https://malformed.invalid"
        if not value.startswith(ENVIRONMENT):
            return self._clean_url(place, value)
        name = value.removeprefix(ENVIRONMENT)
        if os.environ.get(name):
            self._findings.add(place, "carried over", f"the value that {name} has now")
            return self._clean_url(place, os.environ[name])
        self._findings.add(place, "action needed", f"{name} is not set here; write its value as base_url")
        return f"https://{name.lower().replace('_', '-')}.invalid"

    def _clean_url(self, place: Place, url: str) -> str:
        try:
            parts = urlsplit(url)
        except ValueError:
            self._findings.add(place, "action needed", "the URL is malformed; write it as base_url")
            return "https://malformed.invalid"
        if "@" in parts.netloc:
            self._findings.add(
                place, "action needed", "the credentials in the URL were not copied; use api_key or headers"
            )
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        if parts.query or parts.fragment:
            note = "the part of the URL from ? or # on can be a credential, and was not copied; use api_key or headers"
            self._findings.add(place, "action needed", note)
            parts = parts._replace(query="", fragment="")
        return parts.geturl().rstrip("/")

    def _deployment(self, place: Place) -> Deployment | None:
        at, add = self._source.at, self._findings.add
        group, params = at(*place, "model_name"), (*place, "litellm_params")
        name = at(*params, "model")
        if not isinstance(group, str) or not group or not isinstance(name, str) or not name:
            add(place, "left out", "an entry needs model_name and litellm_params.model, both as text")
            return None
        mode = at(*place, "model_info", "mode")
        if mode is not None and mode not in MODES:
            add(place, "left out", f"the mode {quoted(mode)} is not served")
            return None
        if name == group == "*" and set(at(*params)) == {"model"}:
            add(place, "built in", EVERY_MODEL)
            return None
        kind, model = self._kind(params, name)
        if not kind:
            first = name.partition("/")[0][:40]
            add(
                place,
                "left out",
                f"no provider of Helmdeck serves {first!r}; with an api_base, it would be OpenAI-compatible",
            )
            return None
        add((*place, "model_name"), "carried over", f'[gateway.models] "{group}"')
        add((*params, "model"), "carried over", f"a model of the provider {kind!r}")
        if kind in CONTRIBUTED.values():
            add((*params, "model"), "action needed", f"pip install helmdeck-provider-{kind}")
        if mode is not None:
            add((*place, "model_info", "mode"), "built in")
        return Deployment(
            place=place, group=group, model=model, connection=self._connection(params, kind),
            weight=self._weight(params), order=self._number((*params, "order"), "the order of the list in [gateway.models]"),
            prices=self._prices(place),
        )  # fmt: skip

    def _kind(self, params: Place, name: str) -> tuple[str, str]:
        own = self._source.at(*params, "custom_llm_provider")
        first, slash, rest = name.partition("/")
        if isinstance(own, str) and own:
            self._findings.add((*params, "custom_llm_provider"), "carried over")
            first, rest, slash = own, name.removeprefix(f"{own}/"), "/"
        kind = {**KINDS, **CONTRIBUTED}.get(first, "") if slash else ""
        if not kind:
            kind = next((kind for pattern, kind in BARE if pattern.match(name)), "") if not slash else ""
            first, rest = kind, name
        has_url = bool(self._source.at(*params, "api_base") or self._source.at(*params, "base_url"))
        if kind == "openai" and has_url and "api.openai.com" not in str(self._source.at(*params, "api_base")):
            kind = "openai-compatible"
        if kind == "openai-compatible" and not has_url:
            return "", ""
        if not kind and has_url:
            kind, rest = "openai-compatible", name
        if kind == "vertex" and rest.startswith("claude"):
            return "", ""
        return kind, rest.removeprefix("responses/").removeprefix("converse/")

    def _connection(self, params: Place, kind: str) -> Connection:
        at = self._source.at
        tables = (params, *self._credential(params))

        def find(*names: str) -> Place | None:
            places = ((*table, name) for name in names for table in tables)
            return next((place for place in places if at(*place) is not None), None)

        options: dict[str, Any] = {}
        base = ""
        if (place := find("api_base", "base_url")) is not None:
            base = self.url(place)
            if kind in PATHS:
                given, ending = PATHS[kind]
                base = given.sub("", base) + ending
            if place not in self._findings:
                self._findings.add(place, "carried over", f"base_url = {base}")
        names = {"vertex_project": "project", "vertex_location": "location", "aws_region_name": "region"}
        names |= {"api_version": "api_version"} if kind == "azure-deployments" else {}
        for name, option in names.items():
            place = find(name)
            if place is None:
                continue
            value = at(*place)
            if isinstance(value, str) and not value.startswith(ENVIRONMENT):
                options[option] = value
                self._findings.add(place, "carried over", f"options.{option}")
            else:
                self._findings.add(place, "action needed", f"write the value as options.{option}")
        for name in SIGNED:
            if (place := find(name)) is not None:
                note = f"the provider reads the variable {name.upper()}; set it where the gateway is started"
                self._findings.add(place, "action needed", note)
        place = find("api_key")
        variable = f"{re.sub('[^A-Z]', '_', kind.upper())}_API_KEY"
        concurrent = self._positive((*params, "max_parallel_requests"), "max_concurrent")
        return Connection(
            kind=kind, base_url=base, key="" if place is None else self.reference(place, variable),
            options=tuple(options.items()), headers=self._headers(params),
            timeout_s=self._positive((*params, "timeout"), "timeout_s"),
            first_token_timeout_s=self._positive((*params, "stream_timeout"), "first_token_timeout_s", "approximated"),
            max_concurrent=None if concurrent is None else int(concurrent),
        )  # fmt: skip

    def _credential(self, params: Place) -> tuple[Place, ...]:
        name = self._source.at(*params, "litellm_credential_name")
        if name is None:
            return ()
        for place, entry in self._source.children("credential_list"):
            if isinstance(entry, Mapping) and entry.get("credential_name") == name:
                for each in (
                    (*params, "litellm_credential_name"),
                    (*place, "credential_name"),
                    (*place, "credential_info"),
                ):
                    self._findings.add(each, "carried over", "the key of the provider")
                return ((*place, "credential_values"),)
        note = "credential_list has no such entry; set api_key of the provider"
        self._findings.add((*params, "litellm_credential_name"), "action needed", note)
        return ()

    def _headers(self, params: Place) -> tuple[tuple[str, str], ...]:
        found: dict[str, str] = {}
        for field in ("extra_headers", "headers"):
            for place, value in self._source.children(*params, field):
                name = str(place[-1])
                if not isinstance(value, str) or _SECRET.search(name) or value.startswith(ENVIRONMENT):
                    self._findings.add(
                        place, "action needed", "add the header to [providers.NAME] headers; its value was not copied"
                    )
                    continue
                found[name] = value
                self._findings.add(place, "carried over", "headers")
        organization = self._source.at(*params, "organization")
        if isinstance(organization, str) and not organization.startswith(ENVIRONMENT):
            found["OpenAI-Organization"] = organization
            self._findings.add((*params, "organization"), "carried over", "headers")
        elif organization is not None:
            note = "add the header OpenAI-Organization to [providers.NAME] headers"
            self._findings.add((*params, "organization"), "action needed", note)
        return tuple(found.items())

    def _weight(self, params: Place) -> float:
        weight = self._positive((*params, "weight"), "the weight of the model or route")
        limits = {name: self._positive((*params, name), "") for name in ("rpm", "tpm")}
        for name, value in limits.items():
            if value is not None:
                used = "used as the weight; " if weight is None else ""
                note = f"{used}Helmdeck does not limit the requests to a provider, and reacts to its 429 with another route or model"
                self._findings.add((*params, name), "approximated", note)
        return next((each for each in (weight, limits["rpm"], limits["tpm"]) if each), 1.0)

    def _prices(self, place: Place) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for table in ("litellm_params", "model_info"):
            for name, key in PRICES.items():
                if (value := self._number((*place, table, name), f"[budgets] {key}")) is not None:
                    found[key] = float(f"{value * 1e6:.10g}")
            if (tokens := self._positive((*place, table, "max_input_tokens"), "[budgets] input_tokens")) is not None:
                found["input_tokens"] = int(tokens)
        for field in self._source.at(*place, "litellm_params") or ():
            if field in REQUEST_FIELDS:
                note = "Helmdeck adds no parameters to requests; clients send them"
                self._findings.add((*place, "litellm_params", field), "left out", note)
        for field in ("id", "base_model", "db_model"):
            self._findings.add((*place, "model_info", field), "built in", "models are named provider/model everywhere")
        return found

    def _number(self, place: Place, note: str, outcome: Any = "carried over") -> float | None:
        value = self._source.at(*place)
        if value is None:
            return None
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if isinstance(value, bool) or not math.isfinite(number) or number < 0:
            self._findings.add(place, "left out", "not a number")
            return None
        self._findings.add(place, outcome, note)
        return number

    def _positive(self, place: Place, note: str, outcome: Any = "carried over") -> float | None:
        number = self._number(place, note, outcome)
        if number == 0:
            self._findings.add(place, "left out", "not a number above 0")
        return number or None
