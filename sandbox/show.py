"""`make up` from beginning to end: programs, control plane, simulated nodes, `pulumi up`, a pod for every template."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sandbox import layout, locks, nodes, plane, toolchain, trial
from sandbox.api import talking_to
from sandbox.engine import Engine
from sandbox.errors import SandboxError
from sandbox.plane import Sandbox
from sandbox.report import Report
from settings.ring_plan import RingPlan
from topology.template import Template

WAIT_FOR_OTHERS = 3 * 3600.0
"""Seconds a second `up` waits for the first, which may be building everything."""

WAIT_FOR_A_TRIAL = 600.0
"""Seconds one trial waits for another, which takes a few."""


@dataclass(frozen=True)
class Up:
    """A sandbox in which the stack is deployed."""

    sandbox: Sandbox
    tools: dict[str, Path]
    written: int


def up(name: str, stack: str, plan: RingPlan, project: Path, report: Report) -> Up:
    """Bring up the sandbox and deploy the project's stack in it; what is there already is left alone.

    Raises SandboxError. After any end, an interrupt too, the next `up` goes on from what there is.
    """
    tools = toolchain.ensure(report)
    place = layout.of(name)
    with locks.hold(locks.path_for(place.folder, "up"), f"sandbox {name}, up", report, limit=WAIT_FOR_OTHERS):
        with report.task("Starting the control plane", 6):
            sandbox = plane.up(name, tools, report)
        with talking_to(sandbox.kubeconfig) as api:
            written = nodes.publish(api, plan.servers, plan.profile, plan.node_labels)
        engine = Engine(sandbox, tools, project, report)
        with report.task(f"pulumi up, stack {stack}", 20):
            engine.up(stack)
    return Up(sandbox, tools, written)


def try_all(sandbox: Sandbox, plan: RingPlan, report: Report) -> list[trial.Outcome]:
    """A pod for every template of the plan that the stack has published, one namespace's worth.

    Two trials of one sandbox take turns: each wants the servers to itself.
    """
    if not plan.namespaces:
        raise SandboxError("The stack publishes no templates.", remedy="Name a namespace in ring.namespaces.")
    namespace = plan.namespaces[0]

    def published(template: Template) -> tuple[str, str]:
        return namespace, template.name

    plans = [trial.Plan(server, templates, published) for server, templates in plan.templates]
    lock = locks.path_for(sandbox.folder, "try")
    with locks.hold(lock, f"sandbox {sandbox.name}, trying every template", report, limit=WAIT_FOR_A_TRIAL):
        return trial.run(lambda: talking_to(sandbox.kubeconfig), plans, plan.profile, lambda _: None)
