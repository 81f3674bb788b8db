"""The end of a batch: its output and error files. Several workers may end a batch at once; all of them write the same files."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import msgspec

from helmdeck_gateway.batches.batch import CANCELLED, EXPIRED, QUEUE, SUCCEEDED, Batch, Batches
from helmdeck_gateway.batches.files import Files
from helmdeck_gateway.batches.lines import openai_line


async def end(batches: Batches, batch: Batch) -> None:
    """End a batch, all lines of which are finished."""
    counts = dict(await batches.store.count_rows(batch.lines))
    output = error = ""
    if batch.kind == "openai":
        files = Files(batches.store, batches.caller, batches.kept_s)
        if counts.get(SUCCEEDED):
            output = f"file-{batch.id}-output"
            await _save(files, batches, batch, output, is_output=True)
        if sum(counts.values()) > counts.get(SUCCEEDED, 0):
            error = f"file-{batch.id}-error"
            await _save(files, batches, batch, error, is_output=False)

    def ended(found: Batch) -> Batch:
        if found.has_ended:
            return found
        is_cancelled = bool(counts.get(CANCELLED)) or found.status == "cancelling"
        return msgspec.structs.replace(
            found,
            status="cancelled" if is_cancelled else "expired" if counts.get(EXPIRED) else "completed",
            counts=counts,
            output_file=output,
            error_file=error,
            ended_s=int(time.time()),
        )

    await batches.change(batch, ended)
    await batches.store.delete_rows(QUEUE, batch.id)


async def _save(files: Files, batches: Batches, batch: Batch, file_id: str, *, is_output: bool) -> None:
    async def content() -> AsyncIterator[bytes]:
        async for state, result in batches.results(batch):
            if (state == SUCCEEDED) == is_output:
                yield openai_line(batch.id, state, result)

    name = f"{batch.id}_{'output' if is_output else 'error'}.jsonl"
    await files.save(content(), name=name, purpose="batch_output", media_type="application/jsonl", file_id=file_id)
