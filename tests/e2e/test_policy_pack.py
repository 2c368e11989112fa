"""`pulumi preview --policy-pack policy`, for real: shipped stacks pass, broken copies are stopped by the rule."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client

from policy.rules.catalogue import RULES
from policy.rules.model import Level
from sandbox import places, plane
from sandbox.api import client_for
from sandbox.engine import Engine
from sandbox.report import Silent
from tests.sandboxes import sandbox_in

pytestmark = pytest.mark.real


TRUSTED = "trusted-alias"
"""The production stack wants two clusters. A preview only asks them, so here both are one, by two contexts."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Mapping[str, Path]) -> Iterator[plane.Sandbox]:
    with sandbox_in(tmp_path_factory.mktemp("pack") / "state", "pack", tools, Silent()) as up:
        known = yaml.safe_load(up.kubeconfig.read_text())
        known["contexts"] += [{**one, "name": TRUSTED} for one in known["contexts"] if one["name"] == up.context]
        up.kubeconfig.write_text(yaml.safe_dump(known))
        with client_for(up.kubeconfig) as api:
            core: Any = client.CoreV1Api(api)
            for node in NODES:
                core.create_node({"metadata": {"name": node}})
        yield up


NODES = ("kunpeng-tee-01", "kunpeng-tee-02")
"""Those of the shipped stack file: a label is previewed on a node that is there."""


@pytest.fixture(scope="module")
def keys(sandbox: plane.Sandbox, tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """What `ringfence fence keys` adds to the stack file, as text to be written into copies of it."""
    folder = tmp_path_factory.mktemp("keys")
    copy_of(folder, sandbox, "prod", {}, "")
    engine = Engine(sandbox, tools, folder, Silent())
    engine.ensure_stack("prod")
    ringfence = Path(sys.executable).parent / "ringfence"
    words = ["fence", "keys", "--stack", "prod", "--host", "kbs.example.com", "--broker", "Simple"]
    words += ["--project", str(folder), "--ca-out", str(folder / "ca.pem")]
    subprocess.run([str(ringfence), *words], env=engine.environment(), check=True, capture_output=True)
    made = yaml.safe_load((folder / "Pulumi.prod.yaml").read_text())
    shipped = yaml.safe_load((places.CHECKOUT / "Pulumi.prod.yaml").read_text())["config"]
    added = {key: value for key, value in made["config"].items() if key not in shipped}
    lines = yaml.safe_dump(added).splitlines(keepends=True)
    return f"encryptionsalt: {made['encryptionsalt']}\nconfig:\n" + "".join(f"  {line}" for line in lines)


def copy_of(folder: Path, sandbox: plane.Sandbox, stack: str, changes: Mapping[str, str], keys: str) -> None:
    """A copy of the project with a stack that names the sandbox; changes: in its files, old text → new."""
    for name in ("Pulumi.yaml", f"Pulumi.{stack}.yaml", "__main__.py"):
        shutil.copyfile(places.CHECKOUT / name, folder / name)
    shutil.copytree(places.CHECKOUT / "components", folder / "components", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".venv", "policy", "settings", "topology", "servers"):
        (folder / name).symlink_to(places.CHECKOUT / name)
    file = folder / f"Pulumi.{stack}.yaml"
    text = file.read_text().replace("npu-prod-a", sandbox.context).replace("ringfence-dev", sandbox.context)
    text = text.replace("trust-prod-a", TRUSTED)
    file.write_text(text.replace("config:\n", keys, 1) if stack == "prod" and keys else text)
    for old, new in changes.items():
        inside = [file, folder / "__main__.py", *(folder / "components").glob("*.py")]
        touched = [path for path in inside if old in path.read_text()]
        assert touched, f"{old!r} is nowhere: the copy would not be broken"
        for path in touched:
            path.write_text(path.read_text().replace(old, new))


def preview(
    sandbox: plane.Sandbox,
    tools: Mapping[str, Path],
    folder: Path,
    stack: str,
    keys: str,
    changes: Mapping[str, str] | None = None,
    config: Mapping[str, object] | None = None,
) -> tuple[int, dict[str, set[str]], str]:
    """(exit status, mandatory policies → the resources that break them, what was said) of a preview with the pack."""
    copy_of(folder, sandbox, stack, changes or {}, keys)
    words = ["--policy-pack", str(folder / "policy")]
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
        words += ["--policy-pack-config", str(folder / "config.json")]
    done = Engine(sandbox, tools, folder, Silent()).preview(stack, *words, check=False)
    said = done.stdout + done.stderr
    broken: dict[str, set[str]] = {}
    for rule, resource in re.findall(r"\[mandatory\]\s+([a-z0-9-]+)\s+\(\S+: ([^)]+)\)", said):
        broken.setdefault(rule, set()).add(resource)
    return done.returncode, broken, said


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_the_shipped_stacks_pass(
    sandbox: plane.Sandbox, tools: Mapping[str, Path], keys: str, tmp_path: Path, stack: str
) -> None:
    status, broken, said = preview(sandbox, tools, tmp_path, stack, keys)
    assert (status, broken) == (0, {}), said
    assert "ringfence@" in said, "the pack has run"


OWN = {
    "image-digest": {"npu-dra-plugin@sha256:3f8a1c0de1b7d94c5b6a20f7e98d4c31a5b2e6f7089c1d2e3f4a5b6c7d8e9f01": "p:1"},
    "protected": {
        'version: "1.36"\n  ringfence:ring:': 'version: "1.36"\n    protectNamespaces: false\n  ringfence:ring:'
    },
    "host-paths": {"healthPort: 51515": "healthPort: 51515\n      hostPaths: [/etc]"},
    "no-plain-secrets": {
        "maxUnavailable: 10%": "maxUnavailable: 10%\n      env: {REGISTRY_PASSWORD: opens-nothing-at-all}"
    },
    "replaced-not-updated": {", delete_before_replace=True": ""},
    "admission-on-v1": {'API_VERSIONS = ("v1", "v1beta1", "v1beta2")': 'API_VERSIONS = ("v1beta1",)'},
    "claim-status-rights": {"    if granular_status:": "    if not granular_status:"},
    "template-after-class": {"after=[classes]": "after=[]"},
    "kbs-replicas-replaced": {
        'replace_on_changes=["spec.KbsDeploymentSpec.replicas"],\n                delete_before_replace=True,': ""
    },
    "cc-runtime-replaced": {'replace_on_changes=["spec"],\n                delete_before_replace=True,': ""},
    "coco-order": {"after=[runtime.ready, *broker]": "after=broker"},
    "coco-namespace-labels": {"labels=LABELS | POD_SECURITY": "labels=LABELS"},
    "explicit-provider": {
        "  pulumi:disable-default-providers: [kubernetes]\n": "",
        'providers=[provider("cluster", stack.cluster)]': "",
    },
}

AT = {
    "image-digest": "npu-dra-driver-daemon-set",
    "protected": "npu-dra-driver-namespace",
    "host-paths": "npu-dra-driver-daemon-set",
    "no-plain-secrets": "npu-dra-driver-daemon-set",
    "replaced-not-updated": "claim-templates-training/npu-box16-8",
    "admission-on-v1": "npu-dra-driver-slice-policy",
    "claim-status-rights": "npu-dra-driver-cluster-role",
    "template-after-class": "claim-templates-training/npu-box16-8",
    "kbs-replicas-replaced": "kbs-custom-resource",
    "cc-runtime-replaced": "cc-runtime-cc-runtime",
    "coco-order": "inference/scorer-deployment",
    "coco-namespace-labels": "trustee-operator-namespace",
    "explicit-provider": "cc-operator-deployment",
}
"""The resource that is broken, or one of them."""


NOWHERE = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:9"}}],
    "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
    "users": [{"name": "none", "user": {}}],
    "current-context": "none",
}
"""A cluster that is not there: a real one would refuse some of these claims itself, which ends the preview."""

BROKEN = (
    f"""
nowhere = {json.dumps(NOWHERE)!r}
"""
    + """
import json
clusters = []
for rule, objects in json.loads((Path(__file__).parent / "broken.json").read_text()).items():
    # A provider for as many as refer to nothing of the same name: each is a process.
    names, made = {one["metadata"]["name"] for one in objects if one["kind"] == "ConfigMap"}, {}
    cluster, taken = next((each for each in clusters if not names & each[1]), (None, None))
    if cluster is None:
        cluster, taken = kubernetes.Provider(f"nowhere-{len(clusters)}", kubeconfig=nowhere), set()
        clusters.append((cluster, taken))
    taken |= names
    while objects:
        # Those that others depend on are made first.
        at = next(i for i, one in enumerate(objects) if set(one.get("pulumi", {}).get("depends_on", ())) <= set(made))
        one = objects.pop(at)
        said = one.pop("pulumi", {})
        made[one["metadata"]["name"]] = pulumi.CustomResource(
            "kubernetes:%s%s:%s" % ("" if "/" in one["apiVersion"] else "core/", one["apiVersion"], one["kind"]),
            f"{rule}-{len(made)}", one,
            pulumi.ResourceOptions(
                provider=cluster, protect=said.get("protect"),
                delete_before_replace=said.get("delete_before_replace", False),
                depends_on=[made[name] for name in said.get("depends_on", ())]))
"""
)
"""Objects that are in no production stack, made by its program."""

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: instead}}
spec: {{devices: {}}}
"""
_TWELVE = ", ".join(f"{{name: n-{i}, exactly: {{deviceClassName: npu.huawei.com, count: 1}}}}" for i in range(12))
INSTEAD = {
    # The rules' own examples are for other servers and versions than those of the production stack.
    "class-exists": CLAIM.format("{requests: [{name: npu, exactly: {deviceClassName: 910b5.npu.huawei.com}}]}"),
    "dropped-field": CLAIM.format(
        "{requests: [{name: npu, exactly: {deviceClassName: npu.huawei.com, derivedAttributes: [{name: a/b}]}}]}"
    ),
    "worst-case": CLAIM.format(
        f"{{requests: [{_TWELVE}], constraints: [{{matchAttribute: npu.huawei.com/topoHccsRingID}}]}}"
    ),
}
EXAMPLES = {
    rule.id: INSTEAD.get(rule.id, rule.violates.text)
    for rule in RULES
    if rule.prod is Level.ERROR and rule.id not in OWN
}


def test_every_example_that_does_not_comply_is_stopped_by_its_rule_where_it_is(
    sandbox: plane.Sandbox, tools: Mapping[str, Path], keys: str, tmp_path: Path
) -> None:
    """All in one copy of the production stack; none of them hides another."""
    objects = {rule: list(yaml.safe_load_all(text)) for rule, text in EXAMPLES.items()}
    (tmp_path / "broken.json").write_text(json.dumps(objects))
    changes = {
        "for name, value in exports.items():": f"import pulumi_kubernetes as kubernetes\n{BROKEN}\n"
        "for name, value in exports.items():"
    }
    status, broken, said = preview(sandbox, tools, tmp_path, "prod", keys, changes)
    assert status != 0
    silent = {
        rule for rule in EXAMPLES if not any(resource.startswith(f"{rule}-") for resource in broken.get(rule, ()))
    }
    assert not silent, said


def test_a_broken_copy_of_the_production_stack_is_stopped_by_each_rule_and_no_other(
    sandbox: plane.Sandbox, tools: Mapping[str, Path], keys: str, tmp_path: Path
) -> None:
    """All of it in one copy: what one breaks, no other makes good."""
    changes = {old: new for one in OWN.values() for old, new in one.items()}
    status, broken, said = preview(sandbox, tools, tmp_path, "prod", keys, changes)
    assert status != 0
    assert set(broken) == set(OWN), said
    assert [rule for rule in OWN if AT[rule] not in broken[rule]] == [], said
    assert "opens-nothing-at-all" not in said, "a secret is told by its place"


def test_a_level_can_be_set_and_an_exception_listed(
    sandbox: plane.Sandbox, tools: Mapping[str, Path], keys: str, tmp_path: Path
) -> None:
    changes = OWN["image-digest"] | OWN["host-paths"]
    config = {"image-digest": "advisory", "declared": {"hostPaths": ["/etc"]}}
    status, broken, said = preview(sandbox, tools, tmp_path, "prod", keys, changes, config)
    assert (status, broken) == (0, {}), said
    assert "image-digest" in said
