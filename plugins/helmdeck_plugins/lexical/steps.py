"""From a request to steps: which entry does what each clause asks for, and which inputs are known.

A clause that nothing fits stays visible as a gap. A value that the request does not spell out is left out: whoever runs
the plan can ask for it, but cannot tell a guess from a fact. Two texts are the person's own words: the document, for an
input that takes material, and the clause, for one that takes a wish.
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

# An entry fits a clause when it shares this much of the clause's information. Half would refuse clauses that carry
# values ("translate it into Norwegian for Ms Varga"), none would call every common verb a match.
_FITS: Final = 0.3
# A pipeline whose own words are this close to the best entry of every clause was meant as a whole.
_NEARLY_BEST: Final = 0.8
_QUOTED_CHARACTERS: Final = 100

# Input names that say what kind of value they take, by their last word.
_TAKES_URL: Final = frozenset({"url", "urls", "uri", "link", "links", "website", "address"})
_TAKES_EMAIL: Final = frozenset({"email", "to", "recipient", "recipients", "attendees"})
_TAKES_PATH: Final = frozenset({"path", "paths", "file", "filename", "recording"})
# Input names that say what kind of text they take, by their last word.
_TAKES_MATERIAL: Final = frozenset(
    {"text", "content", "body", "document", "notes", "brief", "markdown", "message", "transcript", "source", "material"}
)
_TAKES_WISH: Final = frozenset(
    {"prompt", "query", "topic", "question", "task", "instruction", "instructions", "request", "goal", "issue"}
)
# A longer document is left out of the arguments: a plan is read, logged and sent on, and every step would repeat it.
_LONGEST_MATERIAL: Final = 16_000
_FINDERS: Final = ((_TAKES_URL, URL), (_TAKES_EMAIL, EMAIL), (_TAKES_PATH, PATH))


@attrs.frozen
class Pick:
    """What fits one clause: an entry, or nothing."""

    clause: Clause
    entry: Entry | None

    @property
    def tools(self) -> tuple[str, ...]:
        """The names under which its step may have been run."""
        if self.entry is None:
            return (UNKNOWN_TOOL,)
        return (self.entry.id, PIPELINE_RUN) if self.entry.kind is EntryKind.PIPELINE else (self.entry.id,)


def asking_clauses(reading: Reading) -> tuple[Clause, ...]:
    """The clauses that want something done; all of them when none has a verb."""
    return tuple(clause for clause in reading.clauses if clause.asks) or reading.clauses


def pick_entries(lexical: LexicalIndex, reading: Reading) -> list[Pick]:
    """Choose the best entry of every asking clause; the same entry is not chosen twice."""
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
    return best if best is not None and lexical.coverage(clause, best) >= _FITS else None


def covering_pipeline(lexical: LexicalIndex, reading: Reading, picks: Sequence[Pick]) -> Entry | None:
    """Find a pipeline that does all that was picked, and little else."""
    if not picks or any(pick.entry is None for pick in picks):
        return None
    order = [index for index, _ in lexical.rank_reading(reading).leading(len(lexical.entries))]
    pipelines = [index for index in order if lexical.entries[index].kind is EntryKind.PIPELINE]
    wanted = {pick.entry.id for pick in picks if pick.entry is not None}
    covering = [entry for entry in (lexical.entries[index] for index in pipelines) if _does_all(entry, wanted)]
    if covering:
        return min(covering, key=lambda entry: len(set(step_packs(entry)) - wanted))
    if pipelines and pipelines[0] == order[0] and _means_all(lexical, pipelines[0], picks):
        return lexical.entries[pipelines[0]]
    return None


def _does_all(pipeline: Entry, wanted: set[str]) -> bool:
    if wanted == {pipeline.id}:
        return True
    does = {*pipeline.supersedes, *step_packs(pipeline)}
    # One pack out of a pipeline's five is a reason to run the pack.
    return len(wanted) > 1 and wanted <= does | {pipeline.id} and len(does - wanted) * 2 <= len(wanted)


def _means_all(lexical: LexicalIndex, index: int, picks: Sequence[Pick]) -> bool:
    return all(_nearly_best(lexical.clause_scores(pick.clause), index) for pick in picks)


def _nearly_best(scores: Mapping[int, float], index: int) -> bool:
    return scores.get(index, 0.0) >= _NEARLY_BEST * max(scores.values(), default=1.0)


def without_done(picks: Sequence[Pick], done: Sequence[CompletedStep]) -> list[Pick]:
    """Leave out what was run already, one pick for one step that was run."""
    left = list(picks)
    for step in done:
        ran = next((pick for pick in left if step.tool in pick.tools), None)
        if ran is not None:
            left.remove(ran)
    return left


def to_step(
    entry: Entry | None, clause: Clause, request: str, defaults: Mapping[str, Any], document: str = ""
) -> dict[str, Any]:
    """The step, without its number, that has an entry do what a clause asks for."""
    said = quoted(clause.text)
    if entry is None:
        return {"tool": UNKNOWN_TOOL, "args": {}, "rationale": f"{GAP} nothing in the catalog fits {said}"}
    inputs = known_inputs(entry, clause.text, request, defaults, document)
    if entry.kind is EntryKind.PIPELINE:
        return {
            "tool": PIPELINE_RUN,
            "args": {"id": entry.id, "inputs": inputs},
            "rationale": f"the pipeline fits {said}",
        }
    return {"tool": entry.id, "args": inputs, "rationale": f"fits {said}"}


def known_inputs(
    entry: Entry, clause: str, request: str, defaults: Mapping[str, Any], document: str = ""
) -> dict[str, Any]:
    """Inputs whose values the caller gave as defaults or the request spells out, and texts that must be given."""
    inputs: dict[str, Any] = {}
    required = required_inputs(entry)
    for name, schema in input_properties(entry).items():
        if name in defaults:
            inputs[name] = defaults[name]
        elif found := _spelled_out(name, clause, request):
            is_list = isinstance(schema, Mapping) and schema.get("type") == "array"
            inputs[name] = found if is_list else found[0]
        elif name in required and (text := _text_for(name, schema, clause, document)):
            inputs[name] = text
    return inputs


def _text_for(name: str, schema: Any, clause: str, document: str) -> str:
    """The person's own words for an input that takes free text; empty where it takes something else."""
    if (
        not isinstance(schema, Mapping)
        or schema.get("type") != "string"
        or schema.keys() & {"enum", "format", "pattern"}
    ):
        return ""
    kind = _last_word(name)
    if kind in _TAKES_MATERIAL:
        # Without a document there is no material: "send a mail to Ada" is not what the mail should say.
        material = document.strip()
        return material if len(material) <= _LONGEST_MATERIAL else ""
    if kind in _TAKES_WISH:
        title = document.strip().partition("\n")[0]
        return f"{clause} ({title})" if title else clause
    return ""


def _last_word(name: str) -> str:
    return re.split(r"[_\W]", name.lower())[-1]


def _spelled_out(name: str, clause: str, request: str) -> list[str]:
    kind = _last_word(name)
    for names, pattern in _FINDERS:
        if kind in names:
            # Two addresses in the request and none in the clause: there is no telling which one is meant.
            everywhere = list(dict.fromkeys(pattern.findall(request)))
            return list(dict.fromkeys(pattern.findall(clause))) or (everywhere if len(everywhere) == 1 else [])
    return []


def quoted(text: str) -> str:
    """A piece of a request for people: on one line, bounded, and fit for UTF-8."""
    line = " ".join(text.split()).encode("utf-8", "replace").decode()
    return f"'{line if len(line) <= _QUOTED_CHARACTERS else line[: _QUOTED_CHARACTERS - 1] + '…'}'"
