"""What run engines and their programs are written with: runs, steps, records, failures, and ``runs_of`` for a deck.

A program is ``async def program(run, steps, context)``. It awaits ``steps.run(step_id, function, *arguments)`` for everything
that must not happen twice; what it does between two steps is deterministic.
"""

from helmdeck_core import Helmdeck
from helmdeck_run_kit.execution import RunSetup as RunSetup
from helmdeck_run_kit.execution import execute as execute
from helmdeck_run_kit.execution import new_run_id as new_run_id
from helmdeck_run_kit.execution import no_progress as no_progress
from helmdeck_run_kit.failures import StepFailedError as StepFailedError
from helmdeck_run_kit.failures import UnsupportedError as UnsupportedError
from helmdeck_run_kit.failures import failure_data as failure_data
from helmdeck_run_kit.failures import failure_error as failure_error
from helmdeck_run_kit.runs import NO_LIMITS as NO_LIMITS
from helmdeck_run_kit.runs import PackOutcome as PackOutcome
from helmdeck_run_kit.runs import Run as Run
from helmdeck_run_kit.runs import RunContext as RunContext
from helmdeck_run_kit.runs import RunEngine as RunEngine
from helmdeck_run_kit.runs import RunRecord as RunRecord
from helmdeck_run_kit.runs import RunState as RunState
from helmdeck_run_kit.runs import RunSteps as RunSteps
from helmdeck_run_kit.runs import StepRecord as StepRecord


def runs_of(deck: Helmdeck) -> RunEngine:
    """Return the run engine of a deck."""
    engine: RunEngine = deck.runs
    return engine
