"""Checks contributed values at start-up, and attributes errors of their functions to the plugin that contributed them.

A value of any type is rejected if it has a property ``problem`` that is not empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core.domain.decode import DecodeStep
from helmdeck_core.domain.questions import PromptVariant, rendered_like_others
from helmdeck_core.domain.recovery_actions import (
    CAUSES_OF_RULES,
    Action,
    FailureContext,
    NextModel,
    RecoveryRule,
    Retry,
)
from helmdeck_core.domain.tool_calls import ToolCallFormat
from helmdeck_core.hooks.calls import Contribution, attributed
from helmdeck_core.hooks.contributions import Contributions


def checked(
    contributions: Contributions, texts: Mapping[str, str], is_builtin: Callable[[str], bool] = lambda _: False
) -> Contributions:
    """Return the contributions after every check. Whether values of built-in plugins have a problem is left to the tests.

    :param texts: the contributed texts, for prompt variants without headings of their own.
    :param is_builtin: whether a plugin is built in.
    :raises PluginError: a value is not valid.
    """
    for values in contributions.values():
        for contribution in values:
            if not is_builtin(contribution.plugin) and (problem := getattr(contribution.value, "problem", "")):
                raise contribution.fault(f"{type(contribution.value).__name__} {contribution.value.name!r}: {problem}")
    changed = {kind: tuple(map(check, contributions.of(kind))) for kind, check in CHECKS.items()}
    return contributions.replaced({**changed, PromptVariant: _variants(contributions.of(PromptVariant), texts)})


def _decode_step(contribution: Contribution[DecodeStep]) -> Contribution[DecodeStep]:
    step = contribution.value

    def candidates(text: str) -> list[str]:
        found = list(step.candidates(text))
        if not all(isinstance(each, str) for each in found):
            raise TypeError("yielded a value that is not a string")
        return found

    attributed_candidates = attributed(contribution, candidates, list, (RecursionError, MemoryError))
    return attrs.evolve(contribution, value=attrs.evolve(step, candidates=attributed_candidates))


def _rule(contribution: Contribution[RecoveryRule]) -> Contribution[RecoveryRule]:
    rule = contribution.value
    cause = rule.name.partition("/")[0]
    if cause not in CAUSES_OF_RULES:
        raise contribution.fault(
            f"RecoveryRule {rule.name!r}: there is no cause {cause!r}: {', '.join(CAUSES_OF_RULES)}"
        )
    if rule.decide is None:
        return contribution
    return attrs.evolve(
        contribution, value=attrs.evolve(rule, decide=attributed(contribution, _only_actions(rule.decide), tuple))
    )


def _only_actions(
    decide: Callable[[FailureContext], Sequence[Action]],
) -> Callable[[FailureContext], tuple[Action, ...]]:
    def decide_actions(context: FailureContext) -> tuple[Action, ...]:
        actions = tuple(decide(context))
        if not all(isinstance(action, (Retry, NextModel)) for action in actions):
            raise TypeError("returned a value that is not an action")
        return actions

    return decide_actions


def _tool_call_format(contribution: Contribution[ToolCallFormat]) -> Contribution[ToolCallFormat]:
    call_format = contribution.value
    if call_format.translate is None:
        return contribution
    translate = attributed(contribution, call_format.translate, str)
    return attrs.evolve(contribution, value=attrs.evolve(call_format, translate=translate))


def _variants(
    found: Sequence[Contribution[PromptVariant]], texts: Mapping[str, str]
) -> tuple[Contribution[PromptVariant], ...]:
    """Fill in what variants leave out: the rendering of their task's first variant, and the contributed headings."""
    own = [contribution for contribution in found if contribution.value.render is not rendered_like_others]
    renderings = {contribution.value.task: contribution for contribution in reversed(own)}

    def completed(contribution: Contribution[PromptVariant]) -> Contribution[PromptVariant]:
        variant = contribution.value
        source = contribution if contribution in own else renderings.get(variant.task)
        if source is None:
            raise contribution.fault(
                f"PromptVariant {variant.name!r}: no variant of task {variant.task!r} has a render"
            )
        catalog, details = variant.catalog_heading, variant.details_heading
        filled = attrs.evolve(
            variant,
            render=attributed(source, source.value.render, str),
            catalog_heading=texts["catalog.heading"] if catalog is None else catalog,
            details_heading=texts["catalog.details_heading"] if details is None else details,
        )
        return attrs.evolve(contribution, value=filled)

    return tuple(map(completed, found))


CHECKS: Mapping[type, Callable[[Contribution[Any]], Contribution[Any]]] = {
    DecodeStep: _decode_step,
    RecoveryRule: _rule,
    ToolCallFormat: _tool_call_format,
}
"""The check of each value type with functions or patterns that ``problem`` does not cover."""
