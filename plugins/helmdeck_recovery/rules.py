"""Recovery actions per failure cause, as data: what is retried, in which order, and which causes count against a model.

A retry helps with some causes only: a rate limit passes, a refusal does not, and a model that returned nothing for a
large prompt will do so again. A cause that is not listed is raised as an error. The types are in
``helmdeck_core.domain.recovery_actions``, the machine in ``helmdeck_core.calls.recovery_policy``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from helmdeck_core import (
    Action,
    FailureContext,
    NextModel,
    RecoveryRule,
    RequestChanges,
    Retry,
    Tier,
    Wait,
    Weight,
    hookimpl,
)

_HICCUP = Retry(wait=Wait.BACKOFF, is_brief=True)
"""Most single failures of a provider are over within a second, and the fallback costs more, answers worse or has no prompt cache."""
_SHORT_LIMIT = Retry(wait=Wait.IF_TOLD, is_brief=True)

RETRIES = 2
"""Retries for a busy or unavailable provider where no fallback is left. With one, a second wait would only cost time: it is not
known whether the provider recovers, and the next call starts with the first model again."""

_RETRY = Retry(wait=Wait.BACKOFF, times=RETRIES)
_AFTER_LIMIT = Retry(wait=Wait.AS_TOLD, times=RETRIES)
_MORE_OUTPUT = Retry(changes=RequestChanges(output_factor=2.0))
_ONE_STEP = Retry(changes=RequestChanges(variant="single_pick"))
_WITHOUT_GRAMMAR = Retry(changes=RequestChanges(strict_json=False))
# A weak model needs the grammar: without it, nothing that it writes has the form.
_WITH_PROBLEM_HELD = Retry(changes=RequestChanges(shows_problem=True))
_BOUNDED = Retry(changes=RequestChanges(shows_problem=True, bounds_values=True))
# A server that ignored a schema ignores it again.
_WITH_PROBLEM = Retry(changes=RequestChanges(strict_json=False, shows_problem=True))
_SMALLER_CATALOG = Retry(changes=RequestChanges(catalog_factor=0.5))
# A conversation usually exceeds the window by its last turn; three retries leave a third of it.
_OLDEST_TURNS_OUT = Retry(changes=RequestChanges(history_factor=0.7), times=3)
_LARGER = NextModel(larger_window=True)

ACTIONS: Mapping[str, tuple[Action, ...]] = {
    "safety_filtered": (),
    "length_truncated": (_MORE_OUTPUT, _ONE_STEP, NextModel()),
    # The context window is full: a higher output limit would not help.
    "length_truncated/shrink": (_OLDEST_TURNS_OUT, _SMALLER_CATALOG, _LARGER),
    # A retry would reason as long again.
    "length_truncated/reasoning_overrun": (NextModel(), _ONE_STEP),
    # A retry would reach a higher limit as well.
    "length_truncated/whitespace_loop": (_WITHOUT_GRAMMAR, NextModel()),
    # Another draw mostly repeats itself as well; bounded lists and strings end in any case.
    "length_truncated/repeated_token": (_BOUNDED, _WITHOUT_GRAMMAR, NextModel()),
    "constrained_deadlock": (_WITHOUT_GRAMMAR, NextModel()),
    "constrained_deadlock/wrong_shape": (_WITH_PROBLEM, NextModel()),
    "constrained_deadlock/no_tool_call": (_WITH_PROBLEM_HELD, NextModel()),
    # An empty response.
    "likely_timeout": (NextModel(), _SMALLER_CATALOG, Retry(wait=Wait.BACKOFF)),
    # A retry would take as long again.
    "likely_timeout/timeout": (NextModel(),),
    "likely_timeout/deadline": (NextModel(),),
    "likely_timeout/deadline_share": (NextModel(),),
    "likely_timeout/pending": (NextModel(),),
    "likely_timeout/reasoning_overrun": (NextModel(),),
    # The server reports that it was too slow to read the request or to reach the model.
    "likely_timeout/upstream": (_HICCUP, NextModel(), _RETRY),
    "likely_timeout/first_token": (NextModel(),),
    "likely_timeout/idle": (NextModel(),),
    "likely_timeout/whitespace_loop": (_WITHOUT_GRAMMAR, NextModel()),
    "rate_limited": (_SHORT_LIMIT, NextModel(), _AFTER_LIMIT),
    "quota_exhausted": (NextModel(),),
    "context_window_exceeded": (_OLDEST_TURNS_OUT, _SMALLER_CATALOG, _LARGER),
    "provider_unavailable": (_HICCUP, NextModel(), _RETRY),
    # A refused connection, an unknown host or a rejected certificate is rarely over within a second.
    "provider_unavailable/unreachable": (NextModel(), _RETRY),
    "transient_unknown": (NextModel(), _RETRY),
    # The provider marked the request as not retryable.
    "rate_limited/not_retryable": (NextModel(),),
    "provider_unavailable/not_retryable": (NextModel(),),
    # A retry would be as large again.
    "transient_unknown/too_large": (NextModel(),),
    # The same words would lead to the same choice.
    "transient_unknown/unsure_choice": (NextModel(),),
    "transient_unknown/unsure_answer": (NextModel(),),
    # The response is still being generated; a retry would generate it twice.
    "transient_unknown/pending": (NextModel(),),
    "auth_failed": (),
    "invalid_request": (),
    # The server does not support the schema; a planning prompt works without it, and a caller's own request may work with
    # another model.
    "invalid_request/schema_refused": (_WITHOUT_GRAMMAR, NextModel()),
    # The API or the model does not take images or files of this type.
    "invalid_request/unsupported_media": (NextModel(),),
    "cancelled": (),
    "artifact_invalid": (),
    # The reader has seen a part: a new connection to the same model most probably completes it in the same style.
    "partial_answer": (Retry(), NextModel(), _RETRY),
    "partial_answer/rate_limited": (NextModel(), _AFTER_LIMIT),
    "partial_answer/quota_exhausted": (NextModel(),),
    # Its continuations by the same model failed already.
    "partial_answer/length_truncated": (NextModel(),),
    # By the disposition of a native stop reason that has no normalised reason.
    "unknown_stop/retry": (Retry(wait=Wait.BACKOFF), _WITHOUT_GRAMMAR, NextModel()),
    "unknown_stop/stop": (NextModel(),),
    "unknown_stop/account": (NextModel(other_provider=True),),
    "unknown_stop/resume": (NextModel(),),
}
"""Cause, or cause/sub-cause, to the actions in the order in which they are tried."""


def after_truncation(context: FailureContext) -> Sequence[Action]:
    """Return the actions after the output limit.

    A weak model whose server keeps schemas mostly repeats itself, with other numbers in each item, and would reach a higher limit too.
    """
    usual = ACTIONS["length_truncated"]
    return (_BOUNDED, *usual) if context.budget.enforces_schema and context.budget.tier is Tier.C else usual


DECIDED: Mapping[str, Callable[[FailureContext], Sequence[Action]]] = {"length_truncated": after_truncation}
"""Causes whose actions depend on the model."""

PROVIDER_FAULTS = frozenset(
    (
        "provider_unavailable",
        "provider_unavailable/unreachable",
        "provider_unavailable/not_retryable",
        "transient_unknown",
        "likely_timeout/first_token",
        "likely_timeout/idle",
    )
)
"""Causes that open the circuit of a model when several calls in a row fail with them."""

SHARED_WAITS = frozenset(
    ("rate_limited", "rate_limited/not_retryable", "provider_unavailable", "provider_unavailable/not_retryable")
)
"""Causes whose ``Retry-After`` is about the model, not about the request."""


@hookimpl
def helmdeck_recovery_rules() -> Sequence[RecoveryRule]:
    """The rules above."""
    return [
        RecoveryRule(
            name=name,
            actions=actions,
            decide=DECIDED.get(name),
            counts_against_provider=name in PROVIDER_FAULTS,
            shares_wait=name in SHARED_WAITS,
            order=number,
        )
        for number, (name, actions) in enumerate(ACTIONS.items())
    ]


@hookimpl
def helmdeck_weights() -> Sequence[Weight]:
    """When a provider is in cooldown, when an output limit is reached, and how long values are after a repetition."""
    return [
        # One broken model is no evidence about the router in front of it.
        Weight(name="cooldown.provider_models", value=2),
        # Servers count a few tokens more or less than they return.
        Weight(name="continuation.own_limit_share", value=0.9),
        # Longer than most lists and sentences; a model that fills both still ends soon.
        Weight(name="bounds.items", value=50),
        Weight(name="bounds.chars", value=400),
    ]
