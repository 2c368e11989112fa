"""The stand-in for cc-operator does what the real one is known to do: in its order, and with its ways to hang."""

from __future__ import annotations

import pytest

from sandbox.standin import cc_daemonsets, cc_objects, kube
from sandbox.standin.behaviour import CcBehaviour
from sandbox.standin.cc_objects import CC_RUNTIMES, FINALIZER
from tests.sandbox.standin import objects
from tests.sandbox.standin.conftest import NODES, Cluster, until

pytestmark = pytest.mark.real

INSTALLED = "katacontainers.io/kata-runtime"
PRE = "confidentialcontainers.org/preinstall"
RBAC = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


def install(cluster: Cluster) -> None:
    cluster.label_all()
    cluster.api.create(CC_RUNTIMES, objects.cc_runtime())
    until(cluster.installed, "the CcRuntime is installed")


def delete(cluster: Cluster) -> None:
    cluster.api.delete(CC_RUNTIMES, "fence")


def gone(cluster: Cluster) -> bool:
    return cluster.cr() is None


def is_held(cluster: Cluster) -> bool:
    found = cluster.cr()
    return found is not None and FINALIZER in found["metadata"]["finalizers"]


def daemon_set(cluster: Cluster, name: str) -> kube.Object:
    found = cluster.api.get(kube.daemon_sets(cc_objects.NAMESPACE), name)
    assert found is not None
    return found


def test_an_installation_ends_with_all_that_readiness_is_computed_from(cluster: Cluster) -> None:
    install(cluster)
    found = cluster.cr()
    assert found is not None
    assert found["metadata"]["finalizers"] == [FINALIZER]
    nothing: kube.Object = {"completed": {}, "failed": {}, "inProgress": {}}
    # In the order in which they were done, which is nobody's promise.
    listed = found["status"]["installationStatus"]["completed"]["completedNodesList"]
    assert sorted(listed) == list(NODES)
    completed = {"completedNodesCount": 3, "completedNodesList": listed}
    assert found["status"] == {
        "runtimeClass": "kata-qemu,kata-qemu-virtcca",
        "runtimeName": "kata",
        "totalNodesCount": 3,
        "installationStatus": nothing | {"completed": completed},
        "unInstallationStatus": nothing,
        "upgradeStatus": {},
    }
    assert cluster.classes() == {"kata-qemu", "kata-qemu-virtcca", "kata"}, "the alias comes with the default class"
    for node in NODES:
        labels = cluster.labels(node)
        assert (labels[PRE], labels[INSTALLED]) == ("done", "true")
    names = {name: daemon_set(cluster, name)["metadata"].get("ownerReferences") for name in cluster.daemon_sets()}
    assert names.keys() == {cc_daemonsets.PRE_INSTALL, cc_daemonsets.INSTALL, cc_daemonsets.UNINSTALL}
    assert names[cc_daemonsets.PRE_INSTALL] is None, "nobody owns the hooks"
    for name in (cc_daemonsets.INSTALL, cc_daemonsets.UNINSTALL):
        assert [each["name"] for each in names[name] or []] == ["fence"]


def test_the_namespace_is_labelled_for_privileged_pods_when_the_manager_starts(cluster: Cluster) -> None:
    def labels() -> dict[str, str]:
        found = cluster.api.get(objects.NAMESPACES, cc_objects.NAMESPACE)
        assert found is not None
        return kube.labels_of(found)

    until(lambda: labels().get("pod-security.kubernetes.io/enforce") == "privileged", "the namespace is labelled")
    assert labels()["pod-security.kubernetes.io/warn"] == "privileged"


def test_the_payload_waits_for_the_hook_on_every_node(cluster: Cluster) -> None:
    cluster.standin.behave(cc=CcBehaviour(install="hanging", nodes=frozenset({"node-1"})))
    cluster.label_all()
    cluster.api.create(CC_RUNTIMES, objects.cc_runtime())
    until(lambda: PRE in cluster.labels("node-2"), "the hook ran where it can")
    cluster.stays(lambda: cc_daemonsets.INSTALL not in cluster.daemon_sets(), "the payload before the hook")
    assert PRE not in cluster.labels("node-1")
    cluster.standin.behave(cc=CcBehaviour())
    until(cluster.installed, "the CcRuntime is installed")


def test_the_finalizer_comes_only_after_the_installation(cluster: Cluster) -> None:
    cluster.standin.behave(cc=CcBehaviour(install="hanging"))
    cluster.label_all()
    cluster.api.create(CC_RUNTIMES, objects.cc_runtime())
    until(lambda: cc_daemonsets.PRE_INSTALL in cluster.daemon_sets(), "the hook is there")
    found = cluster.cr()
    assert found is not None
    assert "finalizers" not in found["metadata"]
    delete(cluster)
    until(lambda: gone(cluster), "nothing keeps it")
    cluster.stays(lambda: cc_daemonsets.PRE_INSTALL in cluster.daemon_sets(), "the hook is left behind")


@pytest.mark.parametrize("missing", ["label", "value"])
def test_without_a_matching_node_nothing_is_said_in_the_status(cluster: Cluster, missing: str) -> None:
    if missing == "value":
        cluster.label("node-0", {"node.kubernetes.io/worker": "true"})
    cluster.api.create(CC_RUNTIMES, objects.cc_runtime())
    until(lambda: any("no suitable" in line for line in cluster.standin.cc_log.lines), "the operator logs it")
    found = cluster.cr()
    assert found is not None
    assert "status" not in found
    assert cluster.daemon_sets() <= {cc_daemonsets.UNINSTALL}


def test_match_expressions_are_passed_over(cluster: Cluster) -> None:
    body = objects.cc_runtime()
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-0"]}
    body["spec"]["ccNodeSelector"] = {"matchExpressions": [expression]}
    cluster.api.create(CC_RUNTIMES, body)
    until(cluster.installed, "the CcRuntime is installed")
    found = cluster.cr()
    assert found is not None
    assert found["status"]["totalNodesCount"] == 3, "on all nodes, not on the one that was meant"


def test_daemonsets_are_created_once_and_never_changed(cluster: Cluster) -> None:
    install(cluster)
    cluster.api.merge(f"{CC_RUNTIMES}/fence", {"spec": {"config": {"payloadImage": "example.org/payload:2"}}})

    def image() -> str:
        spec = daemon_set(cluster, cc_daemonsets.INSTALL)["spec"]["template"]["spec"]
        return str(spec["containers"][0]["image"])

    cluster.stays(lambda: image() == "example.org/payload:1", "a changed image reached the DaemonSet")


def test_a_second_ccruntime_looks_installed_and_installs_nothing(cluster: Cluster) -> None:
    install(cluster)
    cluster.api.create(CC_RUNTIMES, objects.cc_runtime("second", payloadImage="example.org/other:1"))
    until(lambda: cluster.installed("second"), "it looks installed")
    owners = daemon_set(cluster, cc_daemonsets.INSTALL)["metadata"]["ownerReferences"]
    assert [each["name"] for each in owners] == ["fence"]


def test_a_node_that_joins_is_served_and_one_that_was_replaced_stays_on_the_list(cluster: Cluster) -> None:
    install(cluster)
    cluster.api.delete(kube.NODES, "node-2")
    fresh = {"metadata": {"name": "node-3", "labels": {"ringfence.dev/simulated": "plain", **cc_objects.WORKER}}}
    cluster.api.create(kube.NODES, {"apiVersion": "v1", "kind": "Node", **fresh})

    def completed() -> list[str]:
        found = cluster.cr()
        assert found is not None
        return list(found["status"]["installationStatus"]["completed"]["completedNodesList"])

    until(lambda: "node-3" in completed(), "the new node is served")
    found = cluster.cr()
    assert found is not None
    assert sorted(completed()) == ["node-0", "node-1", "node-2", "node-3"]
    assert found["status"]["totalNodesCount"] == 3, "the counters never agree again"


def left_over(labels: dict[str, str]) -> list[str]:
    return [key for key in labels if "confidential" in key or "kata" in key]


def test_a_deletion_leaves_nothing(cluster: Cluster) -> None:
    install(cluster)
    delete(cluster)
    until(lambda: gone(cluster), "the CcRuntime is gone")
    until(lambda: cluster.daemon_sets() == set(), "the DaemonSets are gone", 60)
    assert cluster.classes() == set()
    until(lambda: not any(left_over(cluster.labels(node)) for node in NODES), "the nodes' labels are gone")


def test_the_hook_after_it_waits_for_the_uninstaller_on_every_node(cluster: Cluster) -> None:
    install(cluster)
    cluster.standin.behave(cc=CcBehaviour(uninstall="hanging", nodes=frozenset({"node-1"})))
    delete(cluster)
    until(lambda: cluster.labels("node-2")[INSTALLED] == "cleanup", "cleaned where it can be")
    assert cluster.labels("node-1")["confidentialcontainers.org/startuninstall"] == "true"
    cluster.stays(lambda: cc_daemonsets.POST_UNINSTALL not in cluster.daemon_sets(), "the hook before its time")
    cluster.standin.behave(cc=CcBehaviour())
    until(lambda: gone(cluster), "the CcRuntime is gone")


def test_it_hangs_when_a_counted_node_has_left(cluster: Cluster) -> None:
    install(cluster)
    cluster.standin.behave(cc=CcBehaviour(uninstall="hanging"))
    delete(cluster)
    until(lambda: "confidentialcontainers.org/startuninstall" in cluster.labels("node-1"), "the uninstallation began")
    cluster.api.delete(kube.NODES, "node-1")
    cluster.standin.behave(cc=CcBehaviour())
    until(lambda: cluster.labels("node-2")[INSTALLED] == "cleanup", "the others are clean")
    cluster.stays(lambda: is_held(cluster), "it waits for a node that is not there")


def test_it_hangs_when_a_node_lost_the_label_it_was_chosen_by(cluster: Cluster) -> None:
    install(cluster)
    cluster.label("node-1", {"node.kubernetes.io/worker": None})
    until(lambda: (cluster.cr() or {})["status"]["totalNodesCount"] == 2, "it is not counted any more")
    delete(cluster)
    until(lambda: cluster.labels("node-1")[INSTALLED] == "cleanup", "it is cleaned all the same")
    cluster.stays(lambda: is_held(cluster), "three are clean where two were counted")


def test_it_hangs_beside_a_kata_deploy_of_someone_elses(cluster: Cluster) -> None:
    install(cluster)
    path = kube.daemon_sets("kube-system")
    template = {"metadata": {"labels": {"name": "kata-deploy"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"selector": {"matchLabels": {"name": "kata-deploy"}}, "template": template}
    cluster.api.create(path, {"metadata": {"name": "kata-deploy"}, "spec": spec})
    try:
        delete(cluster)
        until(lambda: cluster.classes() == set(), "the uninstaller ran")
        cluster.stays(lambda: is_held(cluster), "no node is labelled as clean")
    finally:
        cluster.api.delete(path, "kata-deploy")
    until(lambda: gone(cluster), "without it, the uninstaller goes on")


def test_it_can_be_told_to_keep_its_finalizer(cluster: Cluster) -> None:
    install(cluster)
    cluster.standin.behave(cc=CcBehaviour(keeps_finalizer=True))
    delete(cluster)
    until(lambda: "confidentialcontainers.org/postuninstall" in cluster.labels("node-2"), "all else is done")
    cluster.stays(lambda: is_held(cluster), "the finalizer stays")


def test_without_its_manager_nothing_begins_and_nothing_ends(cluster: Cluster) -> None:
    install(cluster)
    path = kube.deployments(cc_objects.NAMESPACE)
    cluster.api.delete(path, cc_objects.MANAGER)
    try:
        until(lambda: not cluster.api.get(path, cc_objects.MANAGER), "the manager is gone")
        delete(cluster)
        cluster.stays(lambda: is_held(cluster) and cluster.classes(), "nobody takes the finalizer off")
    finally:
        cluster.api.create(path, objects.manager(cc_objects.NAMESPACE, cc_objects.MANAGER, {}))
    until(lambda: gone(cluster), "the operator is back and ends it")


def test_it_has_no_other_rights_than_its_account(cluster: Cluster) -> None:
    binding = cluster.api.get(RBAC, cc_objects.MANAGER)
    assert binding is not None
    cluster.api.delete(RBAC, cc_objects.MANAGER)
    try:
        cluster.label_all()
        cluster.api.create(CC_RUNTIMES, objects.cc_runtime())
        until(lambda: any("forbidden" in line for line in cluster.standin.cc_log.lines), "it is refused")
        assert not cluster.installed()
    finally:
        del binding["metadata"]["resourceVersion"], binding["metadata"]["uid"]
        cluster.api.create(RBAC, binding)
    until(cluster.installed, "with its rights it goes on")


def test_a_slow_installation_takes_its_time_and_ends(cluster: Cluster) -> None:
    cluster.standin.behave(cc=CcBehaviour(install="slow", seconds=2))
    cluster.label_all()
    cluster.api.create(CC_RUNTIMES, objects.cc_runtime())
    cluster.stays(lambda: not cluster.installed(), "installed at once")
    until(cluster.installed, "the CcRuntime is installed")


def test_a_failing_node_is_listed_and_never_completes(cluster: Cluster) -> None:
    cluster.standin.behave(cc=CcBehaviour(install="failing", nodes=frozenset({"node-1"}), error="no space left"))
    cluster.label_all()
    cluster.api.create(CC_RUNTIMES, objects.cc_runtime(preInstall={}))
    until(lambda: INSTALLED in cluster.labels("node-2"), "the others are done")

    def failed() -> object:
        return (cluster.cr() or {}).get("status", {}).get("installationStatus", {}).get("failed")

    wanted = {"failedNodesCount": 1, "failedNodesList": [{"name": "node-1", "error": "no space left"}]}
    until(lambda: failed() == wanted, "it is listed")
    cluster.stays(lambda: not cluster.installed(), "installed with a node that failed")


def test_an_image_that_cannot_be_pulled_leaves_its_pods_waiting(cluster: Cluster) -> None:
    cluster.standin.behave(cc=CcBehaviour(unpullable=frozenset({"example.org/payload:1"})))
    cluster.label_all()
    cluster.api.create(CC_RUNTIMES, objects.cc_runtime())

    def reasons() -> list[str]:
        pods = cluster.api.all(kube.pods(cc_objects.NAMESPACE), {"name": cc_daemonsets.INSTALL})
        statuses = [status for pod in pods for status in pod["status"].get("containerStatuses", [])]
        return [status["state"]["waiting"]["reason"] for status in statuses]

    until(lambda: reasons() == ["ErrImagePull"] * 3, "each pod says why it waits")
    assert not cluster.installed()
    assert daemon_set(cluster, cc_daemonsets.INSTALL)["status"]["numberReady"] == 0
