"""What can go wrong with a store. Messages contain neither the URL of the store nor its password."""

from __future__ import annotations

import attrs

from helmdeck_core import HelmdeckError, Secrets, quoted, url_secrets


@attrs.frozen
class StorageError(HelmdeckError):
    """A store cannot be opened, does not answer, or refused a statement.

    :ivar detail: the reason, without secrets.
    """

    detail: str

    def __str__(self) -> str:
        return self.detail


@attrs.frozen
class NewerSchemaError(StorageError):
    """A newer release wrote the store, so that this one would damage it."""


def newer_schema(subject: str, place: str, version: int, known: int) -> NewerSchemaError:
    """Return the error for a store of a newer release.

    :param subject: the store, such as the name of its file.
    :param place: what to use instead: another file, another database.
    """
    return NewerSchemaError(
        f"{subject} was written by a newer release: its schema has version {version}, and this release knows versions up "
        f"to {known}; update helmdeck, or use another {place}"
    )


def failure(subject: str, exc: BaseException, url: str = "") -> StorageError:
    """Return the error for an exception of a driver, whose message may repeat a part of the URL."""
    text = f"{type(exc).__name__}: {exc}"
    if isinstance(exc, OSError) and exc.strerror and exc.filename:
        text = f"{exc.filename}: {exc.strerror}"
    return StorageError(f"{subject} failed: {quoted(text, Secrets(url_secrets(url)))}")
