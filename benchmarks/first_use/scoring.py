"""Compares plans with expected plans, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from benchmarks.first_use.data import ExpectedStep, Request
from helmdeck_core import PIPELINE_RUN, Catalog, Entry, Plan, Step

# Tools that write, of catalogs that do not annotate their tools.
WRITING: Final = frozenset(
    """
    create_or_update_file create_repository push_files create_issue create_pull_request fork_repository create_branch
    update_issue add_issue_comment create_pull_request_review merge_pull_request update_pull_request_branch
    slack_post_message slack_reply_to_thread slack_add_reaction write_query create_table append_insight
    book_hotel cancel_booking send_email create_event delete_event create_task post_message
    cancel_order refund_payment update_stock
    helmdeck.memory_store blog.publish git.commit swe.solve sheets.append email.send calendar.create_event chat.post
    notify.push issue.create fs.write desktop.run_task desktop.click
    """.split()
)


@attrs.frozen
class Score:
    """The counts of one request.

    :ivar steps: expected steps; ``tools`` of them have the right tool, ``args`` of these the right arguments.
    :ivar invented: arguments that the request does not state, or not for this step.
    :ivar wrong_writes: planned steps that change something and are not expected.
    :ivar negated: tools and values that the request excludes, and that the plan contains.
    :ivar gaps: uncovered parts, ``reported`` of them named by a gap.
    :ivar extra: planned steps beyond the expected ones.
    :ivar inferred: steps that the planner adds for an argument of another one; ``inferred_right`` of them are right, and
        ``inferred_wanted`` are expected.
    :ivar problems: what is wrong, for display.
    """

    steps: int = 0
    tools: int = 0
    args: int = 0
    invented: int = 0
    wrong_writes: int = 0
    negated: int = 0
    gaps: int = 0
    reported: int = 0
    extra: int = 0
    inferred: int = 0
    inferred_right: int = 0
    inferred_wanted: int = 0
    problems: tuple[str, ...] = ()

    def __add__(self, other: Score) -> Score:
        return Score(
            **{
                field.name: getattr(self, field.name) + getattr(other, field.name)
                for field in attrs.fields(Score)
                if field.name != "problems"
            }
        )


def score(request: Request, plan: Plan, catalog: Catalog) -> Score:
    """Compare a plan with the expected one."""
    planned = [step for step in plan.steps if not step.is_gap and not step.inferred_for]
    inferred = [step for step in plan.steps if step.inferred_for]
    pairs = _pair(request.steps, planned)
    problems: list[str] = []
    right_tools = right_args = invented = 0
    for expected, index in zip(request.steps, pairs, strict=True):
        if index is None:
            problems.append(f"no step {'|'.join(expected.tools)}")
            continue
        right_tools += 1
        wrong, strange = _compare(expected, planned[index], request, pairs)
        right_args += not wrong and not strange
        invented += len(strange)
        problems += [f"{expected.tools[0]}: {text}" for text in (*wrong, *strange)]
    unpaired = [step for index, step in enumerate(planned) if index not in pairs]
    for step in unpaired:
        strange = [value for value in _leaves(_arguments(step)) if not _is_stated(value, request.text)]
        invented += len(strange)
        problems += [f"extra step {tool_of(step)} {json.dumps(_arguments(step), ensure_ascii=False, default=str)}"]
    writes = [step for step in unpaired if _writes(step, catalog)]
    negated = [tool for tool in request.never if any(tool == tool_of(step) for step in planned)]
    negated += [text for text in request.forbidden if any(text in str(_arguments(step)) for step in planned)]
    wanted_lookups = _pair(request.inferred, inferred)
    right_lookups = sum(
        index is not None and not any(map(bool, _compare(each, inferred[index], request, (index,))))
        for each, index in zip(request.inferred, wanted_lookups, strict=True)
    )
    problems += [
        f"inferred {tool_of(step)} {json.dumps(_arguments(step))}" for step in inferred if right_lookups < len(inferred)
    ]
    problems += [
        f"not inferred: {each.tools[0]}"
        for each, index in zip(request.inferred, wanted_lookups, strict=True)
        if index is None
    ]
    gaps = [step.rationale.casefold() for step in plan.steps if step.is_gap]
    wanted = [word.casefold() for word in request.gaps]
    reported = sum(any(word in gap for gap in gaps) for word in wanted)
    advised = not planned and "language model" in plan.advice
    problems += [f"planned although excluded: {each}" for each in negated]
    problems += [f"gap {word!r} not reported" for word in wanted if not any(word in gap for gap in gaps)]
    if request.needs_model and not advised:
        problems.append("no advice to use a language model")
    return Score(
        steps=len(request.steps),
        tools=right_tools,
        args=right_args,
        invented=invented,
        wrong_writes=len(writes),
        negated=len(negated),
        gaps=len(wanted) + request.needs_model,
        reported=reported + (request.needs_model and advised),
        extra=len(unpaired),
        inferred=len(inferred),
        inferred_right=right_lookups,
        inferred_wanted=len(request.inferred),
        problems=tuple(problems),
    )


def right_steps(request: Request, planned: Sequence[Step], *, with_arguments: bool = True) -> list[bool]:
    """Return whether each planned step is expected, with the right arguments."""
    pairs = _pair(request.steps, planned)
    right = [False] * len(planned)
    for expected, index in zip(request.steps, pairs, strict=True):
        if index is not None:
            wrong = with_arguments and any(map(bool, _compare(expected, planned[index], request, pairs)))
            right[index] = not wrong
    return right


def tool_of(step: Step) -> str:
    """Return the tool of a step; ``pipeline:ID`` for a pipeline."""
    return f"pipeline:{step.args.get('id')}" if step.tool == PIPELINE_RUN else step.tool


def _arguments(step: Step) -> Mapping[str, Any]:
    if step.tool != PIPELINE_RUN:
        return step.args
    inputs = step.args.get("inputs")
    return inputs if isinstance(inputs, Mapping) else {}


def _pair(expected: Sequence[ExpectedStep], planned: Sequence[Step]) -> list[int | None]:
    """Return the index of the planned step of each expected one: with the right tool, and the most right arguments."""
    left = set(range(len(planned)))
    pairs: list[int | None] = []
    for each in expected:
        fitting = [index for index in left if tool_of(planned[index]) in each.tools]
        best = max(fitting, key=lambda index: (_fitting_args(each, planned[index]), -index), default=None)
        left.discard(-1 if best is None else best)
        pairs.append(best)
    return pairs


def _fitting_args(expected: ExpectedStep, step: Step) -> int:
    args = _arguments(step)
    return sum(name in args and _is_value(value, args[name]) for name, value in expected.args.items())


def _compare(
    expected: ExpectedStep, step: Step, request: Request, pairs: Sequence[int | None]
) -> tuple[list[str], list[str]]:
    """Return wrong or missing arguments, and arguments that the request does not state for this step."""
    args = _arguments(step)
    wrong = [f"{name} is missing" for name in expected.args if name not in args]
    strange = []
    allowed = {**expected.optional, **expected.args}
    others = [str(value) for each in request.steps if each is not expected for value in _leaves(each.args)]
    own = [str(value) for value in _leaves(allowed)]
    for name, value in args.items():
        shown = f"{name} = {json.dumps(value, ensure_ascii=False, default=str)}"
        if name not in allowed or not all(_is_stated(leaf, request.text) for leaf in _leaves(value)):
            if name in allowed and _is_value(allowed[name], value):
                continue
            strange.append(f"{shown} is not stated")
        elif not _is_value(allowed[name], value):
            is_borrowed = len(pairs) > 1 and any(
                str(leaf) in others and str(leaf) not in own for leaf in _leaves(value)
            )
            (strange if is_borrowed else wrong).append(f"{shown} is {'borrowed' if is_borrowed else 'wrong'}")
    return wrong, strange


def _is_value(expected: Any, found: Any) -> bool:
    if isinstance(expected, Mapping) and "any" in expected:
        return any(_is_value(each, found) for each in expected["any"])
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        return expected.keys() == found.keys() and all(_is_value(expected[name], found[name]) for name in expected)
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(_is_value, expected, found))
    if isinstance(expected, str) and isinstance(found, str):
        return expected.strip() == found.strip()
    return bool(expected == found) and isinstance(expected, bool) == isinstance(found, bool)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    else:
        yield value


def _is_stated(value: Any, text: str) -> bool:
    """Whether a value is text of the request, or a number in it."""
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)):
        return f"{value:g}" in text or str(value) in text
    return str(value).casefold() in text.casefold()


def _writes(step: Step, catalog: Catalog) -> bool:
    entry: Entry | None = catalog.get(step.tool)
    if entry is None:
        return True
    annotations = entry.data.get("annotations")
    if isinstance(annotations, Mapping) and isinstance(annotations.get("readOnlyHint"), bool):
        return not annotations["readOnlyHint"]
    return step.tool in WRITING
