"""Picks one tool of a catalog in several ways; every way gets the same requests over the same catalogs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from benchmarks.weak_models.cases import PickCase
from benchmarks.weak_models.peer_process import NotInstalled, PeerProcess
from benchmarks.weak_models.session import Found, Session, cause_of
from helmdeck_core import PIPELINE_RUN, CallLimits, Catalog, Entry
from helmdeck_selection import input_properties

INSTRUCTIONS = """\
You choose tools. Below is the list of all tools as JSON.

{catalog}

Choose the one tool that does what the user asks for. Answer in JSON and with nothing else: {{"tool": "<name of the tool>"}}"""
OUTPUT_TOKENS = 100
_FENCE = re.compile(r"^```(?:json)?\s*\n(.*?)\n?```$", re.DOTALL)


class Way(Protocol):
    """One way to pick a tool."""

    def __call__(self, case: PickCase) -> Found:
        """Return the picked tool's name."""
        ...


def messages(case: PickCase) -> list[dict[str, str]]:
    """The prompt that a program without a library sends: the whole catalog first, so that a prefix cache serves it."""
    system = INSTRUCTIONS.format(catalog=case.catalog.encode().decode())
    return [{"role": "system", "content": system}, {"role": "user", "content": case.text}]


def read_tool(text: str) -> Found:
    """Read an answer as a careful program does: JSON, alone or in one code fence, with the key ``tool``."""
    text = text.strip()
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except ValueError:
        return Found(cause="no JSON" if text else "empty answer", answer=text)
    if not isinstance(value, Mapping) or not isinstance(value.get("tool"), str):
        return Found(cause="JSON without a tool", answer=text)
    return Found(value=value["tool"], answer=text)


def raw(session: Session) -> Way:
    """The whole catalog in the prompt and "answer in JSON"."""

    def pick(case: PickCase) -> Found:
        return _complete(session, case, {})

    return pick


def llama_json_schema(session: Session) -> Way:
    """The same prompt, constrained by a schema whose tool is an enumeration of all names."""

    def pick(case: PickCase) -> Found:
        names = [entry.id for entry in case.catalog.entries]
        schema = {
            "type": "object",
            "properties": {"tool": {"enum": names}},
            "required": ["tool"],
            "additionalProperties": False,
        }
        return _complete(
            session,
            case,
            {"response_format": {"type": "json_schema", "json_schema": {"name": "pick", "schema": schema}}},
        )

    return pick


def _complete(session: Session, case: PickCase, more: Mapping[str, Any]) -> Found:
    text, cause = session.chat({"messages": messages(case), "max_tokens": OUTPUT_TOKENS, **more})
    found = read_tool(text)
    return Found(cause=cause, answer=text) if cause and found.value is None else found


class OpenAITools:
    """The openai SDK: every tool as a native one, and a call is required."""

    def __init__(self, session: Session) -> None:
        self._process = PeerProcess("openai_tools", session.proxy.base_url, session.model)
        self._tools: tuple[Catalog | None, list[dict[str, Any]], dict[str, str]] = (None, [], {})

    def __call__(self, case: PickCase) -> Found:
        """Return the name of the first tool call."""
        if self._tools[0] is not case.catalog:
            self._tools = (case.catalog, *native_tools(case.catalog))
        _, tools, ids = self._tools
        system = "Call the one tool that does what the user asks for."
        prompt = [{"role": "system", "content": system}, {"role": "user", "content": case.text}]
        answer = self._process.run({"messages": prompt, "tools": tools, "max_tokens": OUTPUT_TOKENS})
        if failure := answer.get("failure"):
            cause = cause_of(answer["message"]) if "Error" in failure else str(failure)
            return Found(cause=f"{failure}" if cause == "error of the server" else cause, answer=str(answer["message"]))
        return Found(value=ids.get(answer["name"], answer["name"]), answer=json.dumps(answer))

    def close(self) -> None:
        """End the process."""
        self._process.close()


class TypedGguf:
    """The library typed-gguf: the probabilities of all tools' names, each with its description, without a server."""

    def __init__(self, session: Session) -> None:
        if session.gguf is None or session.libraries is None:
            raise NotInstalled(
                "it needs the model's file and llama.cpp's shared libraries: a server that is started here"
            )
        self._session = session
        self._process = PeerProcess("typed_gguf", str(session.gguf), str(session.libraries))

    def __call__(self, case: PickCase) -> Found:
        """Return the most probable name."""
        job = {
            "text": case.text,
            "instructions": "Which tool does what the user asks for?",
            "tools": {entry.id: entry.description for entry in case.catalog.entries},
            "threads": self._session.threads,
        }
        answer = self._process.run(job, self._session.request_s)
        if failure := answer.get("failure"):
            return Found(cause=str(failure), answer=str(answer["message"]))
        name = answer["name"]
        return Found(value=name, answer=json.dumps({"tool": name, "probability": answer["probabilities"][name]}))

    def close(self) -> None:
        """End the process."""
        self._process.close()


def native_tools(catalog: Catalog) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return a catalog as native tools, and the id of each tool's name, which may hold letters, digits, ``_`` and ``-``."""
    tools, ids = [], dict[str, str]()
    for entry in catalog.entries:
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", entry.id)[:64] or "_"
        while name in ids:
            name = f"{name[:62]}_2"
        ids[name] = entry.id
        schema = entry.input_schema or {
            "type": "object",
            "properties": {key: {"type": "string"} for key in (*input_properties(entry), *_accepted(entry))},
        }
        function = {"name": name, "description": entry.description, "parameters": schema}
        tools.append({"type": "function", "function": function})
    return tools, ids


def _accepted(entry: Entry) -> list[str]:
    names = entry.metadata.get("accepts")
    return [each for each in names if isinstance(each, str)] if isinstance(names, list) else []


class Helped:
    """``deck.plan`` with the configuration that the product proposes for the model; the pick is the first step.

    :param row: fields of the budget row in place of the proposed ones.
    """

    def __init__(self, session: Session, **row: Any) -> None:
        self._session, self._row = session, row

    def prepare(self, case: PickCase) -> None:
        """Open the deck, which a user does once."""
        self._session.shared_deck(case.catalog, **self._row)

    def __call__(self, case: PickCase) -> Found:
        """Return the entry of the first step."""
        limits = CallLimits(deadline_s=self._session.request_s)
        plan = self._session.shared_deck(case.catalog, **self._row).plan(
            case.text, model=self._session.model_id, limits=limits
        )
        if not plan.steps:
            return Found(cause=f"plan without a step ({plan.outcome.value})")
        step = plan.steps[0]
        if step.is_gap:
            # An invented name becomes a gap, which is not executed; a gap is a valid answer.
            is_invented = step.corrected_from is not None
            cause = "gap for an invented tool" if is_invented else "gap"
            return Found(value="", cause=cause, answer=step.rationale, detail={"invented_in_gap": is_invented})
        name = str(step.args.get("id")) if step.tool == PIPELINE_RUN else step.tool
        return Found(value=name, answer=str(plan), detail={"problems": len(step.problems)})


class Ranker:
    """The first entry of the lexical ranking, without a model."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def prepare(self, case: PickCase) -> None:
        """Open the deck, which a user does once."""
        self._session.shared_deck(case.catalog)

    def __call__(self, case: PickCase) -> Found:
        """Return the id of the first entry."""
        ranking = self._session.shared_deck(case.catalog).rank(case.text)
        best = ranking.scores[0] if ranking.scores else None
        return Found(value=best.id) if best and best.score > 0 else Found(value="", cause="gap")


def judge(case: PickCase, found: Found) -> dict[str, Any]:
    """Compare a pick with the right tools and the catalog."""
    return {**_judged(case, found), "detail": {**found.detail, "set": case.source}}


def _judged(case: PickCase, found: Found) -> dict[str, Any]:
    if found.value is None:
        return {"cause": found.cause or "no answer"}
    if found.value == "":  # a gap
        return {"valid": True, "cause": found.cause}
    is_known = case.catalog.get(found.value) is not None
    is_right = found.value in case.tools
    cause = "" if is_right else "wrong tool" if is_known else "invented tool"
    return {"valid": True, "right": is_right, "invented": not is_known, "cause": cause}


WAYS: Mapping[str, Callable[[Session], Any]] = {
    "ranker": Ranker,
    "helped": Helped,
    "logprobs": lambda session: Helped(session, chooser="logprobs"),
    "raw": raw,
    "llama_json_schema": llama_json_schema,
    "openai_tools": OpenAITools,
    "typed_gguf": TypedGguf,
}
