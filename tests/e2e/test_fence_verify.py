"""`ringfence fence verify` on the production stack: a healthy one, and each fault told by what was done to it.

The stack is deployed once; each test breaks it, looks, and puts it back. The operators are stand-ins.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from components.trustee.keys import new_authority
from components.verify.finding import Finding
from components.verify.verification import Asked, verify
from sandbox.ports import LOOPBACK
from sandbox.standin.behaviour import KbsBehaviour
from sandbox.standin.kube import Kube
from settings.load import read
from tests.e2e.conftest import Pair
from tests.e2e.production import HOST, SECRET, STACK, Production, prepare

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

CC, TRUSTEE = "confidential-containers-system", "trustee-operator-system"
NODE = "/api/v1/nodes/confidential-0"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
CC_RUNTIMES = "/apis/confidentialcontainers.org/v1beta1/ccruntimes"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AS_USUAL = KbsBehaviour(answers=True)
REFRESH = "Run pulumi up --refresh"


def deployments(namespace: str) -> str:
    return f"/apis/apps/v1/namespaces/{namespace}/deployments"


class Live:
    """The stack, both API servers, and what is said of it."""

    def __init__(self, production: Production) -> None:
        self.production = production
        self.workload = Kube(production.pair.up.workload.kubeconfig)
        self.trusted = Kube(production.pair.up.trusted.kubeconfig)

    def findings(self, now: datetime | None = None, ca: str | None = None) -> list[Finding]:
        stack = read(self.production.file)
        here = {"kubeconfig": str(self.production.engine.kubeconfig)}
        assert stack.fence is not None
        assert stack.fence.trusted_cluster is not None
        fence = stack.fence.model_copy(update={"trusted_cluster": stack.fence.trusted_cluster.model_copy(update=here)})
        ca = ca or (self.production.folder / "kbs-ca.pem").read_text()
        door = (LOOPBACK, self.production.pair.standin.kbs_port or 1)
        groups = verify(fence, stack.cluster.model_copy(update=here), Asked(now or datetime.now(UTC), ca, door))
        return [finding for group in groups for finding in group.findings]

    def failed(self, now: datetime | None = None, ca: str | None = None) -> list[Finding]:
        return [one for one in self.findings(now, ca) if one.state == "failed"]

    def soon(self, wanted: Callable[[list[Finding]], bool]) -> list[Finding]:
        """What failed, once it is as wanted: the cluster takes a moment."""
        deadline = time.monotonic() + 60
        while not wanted(found := self.failed()):
            assert time.monotonic() < deadline, found
            time.sleep(0.5)
        return found

    def healthy(self) -> None:
        self.soon(lambda found: not found)

    @contextmanager
    def merged(self, api: Kube, path: str, change: Any, back: Any) -> Iterator[None]:
        api.merge(path, change)
        try:
            yield
        finally:
            api.merge(path, back)
            self.healthy()

    @contextmanager
    def without(self, api: Kube, collection: str, name: str) -> Iterator[Mapping[str, Any]]:
        """An object deleted, and made again."""
        found = api.get(collection, name)
        assert found is not None
        again = copy.deepcopy(found)
        for key in ("resourceVersion", "uid", "creationTimestamp", "managedFields"):
            again["metadata"].pop(key, None)
        api.delete(collection, name)
        try:
            yield again
        finally:
            if api.get(collection, name) is not None:
                api.delete(collection, name)
            api.create(collection, again)
            self.healthy()


@pytest.fixture(scope="module")
def live(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    pair.standin.behave(kbs=AS_USUAL)
    made = Live(prepare(pair, tmp_path_factory.mktemp("production")))
    # The shipped file is for an older cluster than this one, which is a finding.
    text = made.production.file.read_text()
    made.production.file.write_text(text.replace("version: '1.36'", "version: '1.37'"))
    made.production.up()
    try:
        yield made
    finally:
        made.workload.close()
        made.trusted.close()


def command(live: Live, *words: str) -> subprocess.CompletedProcess[str]:
    ringfence = Path(sys.executable).parent / "ringfence"
    where = ["--stack", STACK, "--project", str(live.production.folder)]
    where += ["--kbs-at", f"{LOOPBACK}:{live.production.pair.standin.kbs_port}"]
    environment = live.production.engine.environment()
    return subprocess.run(
        [str(ringfence), "fence", "verify", *where, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def told(found: list[Finding], check: str, what: str, remedy: str) -> None:
    """Exactly one finding of the check says so, with the remedy."""
    mine = [one for one in found if one.check == check and what in one.what and remedy in one.remedy]
    assert len(mine) == 1, "\n".join(str(one) for one in found)


def test_a_healthy_stack_is_ok_and_what_is_not_seen_from_here_is_said_to_be_unknown(live: Live) -> None:
    ca = str(live.production.folder / "kbs-ca.pem")
    done = command(live, "--ca", ca)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "failed" not in done.stdout.replace("0 failed", "")
    found = json.loads(command(live, "--ca", ca, "--json").stdout)
    assert found["failed"] is False
    unknown = [one["check"] for one in found["findings"] if one["state"] == "unknown"]
    assert unknown == ["cluster: identity", "hosts", "cluster: identity", "address", "attestation"]
    checks = {one["check"] for one in found["findings"] if one["state"] == "ok"}
    assert {"cc-operator: CRD", "confidential nodes", "key broker: reference-values", "TLS"} <= checks


def test_no_secret_is_shown(live: Live) -> None:
    assert SECRET not in command(live, "--json").stdout


def test_without_the_ca_it_says_what_is_then_unknown(live: Live) -> None:
    done = command(live)
    assert done.returncode == 0
    assert "whether guests trust its issuer is unknown" in done.stdout


def test_a_node_without_its_label(live: Live) -> None:
    worker = "node.kubernetes.io/worker"

    def labelled(value: str | None) -> Any:
        return {"metadata": {"labels": {worker: value}}}

    with live.merged(live.workload, NODE, labelled(None), labelled("")):
        told(live.failed(), "confidential nodes", "confidential-0: it does not carry the label", REFRESH)
        assert command(live).returncode == 1


def test_a_runtime_class_that_is_gone(live: Live) -> None:
    with live.without(live.workload, RUNTIME_CLASSES, "kata-qemu-virtcca"):
        found = live.failed()
        told(found, "confidential nodes", "has no RuntimeClass kata-qemu-virtcca", "cc-operator-daemon-install")
        assert len(found) == 1


def test_an_operator_that_is_scaled_to_nothing(live: Live) -> None:
    path = f"{deployments(CC)}/cc-operator-controller-manager"
    with live.merged(live.workload, path, {"spec": {"replicas": 0}}, {"spec": {"replicas": 1}}):
        found = live.soon(bool)
        told(found, "cc-operator: Deployment", "is scaled to 0", REFRESH)
        assert len(found) == 1


def test_images_of_the_key_broker_that_nobody_declared(live: Live) -> None:
    collection, name = deployments(TRUSTEE), "trustee-operator-controller-manager"
    before = live.trusted.get(collection, name)
    assert before is not None
    containers = copy.deepcopy(before["spec"]["template"]["spec"]["containers"])
    for variable in containers[0]["env"]:
        if variable["name"] == "KBS_IMAGE_NAME":
            variable["value"] = "registry.example/other:latest"

    def change(wanted: Any) -> Any:
        return {"spec": {"template": {"spec": {"containers": wanted}}}}

    original = before["spec"]["template"]["spec"]["containers"]
    with live.merged(live.trusted, f"{collection}/{name}", change(containers), change(original)):
        found = live.soon(lambda found: any(one.check == "key broker: Deployment" for one in found))
        told(found, "trustee-operator: images", "KBS_IMAGE_NAME is registry.example/other:latest", REFRESH)
        told(found, "key broker: Deployment", "container kbs has image registry.example/other:latest", REFRESH)


def test_a_crd_of_another_version(live: Live) -> None:
    name = "kbsconfigs.confidentialcontainers.org"
    before = live.trusted.get(CRDS, name)
    assert before is not None
    other = copy.deepcopy(before["spec"]["versions"])
    tdx = other[0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["tdxConfigSpec"]
    del tdx["properties"]

    def change(versions: Any) -> Any:
        return {"spec": {"versions": versions}}

    with live.merged(live.trusted, f"{CRDS}/{name}", change(other), change(before["spec"]["versions"])):
        what = "is not that of 0.5.0: it lacks v1alpha1: spec.tdxConfigSpec.kbsTdxConfigMapName"
        told(live.failed(), "trustee-operator: CRD", what, REFRESH)


def test_a_secret_of_a_tenant_that_is_gone_and_one_that_is_empty(live: Live) -> None:
    collection = f"/api/v1/namespaces/{TRUSTEE}/secrets"
    with live.without(live.trusted, collection, "model") as before:
        found = live.failed()
        told(found, "KbsConfig: what it names", "Secret model is not in", REFRESH)
        told(found, "key broker: resources", "kbs:///default/model/… gives nothing", REFRESH)
        assert len(found) == 2
        live.trusted.create(collection, {**before, "data": {"key": ""}})
        told(live.failed(), "key broker: resources", "kbs:///default/model/key is empty", REFRESH)


def test_a_policy_with_another_content_under_the_same_name(live: Live) -> None:
    config = live.trusted.get(f"/apis/confidentialcontainers.org/v1alpha1/namespaces/{TRUSTEE}/kbsconfigs", "kbsconfig")
    assert config is not None
    name = config["spec"]["kbsResourcePolicyConfigMapName"]
    collection = f"/api/v1/namespaces/{TRUSTEE}/configmaps"
    with live.without(live.trusted, collection, name) as before:
        live.trusted.create(collection, {**before, "data": {"policy.rego": "package policy\ndefault allow = true\n"}})
        found = live.failed()
        told(found, "key broker: resource-policy", f"{name} does not hold what is declared", "rollout restart")
        assert len(found) == 1


def test_a_cc_runtime_changed_by_hand_and_daemon_sets_that_do_not_follow(live: Live) -> None:
    path = f"{CC_RUNTIMES}/ccruntime-sample"
    before = live.production.cc_runtime()["spec"]["config"]["payloadImage"]

    def image(name: str) -> Any:
        return {"spec": {"config": {"payloadImage": name}}}

    with live.merged(live.workload, path, image("registry.example/other:1"), image(before)):
        found = live.failed()
        told(found, "CcRuntime", f"config.payloadImage is registry.example/other:1, not {before}", "kubectl edit")
        told(found, "installers", "DaemonSet cc-operator-daemon-install has", "replace the CcRuntime")


def test_a_daemon_set_with_another_image_than_the_cc_runtime(live: Live) -> None:
    path = f"/apis/apps/v1/namespaces/{CC}/daemonsets"
    before = live.workload.get(path, "cc-operator-daemon-install")
    assert before is not None
    containers = before["spec"]["template"]["spec"]["containers"]

    def change(wanted: Any) -> Any:
        return {"spec": {"template": {"spec": {"containers": wanted}}}}

    other = [{**containers[0], "image": "registry.example/older:1"}]
    with live.merged(live.workload, f"{path}/cc-operator-daemon-install", change(other), change(containers)):
        found = live.failed()
        told(found, "installers", "cc-operator-daemon-install has registry.example/older:1", "replace the CcRuntime")
        assert len(found) == 1


def test_a_second_cc_runtime(live: Live) -> None:
    spec = copy.deepcopy(live.production.cc_runtime()["spec"])
    # It selects nothing, so that its deletion takes nothing away.
    spec["ccNodeSelector"] = {"matchLabels": {"nobody": "has-it"}}
    metadata = {"name": "second"}
    body = {"apiVersion": "confidentialcontainers.org/v1beta1", "kind": "CcRuntime", "metadata": metadata, "spec": spec}
    live.workload.create(CC_RUNTIMES, body)
    try:
        found = live.failed()
        told(found, "CcRuntime", "there is second besides ccruntime-sample", "kubectl delete ccruntime second")
        assert len(found) == 1
    finally:
        live.workload.delete(CC_RUNTIMES, "second")
        live.healthy()


def test_a_workload_with_another_measurement(live: Live) -> None:
    path = f"{deployments('inference')}/scorer"
    before = live.production.deployment("workload", "inference", "scorer").metadata.annotations

    def annotated(text: str) -> Any:
        return {"metadata": {"annotations": {"ringfence.dev/rim-inputs": text}}}

    with live.merged(live.workload, path, annotated("{}"), annotated(before["ringfence.dev/rim-inputs"])):
        told(live.failed(), "workload inference/scorer", "what is measured of it is not what is declared", REFRESH)


def test_a_key_broker_that_does_not_start(live: Live) -> None:
    """Its Deployment is Available all the while: one pod, of which one may be missing."""
    live.production.pair.standin.behave(kbs=KbsBehaviour(start="hanging", answers=True))
    try:
        found = live.soon(lambda found: any(one.check == "key broker: Deployment" for one in found))
        told(found, "key broker: Deployment", "has 0 of 1 pods up to date and ready", "describe pods")
    finally:
        live.production.pair.standin.behave(kbs=AS_USUAL)
        live.healthy()


def test_a_certificate_of_an_authority_that_guests_do_not_have(live: Live) -> None:
    found = live.failed(ca=new_authority(datetime.now(UTC)).certificate)
    told(found, "TLS", f"a guest refuses https://{HOST}:8080", "ringfence fence keys --rotate")
    assert len(found) == 1


def test_a_reference_value_that_ends_soon_or_has_ended(live: Live) -> None:
    ending = live.failed(now=datetime(2035, 12, 21, tzinfo=UTC))
    told(ending, "reference values", "virtcca.realm.rim expires in 10 days", "Write a later expiration")
    ended = live.failed(now=datetime(2036, 1, 1, tzinfo=UTC))
    told(ended, "reference values", "virtcca.realm.rim expired at 2035-12-31T00:00:00Z", "Write a later expiration")
