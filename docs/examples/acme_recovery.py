"""A recovery rule: a model that answers in prose is told once more, a key that is refused is no reason to give up."""

from helmdeck_core import NextModel, RecoveryRule, RequestChanges, Retry, hookimpl

SLOW_S = 20.0


def after_silence(situation):
    """Ask a model that fell silent quickly once more, with less to read; leave one alone that took its time."""
    if situation.failure.latency_s < SLOW_S:
        return [Retry(changes=RequestChanges(catalog_factor=0.5)), NextModel()]
    return [NextModel()]


@hookimpl
def helmdeck_recovery_rules():
    """One rule that decides by the situation, one that replaces a built-in, one for a finer cause."""
    return [
        RecoveryRule(name="likely_timeout", decide=after_silence),
        RecoveryRule(name="auth_failed", actions=(NextModel(other_provider=True),)),
        RecoveryRule(name="constrained_deadlock/no_json", actions=(NextModel(),)),
    ]
