"""Runs a Pulumi program against mocks and keeps what it registered: types, inputs, parents and options."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest import mock

import pulumi
import yaml
from pulumi.runtime import mocks, rpc, settings, stack
from pulumi.runtime.config import CONFIG

from components.trustee.keys import CA_CERTIFICATE, new_authority, new_keys
from settings.secrets import key_of
from settings.trustee_operator import NAMESPACE

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Registered:
    """One resource as it was asked for. request: all of it, options too, as the engine would have got it."""

    type: str
    name: str
    inputs: dict[str, Any]
    request: Any

    @property
    def parent(self) -> str:
        """The name of the parent."""
        return str(self.request.parent).rpartition("::")[2]

    @property
    def depends_on(self) -> set[str]:
        """The names of what it waits for."""
        return {urn.rpartition("::")[2] for urn in self.request.dependencies}


@dataclass
class Recorded:
    """All that a program registered."""

    resources: list[Registered] = field(default_factory=list)
    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)

    def one(self, type: str) -> Registered:
        """The only one of its type."""
        (found,) = self.all(type)
        return found

    def all(self, type: str) -> list[Registered]:
        """Those of a type, in the order of names."""
        return sorted((one for one in self.resources if one.type == type), key=lambda one: one.name)

    def kubernetes(self) -> list[Registered]:
        """The API objects."""
        return [one for one in self.resources if one.type.startswith("kubernetes:")]


class _Echo(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        return f"{args.name}-id", args.inputs

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], None]:
        return {}, None


class _Monitor(mocks.MockMonitor):
    def __init__(self) -> None:
        super().__init__(_Echo())
        self.recorded = Recorded()

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802
        if request.type != "pulumi:pulumi:Stack":
            inputs = _whole(rpc.deserialize_properties(request.object))
            self.recorded.resources.append(Registered(request.type, request.name, inputs, request))
        return super().RegisterResource(request)  # type: ignore[no-untyped-call]

    def RegisterResourceOutputs(self, request: Any) -> Any:  # noqa: N802
        self.recorded.outputs[request.urn.rpartition("::")[2]] = rpc.deserialize_properties(request.outputs)
        return super().RegisterResourceOutputs(request)  # type: ignore[no-untyped-call]


def record(program: Callable[[], Any], stack_name: str = "dev") -> Recorded:
    """What the program registers, once all of it has been. Its loop and mocks are its own: no test sees another's."""
    monitor = _Monitor()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    def body() -> None:
        program()

    try:
        mocks.set_mocks(monitor.mocks, project="ringfence", stack=stack_name, preview=False, monitor=monitor)
        # The mocks come with a stack that is finished already; this one takes the program's exports.
        settings.set_root_resource(None)  # type: ignore[arg-type]
        loop.run_until_complete(stack.run_in_stack(body))
    finally:
        # Where the program fails, outputs of this loop are left waiting, and the next program would wait for them.
        settings.SETTINGS.outputs.clear()
        settings.SETTINGS.rpc_manager.clear()
        loop.close()
    return monitor.recorded


def record_stack(path: Path) -> Recorded:
    """What `__main__.py` registers for a stack file, given to it as the engine would, with keys as a user makes them.

    The KBS is not waited for: there is no cluster.
    """
    config = as_engine(yaml.safe_load(path.read_text())["config"])
    keys = keys_for(path)
    before = CONFIG.get()
    pulumi.runtime.set_all_config(config | keys, list(keys))
    try:
        name = path.stem.removeprefix("Pulumi.")
        with mock.patch("components.fence.until_ready"):
            return record(lambda: runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__"), name)
    finally:
        pulumi.runtime.set_all_config(before, [])


def keys_for(path: Path) -> dict[str, str]:
    """What `ringfence fence keys` would put into the stack file, if it has a key broker."""
    kbs = yaml.safe_load(path.read_text())["config"].get("ringfence:fence", {}).get("kbs")
    if kbs is None:
        return {}
    now = datetime.now(UTC)
    authority = new_authority(now)
    made = new_keys(authority, [kbs["address"]["host"]], NAMESPACE, kbs["token"]["broker"], now)
    return {key_of(name): value for name, value in {**made, CA_CERTIFICATE: authority.certificate}.items()}


def as_engine(config: dict[str, Any]) -> dict[str, str]:
    """Objects as JSON, the rest as text."""
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in config.items()}


def _whole(value: Any) -> Any:
    """With 3 for 3.0: the protocol knows no integers, the API server's objects do."""
    if isinstance(value, dict):
        return {key: _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def empties(value: Any, path: str = "") -> Iterator[str]:
    """The paths of every empty list or mapping in a value."""
    if isinstance(value, dict | list) and not value:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from empties(inner, f"{path}.{key}")
