"""Patterns of credentials that are redacted wherever text of others is quoted."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class SecretPattern:
    """How the keys of a service look, so that a key of which the deployment knows nothing is redacted as well.

    :ivar name: unique; contributing the same name again replaces the pattern.
    :ivar pattern: regular expression that matches a whole key, letter case counts.
    """

    name: str
    pattern: str
    order: int = 0
