"""The accounts of subjects: a record with name, team, role, models and limits, from claims and settings."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

from helmdeck_gateway.accounts.node_fields import KEY_NAME
from helmdeck_gateway.sign_in.settings import ROLES, SignInSettings
from helmdeck_gateway.sign_in.tokens import BadToken
from helmdeck_gateway.stores.records import TOKENS, KeyRecord, Limits, to_nusd

MAX_VALUES: Final = 500
"""Values of a claim that are read; a member of more groups is a mistake of the issuer."""

MAX_NAME: Final = 48

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._@+-]")


def record_of(claims: Mapping[str, Any], issuer: str, settings: SignInSettings) -> KeyRecord:
    """Return the account of a verified token.

    The account, and what belongs to its caller, depend on the issuer and the subject alone: users can change other claims.

    :param issuer: the name of the issuer in the configuration.
    :raises BadToken: the token has no team, although the settings want one.
    """
    subject = str(claims["sub"])
    digest = hashlib.sha256(f"{settings.issuer}\n{subject}".encode("utf-8", "replace")).hexdigest()
    shown = value_of(claims, settings.name_claim)
    shown = shown if isinstance(shown, str) and shown.strip() else subject
    return KeyRecord(
        name=f"{_clean(shown)}@{issuer}",
        id=f"sso-{digest[:24]}",
        digest=TOKENS + digest,
        caller=f"{_clean(subject)}@{issuer}",
        limits=Limits(
            rate=settings.requests_per_min,
            concurrency=settings.concurrency,
            tokens=settings.tokens_per_min,
            day_nusd=None if settings.spend_per_day is None else to_nusd(settings.spend_per_day),
            month_nusd=None if settings.spend_per_month is None else to_nusd(settings.spend_per_month),
        ),
        models=_models(claims, settings),
        tags=_tags(claims, settings),
        requires_price=settings.requires_price,
        role=_role(claims, settings),
        team=_team(claims, settings),
    )


def value_of(claims: Mapping[str, Any], path: str) -> Any:
    """Return a claim by name, or by a path such as ``realm_access.roles``; ``None`` if there is none."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def _values(claims: Mapping[str, Any], path: str, *, splits: bool = False) -> list[str] | None:
    value = value_of(claims, path) if path else None
    if value is None:
        return None
    if isinstance(value, str):
        return value.split() if splits else [value]
    return [each for each in value[:MAX_VALUES] if isinstance(each, str)] if isinstance(value, list) else []


def _team(claims: Mapping[str, Any], settings: SignInSettings) -> str:
    values = _values(claims, settings.team_claim) or []
    if settings.teams:
        found = next((settings.teams[each] for each in values if each in settings.teams), "")
    else:
        found = next((each for each in values if KEY_NAME.fullmatch(each)), "")
    if not found and not settings.team and settings.team_claim:
        raise BadToken("team", f"its claim {settings.team_claim!r} has no team of the gateway")
    return found or settings.team


def _role(claims: Mapping[str, Any], settings: SignInSettings) -> str:
    values = _values(claims, settings.role_claim) or []
    found = {settings.roles.get(each, "") if settings.roles else each for each in values}
    return next((each for each in ROLES if each in found), "")


def _models(claims: Mapping[str, Any], settings: SignInSettings) -> tuple[str, ...] | None:
    found = _values(claims, settings.models_claim, splits=True)
    if found is not None:
        return tuple(dict.fromkeys(each for each in found if "*" not in each[:-1]))
    return () if settings.models_claim and settings.models is None else settings.models


def _tags(claims: Mapping[str, Any], settings: SignInSettings) -> tuple[str, ...] | None:
    if not settings.tags_claim:
        return None
    return tuple(_values(claims, settings.tags_claim, splits=True) or ())


def _clean(text: str) -> str:
    """A part of a name for commands, metrics and logs; different texts have different names."""
    shown = _UNSAFE.sub("_", text)[:MAX_NAME]
    return shown if shown == text else f"{shown}~{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
