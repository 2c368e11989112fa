"""What the tests of two clusters begin with: two of them, and operators that act once they are installed."""

from __future__ import annotations

import pytest

from sandbox.standin import cc_objects
from sandbox.standin.cc_objects import CC_RUNTIMES
from sandbox.standin.kube import Kube
from tests.e2e.conftest import Pair
from tests.sandbox.standin import objects
from tests.sandbox.standin.conftest import until

pytestmark = pytest.mark.real


def test_nothing_is_there_before_a_stack_and_the_operators_act_on_their_own_cluster(pair: Pair) -> None:
    workload, trusted = Kube(pair.up.workload.kubeconfig), Kube(pair.up.trusted.kubeconfig)
    for api in (workload, trusted):
        assert api.all(objects.CRDS) == []
    objects.install_cc(workload)
    objects.install_kbs(trusted)
    workload.create(CC_RUNTIMES, objects.cc_runtime())
    for node in workload.all("/api/v1/nodes"):
        assert node["metadata"]["labels"]["kubernetes.io/arch"] == "arm64"
        workload.merge(f"/api/v1/nodes/{node['metadata']['name']}", {"metadata": {"labels": cc_objects.WORKER}})
    until(lambda: (workload.get(CC_RUNTIMES, "fence") or {}).get("status", {}).get("runtimeClass"), "it is installed")
    assert workload.get(objects.NAMESPACES, "trustee-operator-system") is None
    assert trusted.get(objects.NAMESPACES, cc_objects.NAMESPACE) is None
