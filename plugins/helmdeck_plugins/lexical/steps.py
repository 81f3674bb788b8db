"""Turns the clauses of a request into steps with an entry and its known inputs.

A clause without a matching entry becomes a gap. A value that the request does not state is left out: the caller can ask
for a missing value, but cannot distinguish a guess from a fact. Free-text inputs get the user's own words: the document for
an input such as ``content``, the clause for an input such as ``query``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from helmdeck_core import GAP, PIPELINE_RUN, UNKNOWN_TOOL, CompletedStep, Entry, EntryKind
from helmdeck_plugins.lexical.fields import input_properties, required_inputs, step_packs
from helmdeck_plugins.lexical.index import LexicalIndex
from helmdeck_plugins.lexical.request import Clause, Reading
from helmdeck_plugins.lexical.text import EMAIL, PATH, URL

# Share of a clause's information that a matching entry covers. One half would reject clauses that contain values
# ("translate it into Norwegian for Ms Varga"); zero would accept every common verb.
_MIN_COVERAGE: Final = 0.3
# A pipeline this close to the best entry of every clause is used as a whole.
_NEARLY_BEST: Final = 0.8
_MAX_QUOTE_CHARS: Final = 100

# Input names that imply a type of value, by their last word.
_TAKES_URL: Final = frozenset({"url", "urls", "uri", "link", "links", "website", "address"})
_TAKES_EMAIL: Final = frozenset({"email", "to", "recipient", "recipients", "attendees"})
_TAKES_PATH: Final = frozenset({"path", "paths", "file", "filename", "recording"})
# Input names that imply a kind of free text, by their last word.
_TAKES_DOCUMENT: Final = frozenset(
    {"text", "content", "body", "document", "notes", "brief", "markdown", "message", "transcript", "source", "material"}
)
_TAKES_CLAUSE: Final = frozenset(
    {"prompt", "query", "topic", "question", "task", "instruction", "instructions", "request", "goal", "issue"}
)
# A longer document is left out of the arguments: plans are logged and sent on, and every step would repeat it.
_MAX_DOCUMENT_CHARS: Final = 16_000
_FINDERS: Final = ((_TAKES_URL, URL), (_TAKES_EMAIL, EMAIL), (_TAKES_PATH, PATH))


@attrs.frozen
class Pick:
    """The entry chosen for a clause, if any."""

    clause: Clause
    entry: Entry | None

    @property
    def tools(self) -> tuple[str, ...]:
        """Tool names that an executed step of this pick can have."""
        if self.entry is None:
            return (UNKNOWN_TOOL,)
        return (self.entry.id, PIPELINE_RUN) if self.entry.kind is EntryKind.PIPELINE else (self.entry.id,)


def asking_clauses(reading: Reading) -> tuple[Clause, ...]:
    """Return the clauses that request an action; all clauses if none has a verb."""
    return tuple(clause for clause in reading.clauses if clause.asks) or reading.clauses


def pick_entries(lexical: LexicalIndex, reading: Reading) -> list[Pick]:
    """Choose the best entry of every clause that requests an action; no entry is chosen twice."""
    picks: list[Pick] = []
    chosen: set[int] = set()
    for clause in asking_clauses(reading):
        index = _best_entry(lexical, clause)
        if index is None or index not in chosen:
            picks.append(Pick(clause, None if index is None else lexical.entries[index]))
        if index is not None:
            chosen.add(index)
    return picks


def _best_entry(lexical: LexicalIndex, clause: Clause) -> int | None:
    best = lexical.best_entry(lexical.clause_scores(clause))
    return best if best is not None and lexical.coverage(clause, best) >= _MIN_COVERAGE else None


def covering_pipeline(lexical: LexicalIndex, reading: Reading, picks: Sequence[Pick]) -> Entry | None:
    """Find a pipeline that covers all picked entries and little else."""
    if not picks or any(pick.entry is None for pick in picks):
        return None
    order = [index for index, _ in lexical.rank_reading(reading).leading(len(lexical.entries))]
    pipelines = [index for index in order if lexical.entries[index].kind is EntryKind.PIPELINE]
    wanted = {pick.entry.id for pick in picks if pick.entry is not None}
    covering = [entry for entry in (lexical.entries[index] for index in pipelines) if _covers(entry, wanted)]
    if covering:
        return min(covering, key=lambda entry: len(set(step_packs(entry)) - wanted))
    if pipelines and pipelines[0] == order[0] and _is_nearly_best_for_all(lexical, pipelines[0], picks):
        return lexical.entries[pipelines[0]]
    return None


def _covers(pipeline: Entry, wanted: set[str]) -> bool:
    if wanted == {pipeline.id}:
        return True
    packs = {*pipeline.supersedes, *step_packs(pipeline)}
    # If one pack of a pipeline's five is wanted, the pack itself is the better choice.
    return len(wanted) > 1 and wanted <= packs | {pipeline.id} and len(packs - wanted) * 2 <= len(wanted)


def _is_nearly_best_for_all(lexical: LexicalIndex, index: int, picks: Sequence[Pick]) -> bool:
    return all(_nearly_best(lexical.clause_scores(pick.clause), index) for pick in picks)


def _nearly_best(scores: Mapping[int, float], index: int) -> bool:
    return scores.get(index, 0.0) >= _NEARLY_BEST * max(scores.values(), default=1.0)


def without_done(picks: Sequence[Pick], done: Sequence[CompletedStep]) -> list[Pick]:
    """Remove executed picks, one per executed step."""
    left = list(picks)
    for step in done:
        executed = next((pick for pick in left if step.tool in pick.tools), None)
        if executed is not None:
            left.remove(executed)
    return left


def to_step(
    entry: Entry | None, clause: Clause, request: str, defaults: Mapping[str, Any], document: str = ""
) -> dict[str, Any]:
    """Return the step of an entry for a clause, without its number."""
    quote = quoted(clause.text)
    if entry is None:
        return {"tool": UNKNOWN_TOOL, "args": {}, "rationale": f"{GAP} nothing in the catalog fits {quote}"}
    inputs = known_inputs(entry, clause.text, request, defaults, document)
    if entry.kind is EntryKind.PIPELINE:
        return {
            "tool": PIPELINE_RUN,
            "args": {"id": entry.id, "inputs": inputs},
            "rationale": f"the pipeline fits {quote}",
        }
    return {"tool": entry.id, "args": inputs, "rationale": f"fits {quote}"}


def known_inputs(
    entry: Entry, clause: str, request: str, defaults: Mapping[str, Any], document: str = ""
) -> dict[str, Any]:
    """Return the inputs that are known: the caller's defaults, values in the request, and required free texts."""
    inputs: dict[str, Any] = {}
    required = required_inputs(entry)
    for name, schema in input_properties(entry).items():
        if name in defaults:
            inputs[name] = defaults[name]
        elif values := _stated_values(name, clause, request):
            is_list = isinstance(schema, Mapping) and schema.get("type") == "array"
            inputs[name] = values if is_list else values[0]
        elif name in required and (text := _text_for(name, schema, clause, document)):
            inputs[name] = text
    return inputs


def _text_for(name: str, schema: Any, clause: str, document: str) -> str:
    """Return the user's own words for a free-text input; empty for any other input."""
    if (
        not isinstance(schema, Mapping)
        or schema.get("type") != "string"
        or schema.keys() & {"enum", "format", "pattern"}
    ):
        return ""
    kind = _last_word(name)
    if kind in _TAKES_DOCUMENT:
        # The clause is no substitute for a document: "send a mail to Ada" is not the text of the mail.
        content = document.strip()
        return content if len(content) <= _MAX_DOCUMENT_CHARS else ""
    if kind in _TAKES_CLAUSE:
        title = document.strip().partition("\n")[0]
        return f"{clause} ({title})" if title else clause
    return ""


def _last_word(name: str) -> str:
    return re.split(r"[_\W]", name.lower())[-1]


def _stated_values(name: str, clause: str, request: str) -> list[str]:
    kind = _last_word(name)
    for names, pattern in _FINDERS:
        if kind in names:
            # Two values in the request and none in the clause are ambiguous.
            anywhere = list(dict.fromkeys(pattern.findall(request)))
            return list(dict.fromkeys(pattern.findall(clause))) or (anywhere if len(anywhere) == 1 else [])
    return []


def quoted(text: str) -> str:
    """Quote a part of a request for display: one line, bounded length, valid UTF-8."""
    line = " ".join(text.split()).encode("utf-8", "replace").decode()
    return f"'{line if len(line) <= _MAX_QUOTE_CHARS else line[: _MAX_QUOTE_CHARS - 1] + '…'}'"
