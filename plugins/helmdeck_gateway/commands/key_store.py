"""The store of keys, for commands: opened as configured, used once, and closed."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from helmdeck_core.cli import UsageError, make_deck, read_config

if TYPE_CHECKING:
    from helmdeck_gateway.stores import GatewayStore
    from helmdeck_gateway.stores.records import KeyRecord

T = TypeVar("T")


def with_store(
    arguments: argparse.Namespace, action: Callable[[GatewayStore], Awaitable[T]], *, is_read: bool = False
) -> Any:
    """Run an action on the configured store; ``None`` if it only reads and there is no store yet.

    :raises UsageError: the store does not answer, or has no active key of the name that the action needs.
    """
    from helmdeck_gateway.accounts.changes import ChangeRefused, KeyUnknown, TeamUnknown
    from helmdeck_gateway.settings import GatewaySettings
    from helmdeck_gateway.stores import default_path, open_store
    from helmdeck_storage import StorageError

    url = GatewaySettings.load(read_config(arguments)).store_url()
    if url is None and is_read and not default_path().exists():
        return None

    import asyncio  # as the modules of all commands are imported for each of them

    async def run() -> T:
        store = open_store(url or f"sqlite:{default_path()}")
        try:
            return await action(store)
        finally:
            await store.aclose()

    try:
        return asyncio.run(run())
    except StorageError as exc:
        raise UsageError(f"{exc}; [gateway] store names the store") from exc
    except KeyUnknown as exc:
        raise _unknown("key", arguments.name, str(exc)) from None
    except TeamUnknown as exc:
        raise unknown_team(*exc.args) from None
    except ChangeRefused as exc:
        raise UsageError(str(exc)) from None


def endpoints_for(arguments: argparse.Namespace, fields: Mapping[str, Any]) -> Sequence[str]:
    """Return the names that the field ``dialects`` may have.

    Plugins are loaded only if it has a name that the gateway itself does not have.

    :raises UsageError: it has a name that no plugin has either.
    """
    from helmdeck_gateway.accounts.endpoint_names import ENDPOINTS, endpoint_names, endpoint_problem

    names: Sequence[str] = fields.get("dialects") or ()
    if not endpoint_problem(names, ENDPOINTS):
        return ENDPOINTS
    with make_deck(arguments) as deck:
        endpoints = endpoint_names(deck.runtime)
    if problem := endpoint_problem(names, endpoints):
        raise UsageError(f"--dialects: {problem}")
    return endpoints


def unknown_team(name: str, names: str) -> UsageError:
    """Return the error for a team that does not exist."""
    return _unknown("team", name, names)


def _unknown(kind: str, name: str, names: str) -> UsageError:
    from helmdeck_core import nearest_names

    shown = nearest_names(name, names.split(", "), more=f"`helmdeck {kind}s list`") or "none"
    return UsageError(f"there is no {kind} named {name!r}; {kind}s: {shown}")


def find_key(arguments: argparse.Namespace) -> KeyRecord:
    """Return the key that a command names, revoked or not.

    :raises UsageError: there is none of the name.
    """

    async def read(store: GatewayStore) -> list[KeyRecord]:
        return list(await store.list_keys())

    records: list[KeyRecord] = with_store(arguments, read, is_read=True) or []
    for record in records:
        if record.name == arguments.name:
            return record
    raise _unknown("key", arguments.name, ", ".join(each.name for each in records))
