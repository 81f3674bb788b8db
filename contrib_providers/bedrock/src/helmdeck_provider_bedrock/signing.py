"""Signs AWS requests: Signature Version 4 for a known body, which is all that Converse needs.

The AWS SDK for Python does the same in a package of about 30 MB with blocking I/O. This module is tested with the vectors
that AWS publishes.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

import attrs

_ALGORITHM = "AWS4-HMAC-SHA256"


@attrs.frozen
class Credentials:
    """AWS credentials, hidden in the ``repr``.

    :ivar session_token: token of temporary credentials.
    """

    access_key_id: str = attrs.field(repr=False)
    secret_access_key: str = attrs.field(repr=False)
    session_token: str | None = attrs.field(default=None, repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values to redact."""
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
    """Return the headers with the signature of the request.

    :param url: full URL with quoted path and query.
    :param headers: all of them are signed.
    :param now: current time with a time zone; AWS tolerates five minutes of difference.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    day = moment[:8]
    parts = urlsplit(url)
    sent = {name.lower(): value for name, value in headers.items()} | {"x-amz-date": moment}
    if credentials.session_token is not None:
        sent["x-amz-security-token"] = credentials.session_token
    # The connection sends the host of the base URL as it is, also one in capitals or with a default port.
    covered = sorted({**sent, "host": parts.netloc}.items())
    names = ";".join(name for name, _ in covered)
    canonical = "\n".join(
        [
            method,
            # All services except S3 require a path that is quoted twice.
            quote(parts.path or "/", safe="/~"),
            "&".join(sorted(parts.query.split("&"))),
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
