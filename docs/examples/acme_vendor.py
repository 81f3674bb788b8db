"""What only our company has: error codes and keys of its gateway, and phrases that no description should have."""

from helmdeck_core import InstructionPattern, InvalidRequest, RateLimited, SecretPattern, hookimpl
from helmdeck_providers import Cause, ErrorRules


@hookimpl
def helmdeck_error_rules():
    """Apply to the providers named ``gateway``, before the rules of their wire format."""
    return [
        ErrorRules(
            name="acme",
            providers=("gateway",),
            words={"e1042": Cause(RateLimited, "no_seat"), "e2001": Cause(InvalidRequest)},
            marks=(("all seats are taken", Cause(RateLimited, "no_seat")),),
        )
    ]


@hookimpl
def helmdeck_secret_patterns():
    """Redact keys of the gateway wherever text is quoted, also keys that this deck does not use."""
    return [SecretPattern(name="acme", pattern=r"acme-[0-9a-f]{32}")]


@hookimpl
def helmdeck_instruction_patterns():
    """Report descriptions of tools that mention internal projects."""
    return [InstructionPattern(name="acme", pattern=r"\bproject (?:tern|gannet)\b", reason="names an internal project")]
