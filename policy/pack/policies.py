"""The pack's policies: one for each rule, named by its id, so that configuration can set the level of each.

`declared` comes first and checks nothing: it is where the configuration that all share is written. `advice` comes last,
is always advisory, and tells what weighs less than its rule (in dev, all of it) and what could not be decided because a
value is not known yet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyConfigSchema,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)

from policy.pack.declared import SCHEMA, Declared, Undeclared, declare, stack_of
from policy.pack.subjects import subject_of, subjects_of
from policy.rules.context import Context
from policy.rules.model import Environment, Finding, Level, Rule, Subject
from policy.rules.run import judge, weight
from policy.rules.surroundings import surround
from policy.rules.view import dotted

DECLARED, ADVICE, ADVICE_ON_STACK = "declared", "advice", "advice-on-stack"
NOTES_AT_MOST = 20
"""Of undecided values and facts a stack's summary lists so many; the number of the rest is said."""


@dataclass
class State:
    """What the policies of one pack share. The SDK calls them in their order, for each resource in one thread."""

    said: Declared | None = None
    config: Any = None
    wrong: str = ""
    local: threading.local = field(default_factory=threading.local)
    stack: Context | None = None

    def declared(self) -> Declared:
        """As it was configured; nothing where the policy `declared` is disabled."""
        return self.said or Declared()

    def configure(self, config: Any, urn: str) -> None:
        """Called for each resource, with the same."""
        if self.said is not None and self.config == config:
            return
        self.config = config
        try:
            self.said, self.wrong = declare(config, stack_of(urn)), ""
        except Undeclared as error:
            # Judged all the same, only without what could not be read.
            self.said, self.wrong = Declared(), str(error)


def policies(rules: Sequence[Rule], state: State | None = None) -> list[Policy]:
    """The policies for these rules."""
    shared = state or State()
    return [
        _declared(shared),
        *(_of_stack(rule, shared) if rule.whole else _of_resource(rule, shared) for rule in rules),
        _advice(shared),
        _advice_on_stack(shared),
    ]


def level_of(rule: Rule) -> EnforcementLevel:
    """The level of a rule's policy. The SDK asks for it before it knows the stack, so it is that of production."""
    return EnforcementLevel.MANDATORY if rule.prod is Level.ERROR else EnforcementLevel.ADVISORY


def _described(rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.id,
        "description": f"{rule.title}.",
        "remediation_steps": rule.remedy,
        "tags": [str(rule.group)],
        "enforcement_level": level_of(rule),
    }


def _declared(state: State) -> Policy:
    def check(args: ResourceValidationArgs, report: ReportViolation) -> None:
        before = state.wrong
        state.configure(dict(args.get_config()), args.urn)
        if state.wrong and state.wrong != before:
            report(f"{state.wrong} The objects are judged without it.", None)
        state.local.lesser = []
        state.local.subject = subject_of(args)

    return ResourceValidationPolicy(
        name=DECLARED,
        description="What rules are told of environment, servers, cluster and exceptions.",
        validate=check,
        enforcement_level=EnforcementLevel.MANDATORY,
        config_schema=PolicyConfigSchema({key: dict(value) for key, value in SCHEMA.items()}),
    )


def _of_resource(rule: Rule, state: State) -> Policy:
    def check(args: ResourceValidationArgs, report: ReportViolation) -> None:
        subject = _current(args, state)
        if subject is not None:
            lesser = _judge(rule, subject, _alone(subject, state), state, lambda sentence: report(sentence, None))
            state.local.lesser = [*getattr(state.local, "lesser", []), *lesser]

    return ResourceValidationPolicy(validate=check, **_described(rule))


def _current(args: ResourceValidationArgs, state: State) -> Subject | None:
    """The resource as `declared` has made it plain, if that was asked of this one."""
    subject: Subject | None = getattr(state.local, "subject", None)
    return subject if subject is not None and subject.key == args.urn else subject_of(args)


def _alone(subject: Subject, state: State) -> Context:
    said = state.declared()
    return surround([subject], said.fleet, said.cluster, said.allowed, said.namespace)


def _of_stack(rule: Rule, state: State) -> Policy:
    def check(args: StackValidationArgs, report: ReportViolation) -> None:
        context = _whole(args, state)
        found: list[str] = getattr(state.local, "stack_lesser", [])
        for subject in context.objects:
            found += _judge(rule, subject, context, state, partial(_report_on, report, subject.key))
        state.local.stack_lesser = found

    return StackValidationPolicy(validate=check, **_described(rule))


def _report_on(report: ReportViolation, urn: str, sentence: str) -> None:
    report(sentence, urn)


def _whole(args: StackValidationArgs, state: State) -> Context:
    """The context of the stack, made once: what rules work out of it is kept with it."""
    said = state.declared()
    subjects = subjects_of(args.resources)
    if state.stack is None or state.stack.objects != subjects:
        state.stack = surround(subjects, said.fleet, said.cluster, said.allowed, said.namespace)
    return state.stack


def _judge(rule: Rule, subject: Subject, context: Context, state: State, report: Callable[[str], None]) -> list[str]:
    """Report what the rule finds, and return what is for `advice`."""
    said = state.declared()
    environment = Environment.PROD if rule.id in said.mandatory else said.environment
    verdict = judge(rule, subject, context)
    lesser = []
    for finding in verdict.findings:
        if weight(rule, finding, environment) is rule.prod:
            report(_sentence(subject, finding))
        else:
            lesser.append(f"{rule.id}: {_sentence(subject, finding)}")
    if verdict.undecided:
        paths = ", ".join(map(dotted, verdict.undecided[:4]))
        lesser.append(
            f"{rule.id}: could not decide on {subject}: {paths} not known yet. It is judged again when it is."
        )
    return lesser


def _sentence(subject: Subject, finding: Finding) -> str:
    where = f", {dotted(finding.path)}" if finding.path else ""
    return f"{subject}{where}: {finding}"


def _advice(state: State) -> Policy:
    def check(args: ResourceValidationArgs, report: ReportViolation) -> None:
        del args
        for sentence in getattr(state.local, "lesser", []):
            report(sentence, None)
        state.local.lesser = []

    return ResourceValidationPolicy(
        name=ADVICE,
        description="What weighs less, or could not be decided.",
        validate=check,
        enforcement_level=EnforcementLevel.ADVISORY,
    )


def _advice_on_stack(state: State) -> Policy:
    def check(args: StackValidationArgs, report: ReportViolation) -> None:
        del args
        sentences = list(dict.fromkeys(getattr(state.local, "stack_lesser", [])))
        for sentence in sentences[:NOTES_AT_MOST]:
            report(sentence, None)
        if len(sentences) > NOTES_AT_MOST:
            report(f"and {len(sentences) - NOTES_AT_MOST} more of the kind.", None)
        state.local.stack_lesser = []

    return StackValidationPolicy(
        name=ADVICE_ON_STACK,
        description="What weighs less, or could not be decided, in the stack as a whole.",
        validate=check,
        enforcement_level=EnforcementLevel.ADVISORY,
    )
