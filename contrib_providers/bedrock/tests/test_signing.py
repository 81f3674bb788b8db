"""Request signing, checked with the published test vectors of Signature Version 4."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from helmdeck_provider_bedrock.signing import Credentials, signed

EXAMPLE = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
THEN = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
TOKEN = (
    "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwt"
    "hAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVX"
    "AkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def sign(method="POST", url="https://example.amazonaws.com/", headers=(), body=b"", keys=EXAMPLE, now=THEN):
    return signed(method, url, dict(headers), body, keys, region="us-east-1", service="service", now=now)


@pytest.mark.parametrize(
    ("name", "call", "signature"),
    [
        ("get-vanilla", {"method": "GET"}, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        (
            "get-vanilla-query-order-key-case",
            {"method": "GET", "url": "https://example.amazonaws.com/?Param2=value2&Param1=value1"},
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        ("post-vanilla", {}, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        (
            "post-x-www-form-urlencoded",
            {"headers": FORM, "body": b"Param1=value1"},
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
        (
            "post-sts-header-before",
            {"keys": Credentials(EXAMPLE.access_key_id, EXAMPLE.secret_access_key, TOKEN)},
            "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
        ),
    ],
)
def test_published_test_vectors_have_the_published_signature(name, call, signature):
    assert sign(**call)["authorization"].endswith(f"Signature={signature}")


def test_scope_contains_day_region_and_service():
    assert sign()["authorization"].startswith(
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, "
    )


def test_timestamp_is_utc():
    elsewhere = THEN.astimezone(timezone(timedelta(hours=9)))
    assert sign(now=elsewhere) == sign()
    assert sign()["x-amz-date"] == "20150830T123600Z"


def test_session_token_is_sent_and_signed():
    headers = sign(keys=Credentials("AKID", "secret", "token"))
    assert headers["x-amz-security-token"] == "token"
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token," in headers["authorization"]


@pytest.mark.parametrize("host", ["example.amazonaws.com:443", "Example.amazonaws.com", "example.amazonaws.com:8443"])
def test_host_is_signed_as_the_connection_sends_it(host):
    assert sign(url=f"https://{host}/")["authorization"] != sign(url="https://example.amazonaws.com/")["authorization"]


def test_signed_path_is_quoted_twice():
    # Signature of the AWS SDK for Python for the same request.
    headers = signed(
        "POST",
        "https://bedrock-runtime.eu-north-1.amazonaws.com/model/us.vendor.model-1%3A0/converse",
        {"content-type": "application/json"},
        b"{}",
        EXAMPLE,
        region="eu-north-1",
        service="bedrock",
        now=THEN,
    )
    assert headers["authorization"].endswith(
        "Signature=5054d200096e12f5e02e95f0b5e155cb3f9c08241e1e23ba015749239ed56673"
    )


def test_repr_contains_no_credentials():
    assert repr(Credentials("AKID", "secret", "token")) == "Credentials()"
