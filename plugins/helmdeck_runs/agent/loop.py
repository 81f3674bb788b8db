"""The agent loop: plan, run the steps, plan again with their outcome. It performs no I/O and reads no clock.

A driver executes the action that ``next`` returns and reports the result with the method of the same name.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from helmdeck_core import GAP, PIPELINE_RUN, UNKNOWN_TOOL, PlanOutcome
from helmdeck_runs.agent.actions import Action, Approval, AskInputs, AtMissing, Confirm, Finish, MakePlan, RunStep
from helmdeck_runs.agent.detector import LoopDetector, Severity, digest
from helmdeck_runs.agent.inputs import argument_problems, missing_inputs, missing_text
from helmdeck_runs.agent.outputs import failure_text, output_text
from helmdeck_runs.agent.policy import Decision, Policy, Ruling
from helmdeck_runs.agent.references import MissingReferenceError, has_references, resolve
from helmdeck_runs.agent.run_data import AgentLimits, AgentOutcome, AgentStep, Spent

NO_CONFIRMATION = (
    "pass --yes (Python: approve_all=True or a confirm callback), run it in a terminal, "
    'or allow the entry in the configuration: [agent.policy] "{entry_id}" = "allow"'
)


class AgentLoop:
    """The state of one run.

    :param intent: the request; references that occur in it are not expanded.
    :param at_missing: what happens before a step whose required arguments are missing.
    :param stops_at_repetition: the run ends when a step is planned again right after it succeeded.
    :ivar steps: the steps so far; ``plans``: facts of the planning calls.
    """

    def __init__(
        self,
        intent: str,
        policy: Policy,
        limits: AgentLimits,
        *,
        approval: Approval = Approval.NONE,
        is_dry_run: bool = False,
        at_missing: AtMissing = AtMissing.PLAN_AGAIN,
        stops_at_repetition: bool = True,
    ) -> None:
        self.steps: list[AgentStep] = []
        self.plans: list[Mapping[str, Any]] = []
        self.gaps: list[str] = []
        self.spent: Spent = Spent()
        self.end: Finish | None = None
        self._policy = policy
        self._limits = limits
        self._approval = approval
        self._is_dry_run = is_dry_run
        self._at_missing = at_missing
        self._stops_at_repetition = stops_at_repetition
        self._queue: deque[Mapping[str, Any]] = deque()
        self._current: AgentStep | None = None
        self._is_confirmed = False
        self._needs_plan = True
        self._detector = LoopDetector()
        self._returned: set[int] = set()  # failures that the planner has received
        self._seen_texts = [*filter(_has_braces, [intent])]
        self._is_new_plan = False
        self._lacking: Finish | None = (
            None  # how the run ends if the next plan leaves out the step that lacks arguments
        )
        self._others: set[str] = set()  # the other entries of its plan

    # -- driver ----------------------------------------------------------------------------------------------

    def next(self) -> Action:
        """Return what to do next; the same action until its result is reported."""
        while self.end is None:
            if self._current is not None:
                return self._before_running(self._current)
            if self._queue:
                if (limit := self._exceeded(is_step=True)) is not None:
                    self.end = limit
                else:
                    self._begin(self._queue.popleft())
            elif self._needs_plan:
                if (limit := self._exceeded(is_step=False)) is not None:
                    self.end = limit
                else:
                    return MakePlan(len(self.plans) + 1, self._done())
            else:
                self.end = self._ended()
        return self.end

    def planned(self, plan: Mapping[str, Any], spent: Spent) -> None:
        """Take a plan in its wire form."""
        self.spent += spent
        outcome = PlanOutcome(plan["outcome"])
        facts = {"model": plan.get("model", ""), "variant": plan.get("prompt_variant_used", "")}
        row = {**facts, "outcome": outcome.value, "tokens": spent.tokens, "call_id": plan.get("call_id", "")}
        self.plans.append({**row, "notices": list(plan["notices"])} if plan.get("notices") else row)
        self._returned |= {step.number for step in self.steps if step.failure is not None}
        self._needs_plan = bool(plan.get("more_steps_likely"))
        self._is_new_plan = True
        planned_steps = [step for step in plan["steps"] if step["tool"] != UNKNOWN_TOOL]
        rationales = [str(step.get("rationale", "")) for step in plan["steps"] if step["tool"] == UNKNOWN_TOOL]
        self.gaps += [text.removeprefix(GAP).lstrip() for text in rationales]
        lacking, self._lacking = self._lacking, None
        if lacking is not None and {_entry_of(step) for step in planned_steps} <= self._others:
            self.end = lacking
        elif outcome is PlanOutcome.NO_STEPS:
            self.end = Finish(AgentOutcome.NO_STEPS, "the planner returned no step; try another model or more detail")
        elif not planned_steps:
            self._needs_plan = False
        elif self._is_dry_run:
            self._end_dry_run(planned_steps)
        elif (refusal := self._refusal(planned_steps)) is not None:
            self.end = refusal
        elif self._at_missing is AtMissing.PLAN_AGAIN and (step := self._first_lacking(planned_steps)) is not None:
            self._lacks_inputs(step, planned_steps)
        else:
            self._queue.extend(planned_steps)

    def plan_failed(self, failure: Mapping[str, Any], spent: Spent) -> None:
        """Take the failure of a planning call, which has exhausted its own recovery."""
        self.spent += spent
        self.plans.append({"outcome": "failed", "tokens": spent.tokens, "failure": dict(failure)})
        self.end = Finish(AgentOutcome.FAILED, f"the planning call failed: {failure_text(failure)}")

    def confirmed(self, is_confirmed: bool) -> None:
        """Take the answer to ``Confirm``."""
        assert self._current is not None
        if is_confirmed:
            self._current = attrs.evolve(self._current, decision=f"{self._current.decision}, confirmed")
            self._is_confirmed = True
            return
        step = self._current
        self._record(attrs.evolve(step, decision=f"{step.decision}, declined"))
        self.end = Finish(AgentOutcome.DECLINED, f"step {step.number} ({step.entry_id}) was declined; it did not run")

    def answered(self, inputs: Mapping[str, Any] | None) -> None:
        """Take the answer to ``AskInputs``: the missing arguments; ``None`` if they are not given."""
        assert self._current is not None
        step = self._current
        if inputs is None:
            missing = missing_inputs(self._policy.catalog, step.entry_id, step.arguments)
            self._record(step)
            self.end = Finish(AgentOutcome.NEEDS_INPUT, missing_text(step.entry_id, missing))
        else:
            self._current = attrs.evolve(step, arguments={**step.arguments, **inputs})

    def ran(self, output: Any, failure: Mapping[str, Any] | None, spent: Spent) -> None:
        """Take the output of the step, or its failure."""
        assert self._current is not None
        self.spent += spent
        step = attrs.evolve(self._current, seconds=spent.seconds, cost_usd=spent.cost_usd)
        self._detector.record(step.entry_id, step.arguments, output if failure is None else dict(failure))
        if failure is not None:
            self._failed(step, failure)
            return
        self._seen_texts += filter(_has_braces, [msgspec.json.encode(output).decode()])
        self._record(attrs.evolve(step, output=output))

    # -- steps -----------------------------------------------------------------------------------------------

    def _begin(self, planned: Mapping[str, Any]) -> None:
        """Make the next planned step the current one, unless it must not be executed."""
        step = self._described(planned, len(self.steps) + 1)
        is_first, self._is_new_plan = self._is_new_plan and self._stops_at_repetition, False
        try:
            arguments = resolve(step.arguments, self._outputs(), self._is_literal)
        except MissingReferenceError as exc:
            self._failed(step, _failure("invalid_input", str(exc)))
            return
        entry_id, arguments = _entry(planned["tool"], arguments)
        ruling = self._policy.ruling(entry_id)
        step = attrs.evolve(step, entry_id=entry_id, arguments=arguments, decision=ruling.reason)
        verdict = self._detector.judge(entry_id, arguments)
        last = self.steps[-1] if self.steps else None
        if verdict.severity is Severity.STOP:
            self._record(attrs.evolve(step, warning=f"not executed: {verdict.reason}"))
            self.end = Finish(AgentOutcome.NO_PROGRESS, verdict.reason)
        elif is_first and last is not None and last.failure is None and _same(last, step):
            reason = f"step {last.number} was planned again with the same arguments, right after it succeeded"
            self._record(attrs.evolve(step, warning=f"not executed: {reason}"))
            self.end = Finish(AgentOutcome.NO_PROGRESS, reason)
        elif verdict.severity is Severity.BLOCK:
            self._failed(attrs.evolve(step, warning=verdict.reason), _failure("no_progress", verdict.reason))
        elif ruling.decision is Decision.DENY:
            self._failed(step, _failure("denied", f"{entry_id} is denied by {ruling.reason}; use another way"))
        elif self._is_lacking(entry_id, arguments):
            self._current = attrs.evolve(step, warning=verdict.reason)
        elif (problems := planned.get("problems")) and not has_references(_args(planned)):
            self._failed(step, _failure("invalid_input", "; ".join(map(str, problems))))
        else:
            self._current = attrs.evolve(step, warning=verdict.reason)

    def _before_running(self, step: AgentStep) -> Action:
        if self._is_lacking(step.entry_id, step.arguments):
            return AskInputs(step, missing_inputs(self._policy.catalog, step.entry_id, step.arguments))
        ruling = self._policy.ruling(step.entry_id)
        if ruling.decision is Decision.ALLOW or self._is_confirmed:
            return RunStep(step)
        if self._approval is Approval.ALL:
            self._current = attrs.evolve(step, decision=f"{step.decision}, confirmed for the whole run")
            self._is_confirmed = True
            return RunStep(self._current)
        if self._approval is Approval.ASK:
            return Confirm(step, digest([step.entry_id, dict(step.arguments)]))
        self.end = _unconfirmed(step.entry_id, ruling)
        return self.end

    def _failed(self, step: AgentStep, failure: Mapping[str, Any]) -> None:
        """Record a failed step; what was planned after it is dropped, and the planner gets the failure once."""
        self._record(attrs.evolve(step, failure=dict(failure)))
        self._queue.clear()
        self._needs_plan = True
        failures = sum(each.entry_id == step.entry_id and each.failure is not None for each in self.steps)
        if self._limits.max_failures and failures >= self._limits.max_failures:
            reason = f"{step.entry_id} failed again: {failure_text(failure)}"
            self.end = Finish(AgentOutcome.FAILED, reason)

    def _is_lacking(self, entry_id: str, arguments: Mapping[str, Any]) -> bool:
        return self._at_missing is AtMissing.ASK and bool(missing_inputs(self._policy.catalog, entry_id, arguments))

    def _first_lacking(self, planned_steps: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
        """The first step of a plan whose required arguments are missing."""
        catalog = self._policy.catalog
        return next(
            (step for step in planned_steps if missing_inputs(catalog, *_entry(step["tool"], _args(step)))), None
        )

    def _lacks_inputs(self, planned: Mapping[str, Any], planned_steps: Sequence[Mapping[str, Any]]) -> None:
        """Return a step without its arguments to the planner; the second time, or if the planner drops it, the run ends."""
        step = self._described(planned, len(self.steps) + 1)
        missing = missing_inputs(self._policy.catalog, *_entry(step.tool, step.arguments))
        self._lacking = Finish(AgentOutcome.NEEDS_INPUT, missing_text(step.entry_id, missing))
        self._others = {_entry_of(each) for each in planned_steps} - {step.entry_id}
        is_second = any(each.entry_id == step.entry_id and each.failure is not None for each in self.steps)
        problems = "; ".join(f"$.{name}: required property is missing" for name in missing)
        self._failed(step, _failure("invalid_input", problems))
        if is_second:
            self.end = self._lacking

    def _end_dry_run(self, planned_steps: Sequence[Mapping[str, Any]]) -> None:
        catalog = self._policy.catalog
        for planned in planned_steps:
            step = self._described(planned, len(self.steps) + 1)
            problems = argument_problems(catalog, step.entry_id, step.arguments)
            self.steps.append(
                attrs.evolve(step, warning=f"invalid arguments: {'; '.join(problems)}" if problems else "")
            )
        more = "; more steps are planned after these" if self._needs_plan else ""
        self.end = Finish(AgentOutcome.DRY_RUN, f"{_steps(len(planned_steps))} planned, none executed{more}")
        if (lacking := self._first_lacking(planned_steps)) is not None:
            entry_id, arguments = _entry(lacking["tool"], _args(lacking))
            reason = missing_text(entry_id, missing_inputs(catalog, entry_id, arguments))
            self.end = Finish(AgentOutcome.NEEDS_INPUT, f"{self.end.reason}; {reason}")

    def _record(self, step: AgentStep) -> None:
        self.steps.append(step)
        self._current, self._is_confirmed = None, False

    def _described(self, planned: Mapping[str, Any], number: int) -> AgentStep:
        entry_id, arguments = _entry(planned["tool"], planned.get("args") or {})
        return AgentStep(
            number=number,
            tool=planned["tool"],
            entry_id=entry_id,
            arguments=arguments if self._is_dry_run else dict(planned.get("args") or {}),
            rationale=" ".join(str(planned.get("rationale") or "").split()),
            decision=self._policy.ruling(entry_id).reason,
            call_id=str(planned.get("call_id", "")),
        )

    def _outputs(self) -> Mapping[int, Any]:
        return {step.number: step.output for step in self.steps if step.failure is None and step.output is not None}

    def _is_literal(self, reference: str) -> bool:
        """Whether a reference was copied from the request or from an output, which must not be expanded."""
        return any(reference in text for text in self._seen_texts)

    # -- decisions -------------------------------------------------------------------------------------------

    def _refusal(self, steps: Sequence[Mapping[str, Any]]) -> Finish | None:
        """Nothing of a plan is executed if a step needs a confirmation that nothing can give."""
        if self._approval is not Approval.NONE:
            return None
        for step in steps:
            entry_id, _ = _entry(step["tool"], _args(step))
            if (ruling := self._policy.ruling(entry_id)).decision is Decision.CONFIRM:
                return _unconfirmed(entry_id, ruling)
        return None

    def _exceeded(self, *, is_step: bool) -> Finish | None:
        limits, spent = self._limits, self.spent
        executed = sum(step.output is not None or step.failure is not None for step in self.steps)
        if limits.max_steps and executed >= limits.max_steps and (is_step or self._needs_plan):
            return Finish(AgentOutcome.STEP_LIMIT, f"{_steps(limits.max_steps)} executed (max_steps)")
        if limits.max_seconds and spent.seconds >= limits.max_seconds:
            return Finish(
                AgentOutcome.TIME_LIMIT, f"{spent.seconds:.1f} s were used (max_seconds {limits.max_seconds:g})"
            )
        if limits.max_tokens and spent.tokens >= limits.max_tokens:
            return Finish(
                AgentOutcome.TOKEN_LIMIT, f"{spent.tokens:,} tokens were used (max_tokens {limits.max_tokens:,})"
            )
        if limits.max_cost_usd and (spent.cost_usd or 0.0) >= limits.max_cost_usd:
            used = f"{spent.cost_usd or 0.0:.4f} US dollars were used"
            return Finish(AgentOutcome.COST_LIMIT, f"{used} (max_cost_usd {limits.max_cost_usd:g})")
        return None

    def _ended(self) -> Finish:
        succeeded = {step.entry_id for step in self.steps if step.failure is None and step.output is not None}
        failed = [step for step in self.steps if step.failure is not None and step.entry_id not in succeeded]
        if not succeeded and not failed:
            if self.gaps:
                return Finish(AgentOutcome.GAP, f"nothing in the catalog serves the request: {'; '.join(self.gaps)}")
            return Finish(AgentOutcome.DONE, "nothing is left to do")
        if failed or self.gaps:
            parts = [f"step {each.number} ({each.entry_id}) failed" for each in failed]
            parts += [f"{GAP} {gap}" for gap in self.gaps]
            return Finish(AgentOutcome.PARTIAL, "; ".join(parts))
        count = sum(step.output is not None for step in self.steps)
        return Finish(AgentOutcome.DONE, f"{_steps(count)} executed")

    def _done(self) -> Sequence[Mapping[str, str]]:
        """The executed steps for the planner; the message of a failure is part of one plan only, its cause of all."""
        done = []
        for step in self.steps:
            if step.failure is None:
                done.append({"tool": step.entry_id, "output": f"step {step.number}: {output_text(step.output)}"})
            else:
                is_known = step.number in self._returned
                text = f"{step.failure['cause']}, as reported" if is_known else failure_text(step.failure)
                done.append({"tool": step.entry_id, "failure": text})
        return done


def _entry(tool: str, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """What a step runs: of a step that runs a pipeline, the pipeline with its inputs."""
    if tool != PIPELINE_RUN:
        return tool, arguments
    inputs = arguments.get("inputs")
    return str(arguments.get("id", "")), inputs if isinstance(inputs, Mapping) else {}


def _args(step: Mapping[str, Any]) -> Mapping[str, Any]:
    return step.get("args") or {}


def _entry_of(step: Mapping[str, Any]) -> str:
    return _entry(step["tool"], _args(step))[0]


def _steps(count: int) -> str:
    return f"{count} step{'' if count == 1 else 's'}"


def _has_braces(text: str) -> bool:
    return "{{" in text


def _same(left: AgentStep, right: AgentStep) -> bool:
    return (left.entry_id, digest(dict(left.arguments))) == (right.entry_id, digest(dict(right.arguments)))


def _failure(cause: str, message: str) -> dict[str, Any]:
    return {"cause": cause, "code": "invalid_input", "message": message, "retryable": False}


def _unconfirmed(entry_id: str, ruling: Ruling) -> Finish:
    how = NO_CONFIRMATION.format(entry_id=entry_id)
    return Finish(AgentOutcome.NEEDS_CONFIRMATION, f"{entry_id} needs a confirmation ({ruling.reason}): {how}")
