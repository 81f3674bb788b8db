"""The built-in kinds of guards."""

from __future__ import annotations

from collections.abc import Sequence

from helmdeck_core import GuardSpec, hookimpl
from helmdeck_guards.kinds.language import LANGUAGE
from helmdeck_guards.kinds.limits import SIZE, TOOLS
from helmdeck_guards.kinds.patterns import PATTERNS
from helmdeck_guards.kinds.personal_data import PERSONAL_DATA
from helmdeck_guards.kinds.secrets import SECRETS


@hookimpl
def helmdeck_guards() -> Sequence[GuardSpec]:
    """The built-in kinds of guards."""
    return (SECRETS, PERSONAL_DATA, PATTERNS, SIZE, LANGUAGE, TOOLS)
