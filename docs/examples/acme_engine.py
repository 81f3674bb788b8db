"""A run engine without records: it prints the steps of a run, and executes them."""

from helmdeck_core import RunEngineSpec, hookimpl
from helmdeck_runs import RunRecord, RunSetup, RunState, execute


class Printing:
    """Implements ``RunEngine`` as far as ``deck.run`` needs it."""

    def __init__(self, **fields):
        self.setup = RunSetup(**fields)

    async def execute(self, run, *_):
        """Execute a run."""
        return RunRecord(run=run, state=RunState.SUCCEEDED, output=await execute(self.setup, run, self))

    def reserve(self, *step_ids):
        """Steps need no place in a record."""

    async def run(self, step_id, function, *arguments):
        """Execute a step."""
        print("step", step_id)
        return await function(*arguments)

    def close(self):
        """Nothing is open."""


@hookimpl
def helmdeck_run_engines():
    """The engine of ``[runs] engine = "printing"``."""
    return [RunEngineSpec(name="printing", open=Printing)]
