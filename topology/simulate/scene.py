"""What is simulated, and what the strategies are made from: a server's placements, templates and device order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from topology.assumptions import assume
from topology.claims import RELAXED, compile_templates
from topology.devices import Value, attributes
from topology.errors import TopologyError
from topology.model import Server
from topology.orders import Order, slice_order
from topology.placements import Placement
from topology.profiles import OPENFUYAO, DriverProfile
from topology.search import Alternative, Ask, read_ask
from topology.selectors import let_in
from topology.simulate.firstfit import FirstFit
from topology.simulate.jobs import DEFAULT_MIX, Mix
from topology.simulate.proposal import SingleRequests, mirror, proposed_spec
from topology.simulate.rules import Rule, Strictness, chosen_placements
from topology.simulate.strategies import FillFirst, Foresight, Nodes, OneClaim, Scheduler, Strategy
from topology.template import Template

LARGEST = 16
"""NPUs of a server up to which it is simulated: states are kept as they are met, 2^16 of them at most."""

MAX_ALTERNATIVES = 8
"""In a prioritized list (facts: resource.k8s.io/v1)."""


@dataclass(frozen=True)
class Setting:
    """What is simulated. load: offered, as a share of all NPUs. order: a name in topology.orders.

    strictness: which promise a job asks for; every strategy is held to it. runs: with seeds from `seed` on, summed.
    """

    servers: int = 20
    jobs: int = 10_000
    load: float = 0.8
    mix: Mix = field(default_factory=lambda: DEFAULT_MIX)
    seed: int = 1
    runs: int = 1
    order: str = "id"
    nodes: Nodes = Nodes.RANDOM
    strictness: Strictness = Strictness.WIDEST


def check(setting: Setting) -> None:
    """TopologyError where the numbers make no run."""
    for what, value in (("servers", setting.servers), ("jobs", setting.jobs), ("runs", setting.runs)):
        if value < 1:
            raise TopologyError(f"{value} {what} make no run.", remedy="Write 1 or more.")
    if not 0 < setting.load <= 10:
        raise TopologyError(
            f"a load of {setting.load:g} makes no run.", remedy="Write the NPUs asked for as a share of all, like 0.8."
        )


@dataclass(frozen=True)
class Scene:
    """What the strategies are made from. order: of the slice; fills and foresight go by id, whatever the slice says."""

    server: Server
    profile: DriverProfile
    setting: Setting
    placements: Mapping[int, Placement]
    templates: Sequence[Template]
    order: Order
    known: Sequence[Mapping[str, Value]]

    @classmethod
    def of(cls, server: Server, setting: Setting, profile: DriverProfile = OPENFUYAO) -> Scene:
        """TopologyError for a mix that the server does not offer, more than 16 NPUs, or a driver without topology."""
        check(setting)
        if len(server.npus) > LARGEST:
            raise TopologyError(
                f"{server.name} has {len(server.npus)} NPUs; servers of up to {LARGEST} are simulated.",
                remedy="Simulate a smaller server.",
            )
        full = assume(server)
        order = slice_order(full, setting.order)
        # What is cheap in one order is not in another: the templates are those for a driver that lists devices so.
        profile = replace(profile, order=setting.order)
        known = attributes(full, profile)
        return cls(
            full,
            profile,
            setting,
            chosen_placements(full, setting.strictness, tuple(setting.mix)),
            compile_templates(server, profile),
            order,
            [known[id] for id in order],
        )

    @property
    def rules(self) -> Mapping[int, Rule]:
        ids = tuple(sorted(self.server.ids))
        return {count: Rule.of(placement, ids) for count, placement in self.placements.items()}

    def scheduler(self, name: str, claims: Mapping[int, OneClaim]) -> Scheduler:
        return Scheduler(name, claims, self.setting.nodes, len(self.order))

    def claim(self, spec: Mapping[str, Any]) -> FirstFit:
        return FirstFit(read_ask(spec, self.known, self.profile.driver, let_in(spec, self.order, self.profile)))

    @property
    def relaxed(self) -> Mapping[int, Template]:
        """Count → relaxed template, where there is one. TopologyError where no size of the mix has one."""
        found = {t.count: t for t in self.templates if t.shape == RELAXED and t.count in self.placements}
        if not found:
            raise TopologyError("no size of the mix has a relaxed template here.", remedy="")
        return found

    def strict(self, count: int) -> Template:
        """The template that allows just the placement's sets. TopologyError where the driver's attributes cannot."""
        wanted = {"": self.placements[count].promise}
        for template in self.templates:
            if template.promises == wanted:
                return template
        raise TopologyError(
            f"{self.server.name} has no template for {count} NPUs, {self.placements[count].promise}.",
            remedy="Leave that size out of the mix.",
        )


def _strict_specs(scene: Scene) -> Mapping[int, Mapping[str, Any]]:
    return {count: scene.strict(count).spec for count in scene.placements}


def _relaxed_specs(scene: Scene) -> Mapping[int, Mapping[str, Any]]:
    """The relaxed templates, and for sizes that have none the strict ones: fits sooner, keeps less."""
    return {count: (scene.relaxed.get(count) or scene.strict(count)).spec for count in scene.placements}


DEPLOYED: Mapping[str, Callable[[Scene], Mapping[int, Mapping[str, Any]]]] = MappingProxyType(
    {"ours": _strict_specs, "relaxed": _relaxed_specs}
)
"""Strategies whose claims are templates of ours as they are deployed: count → the claim's spec."""


def deployed(scene: Scene, name: str) -> Scheduler:
    """The strategy of that name in DEPLOYED."""
    return scene.scheduler(name, {count: scene.claim(spec) for count, spec in DEPLOYED[name](scene).items()})


def _naive(scene: Scene) -> Strategy:
    """`count` and nothing else."""
    every = ((1 << len(scene.order)) - 1,)
    return scene.scheduler(
        "naive", {n: FirstFit(Ask(((Alternative("npu", n, every),),), (False,))) for n in scene.placements}
    )


def _proposal(scene: Scene) -> Strategy:
    found = mirror(scene.server, scene.order)
    if found is None:
        raise TopologyError("oFEP-0062 writes claims for two mirrored rings only.", remedy="")
    ring = len(scene.order) // 2
    claims: dict[int, OneClaim] = {}
    for count in scene.placements:
        spec = proposed_spec(count, ring, scene.profile)
        claims[count] = SingleRequests(count // 2, found) if count > ring else scene.claim(spec)
    return scene.scheduler("proposal", claims)


def _ends(scene: Scene) -> Strategy:
    """Ours, with each pool an alternative of its own: jobs up to half a pool from the first on, larger from the last.

    It needs a selector for each pool, which costs the scheduler compiled expressions; see docs/fragmentation.md.
    """
    pinned = False
    claims: dict[int, OneClaim] = {}
    for count, placement in scene.placements.items():
        rule = Rule.of(placement, scene.order)
        pools = [sum(units) for units in rule.pools]
        if rule.size > 1 or not 1 < len(pools) <= MAX_ALTERNATIVES:
            claims[count] = scene.claim(scene.strict(count).spec)
            continue
        pools.sort(key=lambda pool: pool & -pool, reverse=2 * count > min(pool.bit_count() for pool in pools))
        alternatives = tuple(Alternative(f"npu/{n}", count, (pool,)) for n, pool in enumerate(pools))
        claims[count] = FirstFit(Ask((alternatives,), (True,)))
        pinned = True
    if not pinned:
        raise TopologyError("no size of the mix has several pools to choose from here.", remedy="")
    return scene.scheduler("ours-ends", claims)


def _relaxed_wide(scene: Scene) -> Strategy:
    """The relaxed templates without the alternatives that are tighter than the promise asked for."""
    claims: dict[int, OneClaim] = {}
    for count, placement in scene.placements.items():
        relaxed = scene.relaxed.get(count)
        if relaxed is None:
            claims[count] = scene.claim(scene.strict(count).spec)
            continue
        (alternatives,) = scene.claim(relaxed.spec).ask.requests
        first = list(relaxed.promises.values()).index(placement.promise)
        claims[count] = FirstFit(Ask((alternatives[first:],), (True,)))
    return scene.scheduler("relaxed-wide", claims)


def _fill_first(scene: Scene) -> Strategy:
    return FillFirst(scene.rules)


def _foresight(scene: Scene) -> Strategy:
    return Foresight(scene.rules, scene.setting.mix)


STRATEGIES: Mapping[str, Callable[[Scene], Strategy]] = MappingProxyType(
    {
        "naive": _naive,
        "proposal": _proposal,
        "ours": partial(deployed, name="ours"),
        "ours-ends": _ends,
        "relaxed": partial(deployed, name="relaxed"),
        "relaxed-wide": _relaxed_wide,
        "fill-first": _fill_first,
        "foresight": _foresight,
    }
)
