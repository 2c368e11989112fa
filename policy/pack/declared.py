"""What is declared to the pack: by its configuration, else by the stack file of a stack of ours, else nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from policy.rules.context import DRIVER_WORKLOAD, Allowed
from policy.rules.fleet import Fleet, declared
from policy.rules.model import Environment
from settings.capabilities import VERSIONS, Capabilities
from settings.errors import SettingsError
from settings.load import read
from settings.proofs import read_proofs
from settings.servers import SHIPPED, ServerNotFound, find_server, proofs_of
from settings.stack import Stack
from topology.errors import TopologyError
from topology.profiles import PROFILES

ROOT = Path(__file__).resolve().parents[2]
"""Where relative paths of servers start: the folder that the pack is in."""

_TEXTS = {"type": "array", "items": {"type": "string"}}
DEFAULTS = Allowed()

SCHEMA: Mapping[str, Mapping[str, Any]] = {
    "environment": {
        "type": "string",
        "enum": ["auto", *Environment],
        "default": "auto",
        "description": "dev makes every rule advisory. auto: dev for the stacks of developmentStacks, prod for all "
        "others.",
    },
    "developmentStacks": {**_TEXTS, "default": ["dev"], "description": "names of stacks that auto takes for dev"},
    "mandatory": {**_TEXTS, "description": "rules that are mandatory in dev, too"},
    "servers": {**_TEXTS, "description": "the kinds of server of the cluster: names of folders in servers/, or paths"},
    "profile": {
        "type": "string",
        "enum": list(PROFILES),
        "description": "whose attribute names their driver publishes",
    },
    "kubernetes": {"type": "string", "enum": list(VERSIONS), "description": "the version of the cluster"},
    "featureGates": {
        "type": "object",
        "additionalProperties": {"type": "boolean"},
        "description": "feature gates that the cluster sets by hand",
    },
    "namespace": {"type": "string", "default": "default", "description": "where objects go that name no namespace"},
    "hostPaths": {**_TEXTS, "description": "paths of the host that pods may mount, besides those of the driver"},
    "privileged": {**_TEXTS, "description": "workloads that may be privileged, as namespace/name"},
    "plain": {**_TEXTS, "description": "values that look like a secret and are none, as namespace/object/key"},
    "worstCalls": {
        "type": "integer",
        "minimum": 1,
        "default": DEFAULTS.worst_calls,
        "description": "calls that the scheduler's search for a claim may cost on one server",
    },
}


class Undeclared(ValueError):  # noqa: N818
    """The configuration cannot be used; the message names the key, the reason and the remedy."""


@dataclass(frozen=True)
class Declared:
    """What rules are told besides the objects. mandatory: rules that stop a preview in dev, too."""

    environment: Environment = Environment.PROD
    mandatory: frozenset[str] = frozenset()
    fleet: Fleet = field(default_factory=Fleet)
    cluster: Capabilities | None = None
    allowed: Allowed = DEFAULTS
    namespace: str = "default"


def declare(config: Mapping[str, Any], stack: str) -> Declared:
    """What the configuration says; what it leaves open, the stack file says if it is one of ours. Undeclared."""
    own = _own(stack)
    said = {key: value for key, value in config.items() if value not in (None, "", [], {})}
    environment = said.get("environment", "auto")
    if environment == "auto":
        developing = stack in said.get("developmentStacks", SCHEMA["developmentStacks"]["default"])
        environment = Environment.DEV if developing else Environment.PROD
    # A stack may have no ring, only confidential containers.
    ring = own.ring if own is not None else None
    servers = said.get("servers", ring.servers if ring is not None else ())
    profile = said.get("profile", ring.profile if ring is not None else next(iter(PROFILES)))
    return Declared(
        Environment(environment),
        frozenset(said.get("mandatory", ())),
        _fleet(servers, profile),
        _cluster(said, own),
        _allowed(said, own),
        said.get("namespace", "default"),
    )


def stack_of(urn: str) -> str:
    """urn:pulumi:STACK::PROJECT::…: the SDK keeps the name that the engine tells it to itself."""
    return urn.removeprefix("urn:pulumi:").partition("::")[0]


def _own(stack: str) -> Stack | None:
    """The engine runs the pack in the folder of the project."""
    try:
        return read(Path.cwd() / f"Pulumi.{stack}.yaml")
    except SettingsError:
        # Another project, or a file that the program itself will refuse.
        return None


def _fleet(servers: Sequence[str], profile: str) -> Fleet:
    try:
        known = PROFILES[profile]
        if not servers:
            return Fleet(profile=known)
        places = {name: str(ROOT / name) if "/" in name else str(SHIPPED / name) for name in servers}
        proofs = {key: proof for place in places.values() for key, proof in read_proofs(proofs_of(place)).items()}
        return declared([find_server(place) for place in places.values()], known, proofs)
    except KeyError:
        raise Undeclared(
            f"profile: there is no driver profile {profile}. Write one of {', '.join(PROFILES)}."
        ) from None
    except (ServerNotFound, TopologyError) as error:
        raise Undeclared(f"servers: {error}") from None


def _cluster(said: Mapping[str, Any], own: Stack | None) -> Capabilities | None:
    if "kubernetes" in said:
        return Capabilities(said["kubernetes"], said.get("featureGates", {}))
    return own.cluster.capabilities if own is not None else None


def _allowed(said: Mapping[str, Any], own: Stack | None) -> Allowed:
    allowed = replace(
        DEFAULTS,
        host_paths=(*DEFAULTS.host_paths, *said.get("hostPaths", ())),
        privileged=(*DEFAULTS.privileged, *said.get("privileged", ())),
        plain=tuple(said.get("plain", ())),
        worst_calls=int(said.get("worstCalls", DEFAULTS.worst_calls)),
    )
    driver = own.ring.installed if own is not None and own.ring is not None else None
    if driver is None:
        return allowed
    # The stack file has judged them, and who changes it is reviewed: but further paths have to be listed here as well.
    return replace(
        allowed,
        host_paths=(
            *allowed.host_paths,
            f"{driver.kubelet_root}/plugins",
            f"{driver.kubelet_root}/plugins_registry",
            driver.cdi_root,
        ),
        privileged=(*allowed.privileged, f"{driver.namespace}/{DRIVER_WORKLOAD}"),
    )
