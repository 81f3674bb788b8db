"""The settings of issuers, from ``[gateway.sign_in.NAME]``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from helmdeck_cli import is_loopback
from helmdeck_core import EMPTY, ConfigError, Mistake, above_zero, read_options
from helmdeck_gateway.accounts.node_fields import KEY_NAME
from helmdeck_gateway.stores.records import LEAST_USD

KEY_TYPES: Final[Mapping[str, str]] = {
    **{f"{kind}{size}": "RSA" for kind in ("RS", "PS") for size in (256, 384, 512)},
    **{f"ES{size}": "EC" for size in (256, 384, 512)},
    "EdDSA": "OKP",
}
"""The type of key by algorithm. Algorithms with a shared secret are missing: the gateway could sign its own tokens."""

ROLES: Final = ("admin", "viewer")


@attrs.frozen(kw_only=True)
class SignInSettings:
    """The keys of ``[gateway.sign_in.NAME]``.

    :ivar issuer: the exact ``iss`` of the tokens; ``https://``, or ``http://`` on the loopback interface.
    :ivar audience: a token is accepted if its ``aud`` has one of these.
    :ivar jwks_url: where the issuer publishes its keys; left out: the URL in its ``/.well-known/openid-configuration``.
    :ivar algorithms: allowed signatures, from RS256 to RS512, PS256 to PS512, ES256 to ES512, and EdDSA.
    :ivar leeway_s: difference of clocks that is tolerated.
    :ivar keys_s: seconds after which the keys are fetched again.
    :ivar refetch_s: least seconds between two fetches, such as for a token of an unknown key.
    :ivar stale_s: seconds since the last successful fetch that keys are used while the issuer does not answer.
    :ivar name_claim: the claim with the name that is shown; accounts belong to ``sub``.
    :ivar team: the team of tokens without a team of their own.
    :ivar team_claim: the claim with teams or groups; the first one that is in ``teams`` counts.
    :ivar teams: the team by the value of ``team_claim``; left out: the value is the name of the team.
    :ivar role_claim: the claim with roles for the console.
    :ivar roles: ``admin`` or ``viewer`` by the value of ``role_claim``; left out: the value itself.
    :ivar models_claim: the claim with the names of allowed models: a list, or a string with spaces.
    :ivar models: models of tokens without that claim; left out: all, or none if ``models_claim`` is set.
    :ivar tags_claim: the claim with the tags that requests may have; left out: all.
    :ivar requests_per_min: requests of one subject in any minute.
    :ivar tokens_per_min: input and output tokens of one subject in any minute.
    :ivar concurrency: requests of one subject at a time.
    :ivar spend_per_day: US dollars of one subject per day in UTC.
    :ivar spend_per_month: US dollars of one subject per calendar month in UTC.
    :ivar requires_price: models without a known price are refused.
    """

    issuer: str
    audience: tuple[str, ...]
    jwks_url: str = ""
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    leeway_s: float = 30.0
    keys_s: float = attrs.field(default=600.0, validator=above_zero)
    refetch_s: float = attrs.field(default=10.0, validator=above_zero)
    stale_s: float = attrs.field(default=86_400.0, validator=above_zero)
    name_claim: str = "sub"
    team: str = ""
    team_claim: str = ""
    teams: Mapping[str, str] = EMPTY
    role_claim: str = ""
    roles: Mapping[str, str] = EMPTY
    models_claim: str = ""
    models: tuple[str, ...] | None = None
    tags_claim: str = ""
    requests_per_min: int | None = attrs.field(default=None, validator=above_zero)
    tokens_per_min: int | None = attrs.field(default=None, validator=above_zero)
    concurrency: int | None = attrs.field(default=None, validator=above_zero)
    spend_per_day: float | None = attrs.field(default=None, validator=above_zero)
    spend_per_month: float | None = attrs.field(default=None, validator=above_zero)
    requires_price: bool = False


def read_sign_in(options: Any) -> tuple[Mapping[str, SignInSettings], tuple[Mistake, ...]]:
    """Return the issuers by name, and every mistake of ``[gateway.sign_in]``."""
    if not isinstance(options, Mapping):
        return {}, (Mistake("gateway.sign_in", "not a table", repr(options)[:40], "a table by issuer"),)
    found: dict[str, SignInSettings] = {}
    mistakes: list[Mistake] = []
    for name, table in options.items():
        where = f"gateway.sign_in.{name}"
        if not isinstance(table, Mapping):
            allowed = 'a table: [gateway.sign_in.company] with issuer = "https://..." and audience = ["..."]'
            mistakes.append(Mistake(where, "not a table", repr(table)[:40], allowed))
            continue
        if KEY_NAME.fullmatch(name) is None:
            mistakes.append(Mistake(where, "not a name", repr(name), "1 to 64 letters, digits, '.', '_' and '-'"))
        try:
            settings = read_options(table, SignInSettings, "gateway", "sign_in", name)
        except ConfigError as exc:
            mistakes += exc.mistakes
            continue
        mistakes += _mistakes_of(settings, where)
        if twin := next((each for each, other in found.items() if other.issuer == settings.issuer), ""):
            mistakes.append(Mistake(f"{where}.issuer", f"also the issuer of {twin!r}", repr(settings.issuer)))
        found[name] = settings
    if options and (missing := next((each for each in ("jwt", "cryptography") if find_spec(each) is None), "")):
        mistakes.append(Mistake("gateway.sign_in", f"{missing} is not installed; pip install 'helmdeck[sso]'"))
    return found, tuple(mistakes)


def _mistakes_of(settings: SignInSettings, where: str) -> Iterator[Mistake]:
    allowed = "https://HOST/..., or http:// on the loopback interface, without credentials"
    if not is_fetchable(settings.issuer):
        yield Mistake(f"{where}.issuer", "not the URL of an issuer", repr(_shown(settings.issuer)), allowed)
    if settings.jwks_url and not is_fetchable(settings.jwks_url):
        yield Mistake(f"{where}.jwks_url", "not a URL of keys", repr(_shown(settings.jwks_url)), allowed)
    if not settings.audience or not all(settings.audience):
        yield Mistake(
            f"{where}.audience", "empty", repr(list(settings.audience)), "the client id or API of the gateway"
        )
    for name in settings.algorithms:
        if name not in KEY_TYPES:
            yield Mistake(f"{where}.algorithms", "not an allowed signature", repr(name), ", ".join(KEY_TYPES))
    if not settings.algorithms:
        yield Mistake(f"{where}.algorithms", "empty", "[]", ", ".join(KEY_TYPES))
    for name in ("spend_per_day", "spend_per_month"):
        if (amount := getattr(settings, name)) is not None and amount < LEAST_USD:
            yield Mistake(f"{where}.{name}", "too low to be counted", repr(amount), "at least 0.000000001")
    for value, role in settings.roles.items():
        if role not in ROLES:
            yield Mistake(f"{where}.roles.{value}", "not a role", repr(role), ", ".join(ROLES))
    for place, team in (("team", settings.team), *((f"teams.{value}", team) for value, team in settings.teams.items())):
        if team and KEY_NAME.fullmatch(team) is None:
            yield Mistake(f"{where}.{place}", "not a name", repr(team), "1 to 64 letters, digits, '.', '_' and '-'")
    for claim, table in (("team_claim", "teams"), ("role_claim", "roles")):
        if getattr(settings, table) and not getattr(settings, claim):
            yield Mistake(f"{where}.{table}", f"has no effect without {claim}", "", f'{claim} = "groups"')


def is_fetchable(url: str) -> bool:
    """Return whether keys may be fetched from a URL: by HTTPS, or from this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        if parts.port == 0 or parts.username is not None or parts.fragment:
            return False
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def _shown(url: str) -> str:
    """A URL without credentials, for a message."""
    try:
        parts = urlsplit(url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()[:200] if parts.netloc else url[:200]
    except ValueError:
        return "(malformed)"
