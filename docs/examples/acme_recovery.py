"""Recovery rules: retry quick empty responses, and use another provider when a key is rejected."""

from helmdeck_core import NextModel, RecoveryRule, RequestChanges, Retry, hookimpl

SLOW_S = 20.0


def after_empty_response(context):
    """Retry with a smaller catalog if the empty response was quick; otherwise use the next model."""
    if context.failure.latency_s < SLOW_S:
        return [Retry(changes=RequestChanges(catalog_factor=0.5)), NextModel()]
    return [NextModel()]


@hookimpl
def helmdeck_recovery_rules():
    """Contribute a dynamic rule, a replacement of a built-in rule, and a rule for a sub-cause."""
    return [
        RecoveryRule(name="likely_timeout", decide=after_empty_response),
        RecoveryRule(name="auth_failed", actions=(NextModel(other_provider=True),)),
        RecoveryRule(name="constrained_deadlock/no_json", actions=(NextModel(),)),
    ]
