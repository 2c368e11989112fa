"""Jobs of a simulation played on the real scheduler, each decision beside what the model says it may be.

The model is asked about the state that the real decisions have led to, so every decision is compared by itself: the
node must be one of those that the model scores best, and the NPUs those of its first fit there. Which of several such
nodes is taken is all that is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count as numbers
from types import MappingProxyType

from sandbox.bench import objects
from sandbox.bench.cluster import Cluster
from sandbox.bench.kind import Kind, Order
from topology.errors import TopologyError
from topology.model import Server
from topology.profiles import OPENFUYAO, DriverProfile
from topology.simulate import run as clock
from topology.simulate.jobs import arrivals
from topology.simulate.rules import Judge
from topology.simulate.run import Outcome
from topology.simulate.scene import DEPLOYED, Scene, Setting, deployed
from topology.simulate.strategies import Effort, Nodes, Placed, Scheduler, Strategy

DECIDED_WITHIN = 60.0
"""Seconds for one job."""

LUCKS = 10
"""Draws of luck that the real outcome is set beside: ties that fall otherwise move whole-server jobs by points."""

_numbers = numbers(1)


@dataclass(frozen=True)
class Pods:
    """scheduler: the profile that pods name. shares: what they ask for in proportion to their NPUs."""

    scheduler: str
    shares: tuple[str, ...] = ()

    def requests(self, count: int, npus: int) -> Mapping[str, str]:
        """Of a job of `count`, where all the `npus` of a node ask for all that the node has."""
        whole = {"cpu": (1000 * objects.CPUS, "m"), "memory": (1024 * objects.MEMORY_GIB, "Mi")}
        return {name: f"{count * (whole[name][0] // npus)}{whole[name][1]}" for name in self.shares}


PODS: Mapping[Nodes, Pods] = MappingProxyType(
    {
        Nodes.RANDOM: Pods("default-scheduler"),
        Nodes.FIRST: Pods("default-scheduler"),
        Nodes.SPREAD: Pods("default-scheduler", ("cpu", "memory")),
        Nodes.PACK: Pods("npu", ("cpu",)),
    }
)
"""What makes the real scheduler choose nodes as the simulation's settings say: profiles of examples/scheduler/."""


@dataclass(frozen=True)
class Decision:
    """One job. free: the state that it met, each node's free NPUs as bits. real: what the scheduler did.

    allowed: what the model says it may do. fitting: on how many nodes the job fits.
    """

    count: int
    free: tuple[int, ...]
    real: Placed | None
    allowed: tuple[Placed, ...]
    fitting: int

    @property
    def agrees(self) -> bool:
        return self.real in self.allowed if self.allowed else self.real is None

    @property
    def emptiness(self) -> float | None:
        """Of the other nodes that were allowed, the share with fewer NPUs free than the one taken, equals by half."""
        if self.real is None or len(self.allowed) < 2 or not self.agrees:
            return None
        mine = self.free[self.real.node].bit_count()
        others = [self.free[at.node].bit_count() for at in self.allowed if at.node != self.real.node]
        return sum((free < mine) + (free == mine) / 2 for free in others) / len(others)


@dataclass(frozen=True)
class Played:
    """simulated: the same jobs where the model decides, once with each of LUCKS draws of luck, in states of its own."""

    decisions: tuple[Decision, ...]
    real: Outcome
    simulated: tuple[Outcome, ...]

    @property
    def mismatches(self) -> tuple[Decision, ...]:
        return tuple(decision for decision in self.decisions if not decision.agrees)

    @property
    def by_chance(self) -> float | None:
        """How often a node drawn among those where the job fits is one that the model allows; None where none fits.

        The lower, the more the comparison of nodes says.
        """
        placed = [decision for decision in self.decisions if decision.fitting]
        return sum(len(decision.allowed) / decision.fitting for decision in placed) / len(placed) if placed else None

    @property
    def emptiness(self) -> float | None:
        """The mean of the decisions': ½ where nodes are drawn by lot, 1 where the emptiest is taken; None without any.

        Which of the nodes that its scores leave open the scheduler takes is not compared; this shows whether by lot.
        """
        known = [decision.emptiness for decision in self.decisions if decision.emptiness is not None]
        return sum(known) / len(known) if known else None


@dataclass
class _Real:
    """The real scheduler as a strategy. What is free again of a job's NPUs tells that the job has left."""

    cluster: Cluster
    model: Scheduler
    pods: Pods
    prefix: str
    nodes: Sequence[str]
    devices: Sequence[str]
    seen: Callable[[int], None]
    name: str = "real"
    efforts: Mapping[int, Effort] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    _running: dict[str, tuple[str, Placed]] = field(default_factory=dict)

    def begin(self, seed: int) -> None:
        """Its luck cannot be set."""

    def place(self, count: int, free: Sequence[int]) -> Placed | None:
        left: dict[str, str | None] = {
            pod: claim for pod, (claim, at) in self._running.items() if at.chosen & free[at.node]
        }
        self.cluster.end(left)
        for pod in left:
            del self._running[pod]
        real = self._start(count)
        allowed, fitting = self.model.best(count, free), self.model.fitting(count, free)
        self.decisions.append(Decision(count, tuple(free), real, allowed, len(fitting)))
        self.seen(len(self.decisions))
        return real

    def _start(self, count: int) -> Placed | None:
        """The scheduler hears of claims and of pods in their order, so what was freed before is free for this one."""
        name = f"{self.prefix}-job-{len(self.decisions)}"
        requests = self.pods.requests(count, len(self.devices))
        self.cluster.start([objects.pod(name, _template(self.prefix, count), None, requests, self.pods.scheduler)])
        given = self.cluster.given(name, DECIDED_WITHIN)
        if given is None:
            self.cluster.end({name: None})
            return None
        chosen = sum(1 << self.devices.index(device) for device in given.devices)
        placed = Placed(self.nodes.index(given.node), chosen)
        self._running[name] = given.claim, placed
        return placed


def play(
    cluster: Cluster,
    server: Server,
    setting: Setting,
    strategy: str = "ours",
    profile: DriverProfile = OPENFUYAO,
    seen: Callable[[int], None] = lambda _: None,
) -> Played:
    """The setting's jobs one at a time, those that leave first; a job that does not fit is removed.

    cluster: prepared for this kind of server. strategy: a name in DEPLOYED. seen: called with the number of decisions.
    TopologyError as for `simulate`, and for an order other than by id; SandboxError where the cluster does not follow.
    """
    if setting.order != "id":
        raise TopologyError(
            f"the real scheduler is played with devices by id, not in the order {setting.order}.",
            remedy="Leave the order out.",
        )
    scene = Scene.of(server, setting, profile)
    kind = Kind.of(server, profile)
    prefix = f"played-{next(_numbers)}"
    nodes = [f"server-{number:03}" for number in range(setting.servers)]
    devices = [profile.device_name.format(id=id) for id in scene.order]
    cluster.publish(kind, nodes, Order.BY_ID)
    cluster.declare({_template(prefix, count): spec for count, spec in DEPLOYED[strategy](scene).items()})
    model = deployed(scene, strategy)
    real = _Real(cluster, model, PODS[setting.nodes], prefix, nodes, devices, seen)
    stream = arrivals(setting.mix, len(devices) * setting.servers, setting.load, setting.jobs, setting.seed)
    judge = Judge(scene.server, scene.order, {count: place.promise for count, place in scene.placements.items()})

    def played(by: Strategy) -> Outcome:
        empty = clock.Cluster(len(devices), setting.servers)
        return clock.run(by, stream, empty, judge.keeps, settle=setting.jobs // 10)

    outcome = played(real)
    cluster.clear()
    simulated = []
    for luck in range(setting.seed, setting.seed + LUCKS):
        model.begin(luck)
        simulated.append(played(model))
    return Played(tuple(real.decisions), outcome, tuple(simulated))


def _template(prefix: str, count: int) -> str:
    return f"{prefix}-npus-{count}"
