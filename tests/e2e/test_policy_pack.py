"""`pulumi preview --policy-pack policy`, for real: shipped stacks pass, broken copies are stopped by the rule."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from kubernetes import client

from sandbox import places, plane
from sandbox.api import client_for
from sandbox.engine import Engine
from sandbox.report import Silent

pytestmark = pytest.mark.real


TRUSTED = "trusted-alias"
"""The production stack wants two clusters. A preview only asks them, so here both are one, by two contexts."""


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory, tools: Mapping[str, Path]) -> Iterator[plane.Sandbox]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(places.STATE_VARIABLE, str(tmp_path_factory.mktemp("pack") / "state"))
        up = plane.up("pack", tools, Silent())
        known = yaml.safe_load(up.kubeconfig.read_text())
        known["contexts"] += [{**one, "name": TRUSTED} for one in known["contexts"] if one["name"] == up.context]
        up.kubeconfig.write_text(yaml.safe_dump(known))
        with client_for(up.kubeconfig) as api:
            for node in NODES:
                client.CoreV1Api(api).create_node({"metadata": {"name": node}})
        yield up
        plane.down("pack", Silent())


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
) -> tuple[int, set[str], str]:
    """(exit status, ids of mandatory policies that were broken, what was said) of a preview with the pack."""
    copy_of(folder, sandbox, stack, changes or {}, keys)
    words = ["--policy-pack", str(folder / "policy")]
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
        words += ["--policy-pack-config", str(folder / "config.json")]
    done = Engine(sandbox, tools, folder, Silent()).preview(stack, *words, check=False)
    said = done.stdout + done.stderr
    return done.returncode, set(re.findall(r"\[mandatory\]\s+([a-z0-9-]+)", said)), said


@pytest.mark.parametrize("stack", ["dev", "prod"])
def test_the_shipped_stacks_pass(
    sandbox: plane.Sandbox, tools: Mapping[str, Path], keys: str, tmp_path: Path, stack: str
) -> None:
    status, broken, said = preview(sandbox, tools, tmp_path, stack, keys)
    Path("/tmp/said-" + stack).write_text(said)
    assert (status, broken) == (0, set()), said
    assert "ringfence@" in said, "the pack has run"


NOWHERE = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:9"}}],
    "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
    "users": [{"name": "none", "user": {}}],
    "current-context": "none",
}
"""A cluster that is not there: a real one would refuse some of these claims itself, which ends the preview."""

RAW = (
    f"""
cluster = kubernetes.Provider("nowhere", kubeconfig={json.dumps(NOWHERE)!r})
"""
    + """
def raw(name, kind, metadata=None, **spec):
    kubernetes.apiextensions.CustomResource(
        name, api_version="resource.k8s.io/v1", kind=kind, metadata={"name": name, **(metadata or {})}, spec=spec,
        opts=pulumi.ResourceOptions(provider=cluster, delete_before_replace=True))

def one(name="npu", **more):
    return {"name": name, "exactly": {"deviceClassName": "910b4.npu.huawei.com", **more}}

def claim(name, requests, **more):
    raw(name, "ResourceClaim", devices={"requests": requests, **more})

ring = "npu.huawei.com/topoHccsRingID"
cel = lambda text: {"selectors": [{"cel": {"expression": text}}]}
"""
)

CLAIMS = {
    "claim-shape": 'claim("shape", [one(count=2)], constraints=[{"matchAttribute": "topoHccsRingID"}])',
    "claim-limits": 'claim("limits", [one(f"npu-{i}") for i in range(33)])',
    "claim-devices": 'claim("devices", [one(count=33)])',
    "request-names": 'claim("names", [one("a"), one("b")], constraints=[{"matchAttribute": ring, "requests": ["a,"]}])',
    "pci-bus-id": 'claim("bus", [one(**cel("\'0000:81:00:0\' == device.driver"))])',
    "constraint-attribute": 'claim("pix", [one(count=2)], constraints=[{"matchAttribute": "npu.huawei.com/pix"}])',
    "cel-compiles": 'claim("compiles", [one(**cel("device.drivr == 1"))])',
    "cel-attribute-form": (
        'claim("form", [one(**cel("device.attributes[\'npu.huawei.com/chipName\'].?x.orValue(true)"))])'
    ),
    "cel-driver-guard": 'raw("any", "DeviceClass", **cel("device.attributes[\'npu.huawei.com\'].chipName == \'x\'"))',
    "cel-existence": 'claim("sio", [one(**cel("device.attributes[\'npu.huawei.com\'].topoSioID == 0"))])',
    "matches-a-device": (
        'claim("none", [one(**cel("device.attributes[\'npu.huawei.com\'].?physicalId.orValue(0) == 99"))])'
    ),
    "class-exists": 'raw("typo", "ResourceClaim", devices={"requests": [{"name": "r", "exactly": '
    '{"deviceClassName": "910b5.npu.huawei.com"}}]})',
    "satisfiable": 'claim("nine", [one(count=9)], constraints=[{"matchAttribute": ring}])',
    "keeps-promise": (
        'raw("lies", "ResourceClaim", {"annotations": {"ringfence.dev/promise": "one ring"}}, '
        'devices={"requests": [one(count=4)]})'
    ),
    "taint-rule-selector": 'raw("all", "DeviceTaintRule", deviceSelector={}, taint={"key": "x", "effect": "None"})',
    "dropped-field": 'claim("derived", [one(derivedAttributes=[{"name": "a/b"}])])',
    "admin-access": (
        'kubernetes.core.v1.Namespace("plain", metadata={"name": "plain"}, '
        "opts=pulumi.ResourceOptions(provider=cluster, "
        'protect=True)); raw("admin", "ResourceClaim", {"namespace": "plain"}, devices={"requests": '
        "[one(adminAccess=True)]})"
    ),
    # Raw claims depend on no class, and 33 requests cost the scheduler what they cost.
    "template-after-class": "",
    "worst-case": "",
}


def test_claims_that_would_not_work_are_stopped_each_by_its_rule(
    sandbox: plane.Sandbox, tools: Mapping[str, Path], tmp_path: Path
) -> None:
    """All in one copy of the production stack; none of them hides another."""
    text = "\n".join([RAW, *CLAIMS.values()])
    changes = {'pulumi.export("deviceClasses"': text + '\npulumi.export("deviceClasses"'}
    status, broken, said = preview(sandbox, tools, tmp_path, "prod", changes)
    assert status != 0
    assert broken == set(CLAIMS), said


SINGLE = {
    "image-digest": {"npu-dra-plugin@sha256:3f8a1c0de1b7d94c5b6a20f7e98d4c31a5b2e6f7089c1d2e3f4a5b6c7d8e9f01": "p:1"},
    "protected": {'version: "1.36"': 'version: "1.36"\n    protectNamespaces: false'},
    "host-paths": {"healthPort: 51515": "healthPort: 51515\n      hostPaths: [/etc]"},
    "no-plain-secrets": {
        "healthPort: 51515": "healthPort: 51515\n      env: {REGISTRY_PASSWORD: opens-nothing-at-all}"
    },
    "replaced-not-updated": {", delete_before_replace=True": ""},
    "admission-on-v1": {'API_VERSIONS = ("v1", "v1beta1", "v1beta2")': 'API_VERSIONS = ("v1beta1",)'},
    "claim-status-rights": {"    if granular_status:": "    if not granular_status:"},
    "template-after-class": {"after=[classes]": "after=[]"},
    "explicit-provider": {
        "  pulumi:disable-default-providers: [kubernetes]\n": "",
        "pulumi.ResourceOptions(providers=[cluster])": "pulumi.ResourceOptions()",
    },
}


@pytest.mark.parametrize("rule", SINGLE)
def test_a_broken_copy_of_the_production_stack_is_stopped_by_its_rule_and_no_other(
    sandbox: plane.Sandbox, tools: Mapping[str, Path], tmp_path: Path, rule: str
) -> None:
    status, broken, said = preview(sandbox, tools, tmp_path, "prod", SINGLE[rule])
    assert status != 0
    assert broken == {rule}, said
    assert "opens-nothing-at-all" not in said, "a secret is told by its place"


def test_a_level_can_be_set_and_an_exception_listed(
    sandbox: plane.Sandbox, tools: Mapping[str, Path], tmp_path: Path
) -> None:
    changes = SINGLE["image-digest"] | SINGLE["host-paths"]
    config = {"image-digest": "advisory", "declared": {"hostPaths": ["/etc"]}}
    status, broken, said = preview(sandbox, tools, tmp_path, "prod", changes, config)
    assert (status, broken) == (0, set()), said
    assert "image-digest" in said
