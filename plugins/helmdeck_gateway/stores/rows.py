"""The interface of rows: files, batches and their lines, which are listed, leased to a worker, and finished once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import attrs

OPEN: Final = 0
"""The state of a row that is not finished."""


@attrs.frozen
class Row:
    """A row of a group.

    :ivar name: unique in its group; rows are in the order of their names.
    :ivar state: ``OPEN``, or a number of the application for a finished row.
    """

    name: str
    data: bytes = attrs.field(repr=False)
    state: int = OPEN


class RowStore(Protocol):
    """Rows in groups. Every operation is atomic across processes and hosts; those that change rows may be repeated.

    All of them raise ``StorageError`` if the store does not answer.
    """

    async def put_rows(
        self, group: str, rows: Mapping[str, bytes], ttl_s: float, *, keeps_earlier: bool = False
    ) -> None:
        """Store open rows in place of earlier ones with their names.

        :param ttl_s: seconds after which they are gone.
        :param keeps_earlier: earlier rows stay as they are, and only those with other names are stored.
        """
        ...

    async def replace_row(self, group: str, name: str, old: bytes, new: bytes) -> bool:
        """Replace the data of a row; return ``False``, and change nothing, if its data is not ``old``."""
        ...

    async def get_row(self, group: str, name: str) -> Row | None:
        """Return a row; ``None`` if there is none."""
        ...

    async def list_rows(self, group: str, *, after: str = "", limit: int = 100, newest: bool = False) -> Sequence[Row]:
        """Return the first rows of a group.

        :param after: only rows after this name, in the order of the list.
        :param newest: in the reverse order.
        """
        ...

    async def delete_rows(self, group: str, name: str | None = None) -> bool:
        """Delete a row, or by default all of a group; return whether there was one."""
        ...

    async def claim_rows(self, group: str, holder: str, limit: int, lease_s: float) -> Sequence[Row]:
        """Return open rows that no lease holds, and lease them.

        :param holder: the worker that gets the leases.
        """
        ...

    async def lease_rows(self, group: str, names: Sequence[str], holder: str, lease_s: float) -> None:
        """Let the leases of a holder end in ``lease_s`` seconds; 0 releases them. Rows of other holders stay as they are."""
        ...

    async def finish_row(self, group: str, name: str, state: int, data: bytes) -> bool:
        """Finish an open row, whichever worker has its lease; return ``False``, and change nothing, if it is not open."""
        ...

    async def count_rows(self, group: str) -> Mapping[int, int]:
        """Return the number of rows by state."""
        ...


def group_of(kind: str, owner: str) -> str:
    """Return the name of the group of an owner, whose name may have any characters."""
    return f"{kind}:{hashlib.sha256(ascii(owner).encode()).hexdigest()[:32]}"
