"""What is done about each cause by default, as data.

The same request again helps with one cause and is wasted on the next: a rate limit passes, a refusal does not, and a model
that fell silent under a large prompt falls silent again. A cause that is not listed is surfaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from helmdeck_core import Action, NextModel, RecoveryRule, RequestChanges, Retry, Wait, hookimpl

RETRIES = 2
"""How often a provider that is busy or down is asked again; with the first time, three attempts."""

_RETRY = Retry(wait=Wait.BACKOFF, times=RETRIES)
_MORE_OUTPUT = Retry(changes=RequestChanges(output_factor=2.0))
_ONE_STEP = Retry(changes=RequestChanges(variant="single_pick"))
_WITHOUT_GRAMMAR = Retry(changes=RequestChanges(strict_json=False))
_SMALLER_CATALOG = Retry(changes=RequestChanges(catalog_factor=0.5))
# A conversation mostly outgrows a window by its last turn; three times leave a third of it.
_OLDEST_TURNS_OUT = Retry(changes=RequestChanges(history_factor=0.7), times=3)
_LARGER = NextModel(larger_window=True)

ACTIONS: Mapping[str, tuple[Action, ...]] = {
    "safety_filtered": (),
    "length_truncated": (_MORE_OUTPUT, _ONE_STEP, NextModel()),
    # The answer ran into the end of the window, which a higher limit does not move.
    "length_truncated/shrink": (_OLDEST_TURNS_OUT, _SMALLER_CATALOG, _LARGER),
    # It would think as long again.
    "length_truncated/reasoning_overrun": (NextModel(), _ONE_STEP),
    # It would run into a larger limit just the same.
    "length_truncated/whitespace_loop": (_WITHOUT_GRAMMAR, NextModel()),
    "length_truncated/repeated_token": (_WITHOUT_GRAMMAR, NextModel()),
    "constrained_deadlock": (_WITHOUT_GRAMMAR, NextModel()),
    "likely_timeout": (NextModel(),),
    "likely_timeout/whitespace_loop": (_WITHOUT_GRAMMAR, NextModel()),
    "rate_limited": (Retry(wait=Wait.AS_TOLD, times=RETRIES), NextModel()),
    "quota_exhausted": (NextModel(),),
    "context_window_exceeded": (_OLDEST_TURNS_OUT, _SMALLER_CATALOG, _LARGER),
    "provider_unavailable": (_RETRY, NextModel()),
    "transient_unknown": (_RETRY, NextModel()),
    # The provider says itself that the same request is not worth sending again.
    "rate_limited/not_retryable": (NextModel(),),
    "provider_unavailable/not_retryable": (NextModel(),),
    # Sent again, it would be as large again.
    "transient_unknown/too_large": (NextModel(),),
    # The answer is being made there all the same; asked for once more, it would be made twice.
    "transient_unknown/pending": (NextModel(),),
    "auth_failed": (),
    "invalid_request": (),
    # The server cannot decode under the schema; a question can do without, and for a request that somebody wrote there may
    # be another model.
    "invalid_request/schema_refused": (_WITHOUT_GRAMMAR, NextModel()),
    "cancelled": (),
    "artifact_invalid": (),
    # What a provider's own word for the stop says, where it has no normalised reason.
    "unknown_stop/retry": (Retry(wait=Wait.BACKOFF), _WITHOUT_GRAMMAR, NextModel()),
    "unknown_stop/stop": (NextModel(),),
    "unknown_stop/account": (NextModel(other_provider=True),),
    "unknown_stop/resume": (NextModel(),),
}
"""Cause, or cause and finer cause, to what is tried, in this order."""

FAULTS_OF_THE_PROVIDER = frozenset(("provider_unavailable", "provider_unavailable/not_retryable", "transient_unknown"))
"""Causes that let a provider cool down when they come several times in a row."""


@hookimpl
def helmdeck_recovery_rules() -> Sequence[RecoveryRule]:
    """The table above."""
    return [
        RecoveryRule(name=name, actions=actions, counts_against_provider=name in FAULTS_OF_THE_PROVIDER, order=number)
        for number, (name, actions) in enumerate(ACTIONS.items())
    ]
