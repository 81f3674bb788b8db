"""Checks contributed values at start-up, and attributes errors of their functions to the plugin that contributed them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from helmdeck_core.domain.decode import DecodeStep
from helmdeck_core.domain.questions import PromptVariant
from helmdeck_core.domain.recovery import CAUSES_OF_RULES, Action, FailureContext, NextModel, RecoveryRule, Retry
from helmdeck_core.domain.tool_calls import ToolCallFormat
from helmdeck_core.hooks.calls import Contribution, attributed
from helmdeck_core.hooks.contributions import Contributions
from helmdeck_core.reading.tool_calls.scanner import format_problem


def checked(contributions: Contributions) -> Contributions:
    """Return the contributions with the values of ``CHECKS`` checked, built-ins included.

    :raises PluginError: a value is not valid.
    """
    return contributions.replaced({kind: tuple(map(check, contributions.of(kind))) for kind, check in CHECKS.items()})


def _decode_step(owned: Contribution[DecodeStep]) -> Contribution[DecodeStep]:
    step = owned.value

    def candidates(text: str) -> list[str]:
        found = list(step.candidates(text))
        if not all(isinstance(each, str) for each in found):
            raise TypeError("yielded a value that is not a string")
        return found

    return attrs.evolve(owned, value=attrs.evolve(step, candidates=attributed(owned, candidates, list)))


def _variant(owned: Contribution[PromptVariant]) -> Contribution[PromptVariant]:
    return attrs.evolve(owned, value=attrs.evolve(owned.value, render=attributed(owned, owned.value.render, str)))


def _rule(owned: Contribution[RecoveryRule]) -> Contribution[RecoveryRule]:
    rule = owned.value
    cause = rule.name.partition("/")[0]
    if cause not in CAUSES_OF_RULES:
        raise owned.fault(f"RecoveryRule {rule.name!r}: there is no cause {cause!r}: {', '.join(CAUSES_OF_RULES)}")
    if rule.decide is None:
        return owned
    return attrs.evolve(owned, value=attrs.evolve(rule, decide=attributed(owned, _only_actions(rule.decide), tuple)))


def _only_actions(
    decide: Callable[[FailureContext], Sequence[Action]],
) -> Callable[[FailureContext], tuple[Action, ...]]:
    def decide_actions(context: FailureContext) -> tuple[Action, ...]:
        actions = tuple(decide(context))
        if not all(isinstance(action, (Retry, NextModel)) for action in actions):
            raise TypeError("returned a value that is not an action")
        return actions

    return decide_actions


def _tool_call_format(owned: Contribution[ToolCallFormat]) -> Contribution[ToolCallFormat]:
    call_format = owned.value
    if problem := format_problem(call_format):
        raise owned.fault(f"ToolCallFormat {call_format.name!r}: {problem}")
    if call_format.translate is None:
        return owned
    translate = attributed(owned, call_format.translate, str)
    return attrs.evolve(owned, value=attrs.evolve(call_format, translate=translate))


CHECKS: Mapping[type, Callable[[Contribution[Any]], Contribution[Any]]] = {
    DecodeStep: _decode_step,
    PromptVariant: _variant,
    RecoveryRule: _rule,
    ToolCallFormat: _tool_call_format,
}
"""The check of each value type that has one, besides its field types."""
