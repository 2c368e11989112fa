"""A stack of the tests' own around the sections of confidential containers, told as a real one would be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from settings.cc_runtime import CcRuntimeSettings
from settings.cc_runtime_checks import judge_cc_runtime
from settings.confidential_workload import WorkloadSettings
from settings.confidential_workload_checks import judge_workload
from settings.explain import problems
from settings.section import Section

DIGEST = "@sha256:" + "0" * 64
RUNTIME: Mapping[str, Any] = {
    "preset": "virtcca",
    "payloadImage": "registry.example/kata" + DIGEST,
    "preInstallImage": "registry.example/reqs" + DIGEST,
    "nodes": ["kunpeng-1"],
}
WORKLOAD: Mapping[str, Any] = {
    "name": "model",
    "namespace": "team",
    "image": "registry.example/model" + DIGEST,
    "runtimeClass": "kata-qemu-virtcca",
    "vcpus": 4,
    "memoryMi": 8192,
}


class Fence(Section):
    """As in a stack file."""

    cc_runtime: CcRuntimeSettings = Field(description="the runtime")
    workloads: tuple[WorkloadSettings, ...] = Field(default=(), description="the workloads")


class Trial(Section):
    """As in a stack file."""

    fence: Fence = Field(description="confidential containers")


def read(runtime: Mapping[str, Any], *workloads: Mapping[str, Any]) -> Fence:
    """The sections; ValidationError if a value is wrong."""
    fence: dict[str, Any] = {"ccRuntime": runtime, "workloads": workloads}
    return Trial.model_validate_json(json.dumps({"fence": fence}), strict=True).fence


def told(
    runtime: Mapping[str, Any], *workloads: Mapping[str, Any], production: bool = True, kbs_url: str | None = None
) -> list[str]:
    """Every problem, as a user reads it. The key broker's host is kbs.example where there is a URL."""
    try:
        fence = read(runtime, *workloads)
    except ValidationError as error:
        return [str(one) for one in problems(error, Trial)]
    kbs_host = "kbs.example" if kbs_url else None
    found = judge_cc_runtime(fence.cc_runtime, ("fence", "ccRuntime"), production=production, kbs_host=kbs_host)
    for index, workload in enumerate(fence.workloads):
        at = ("fence", "workloads", index)
        found += judge_workload(workload, at, production=production, runtime=fence.cc_runtime, kbs_url=kbs_url)
    return [str(one) for one in found]
