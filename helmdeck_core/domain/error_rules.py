"""The base type of rules for error responses, which plugins contribute for a vendor; see ``helmdeck_providers.http.error_rules``."""

from __future__ import annotations

import attrs


@attrs.frozen(kw_only=True)
class ErrorRuleSet:
    """Rules that map error responses of one vendor to failure classes.

    The core only selects the rules of a provider; the provider interprets them. Providers that are based on
    ``helmdeck_providers`` use its subclass ``ErrorRules``.

    :ivar name: name of the set, such as the vendor's; empty for rules that are not contributed.
    :ivar providers: providers that the rules apply to, by name or by kind; empty for all.
    """

    name: str = ""
    providers: tuple[str, ...] = ()
    order: int = 0
