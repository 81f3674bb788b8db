"""Signs a request for AWS: Signature Version 4 for a body that is known.

That is all that Converse needs. The AWS SDK for Python does the same in a package of some 30 megabytes, which would block
the event loop while it reads; this is checked against the vectors that AWS publishes.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

import attrs

_ALGORITHM = "AWS4-HMAC-SHA256"
_DEFAULT_PORTS = {"http": 80, "https": 443}


@attrs.frozen
class Credentials:
    """Keys of an AWS account; nothing of them is in the ``repr``.

    :ivar session_token: comes with keys that expire.
    """

    access_key_id: str = attrs.field(repr=False)
    secret_access_key: str = attrs.field(repr=False)
    session_token: str | None = attrs.field(default=None, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be quoted anywhere."""
        return tuple(filter(None, (self.secret_access_key, self.session_token, self.access_key_id)))


def signed(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    credentials: Credentials,
    *,
    region: str,
    service: str,
    now: datetime,
) -> dict[str, str]:
    """Return the headers together with those that sign the request.

    :param url: as it is sent, its path and the values of its query already quoted.
    :param headers: all of them become part of the signature.
    :param now: with a time zone; AWS takes five minutes of difference.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    day = moment[:8]
    place = urlsplit(url)
    sent = {name.lower(): value for name, value in headers.items()} | {"x-amz-date": moment}
    if credentials.session_token is not None:
        sent["x-amz-security-token"] = credentials.session_token
    # The client adds the host itself, in the same form.
    covered = sorted({**sent, "host": _host(url)}.items())
    names = ";".join(name for name, _ in covered)
    canonical = "\n".join(
        [
            method,
            # The path is quoted once more than it is sent, which every service but S3 wants.
            quote(place.path or "/", safe="/~"),
            "&".join(sorted(place.query.split("&"))),
            *(f"{name}:{' '.join(value.split())}" for name, value in covered),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )
    scope = f"{day}/{region}/{service}/aws4_request"
    text = "\n".join([_ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{credentials.secret_access_key}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"{credentials.access_key_id}/{scope}"
    return {
        **sent,
        "authorization": f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}",
    }


def _host(url: str) -> str:
    place = urlsplit(url)
    host = place.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return host if place.port in (None, _DEFAULT_PORTS.get(place.scheme)) else f"{host}:{place.port}"
