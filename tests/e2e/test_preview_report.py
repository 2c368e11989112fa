"""Reports on previews that the real engine makes here and now; those that the pure tests read are recorded here too."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from policy.preview.evidence import Evidence
from policy.preview.reading import read_preview
from policy.preview.report import render, section
from sandbox import places
from sandbox.engine import Engine
from tests.e2e.conftest import REPORT, Deployed
from tests.e2e.test_stack import changed
from tests.policy.preview.recording import GOLDEN, KINDS, RECORDED, trimmed
from tests.policy.preview.reports import UPDATE

pytestmark = pytest.mark.real


class Streaming(Engine):
    """The engine, its previews as events."""

    def environment(self) -> dict[str, str]:
        return super().environment() | {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true"}


def streaming(engine: Engine) -> Streaming:
    return Streaming(engine.sandbox, engine.tools, engine.project, REPORT)


def report(stack: str, text: str) -> str:
    return render([section(stack, read_preview(text), Evidence(), lambda server: server.name)])


def golden(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.md"
    if os.environ.get(UPDATE):
        path.write_text(text)
    assert text == path.read_text(), f"write {name}.md anew with {UPDATE}=1 and read the difference"


def test_a_changed_namespace_profile_and_driver_image_are_told(deployed: Deployed, tmp_path: Path) -> None:
    engine = changed(deployed, tmp_path, "namespaces: [jobs]", "namespaces: [jobs, training]")
    file = tmp_path / "Pulumi.dev.yaml"
    text = file.read_text().replace("profile: openfuyao", "profile: openfuyao-standard-numa")
    file.write_text(text.replace("plugin:26.6.0", "plugin:26.7.0").replace("servers: [box16, 800i-a2, ", "servers: ["))
    policies = ["--policy-pack", str(places.CHECKOUT / "policy")]
    golden("dev", report("dev", streaming(engine).preview("dev", "--json", *policies).stdout))


@pytest.fixture(scope="module")
def kinds(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """The stack of tests/policy/preview/kinds, deployed as it is before."""
    folder = tmp_path_factory.mktemp("kinds")
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copyfile(KINDS / name, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    engine = Engine(deployed.up.sandbox, deployed.up.tools, folder, REPORT)
    configure(engine)
    engine.up("kinds")
    return engine


def configure(engine: Engine, **values: bool) -> None:
    chosen = {"after": False, "broken": False} | values
    lines = [f"  kinds:{name}: '{str(value).lower()}'" for name, value in chosen.items()]
    context = f"  kinds:context: {engine.sandbox.context}"
    (engine.project / "Pulumi.kinds.yaml").write_text("\n".join(["config:", *lines, context, ""]))


def recorded(name: str, text: str) -> str:
    if os.environ.get(UPDATE):
        (RECORDED / name).write_text(trimmed(text))
    return (RECORDED / name).read_text()


def test_one_change_of_each_kind_is_told_as_in_the_recording(kinds: Engine) -> None:
    """So that the recording, and with it the docs, stays what pulumi really prints. In both of its forms."""
    configure(kinds, after=True)
    for engine, name in ((kinds, "kinds.json"), (streaming(kinds), "kinds.events.json")):
        text = engine.preview("kinds", "--json").stdout
        assert "hunter2" in text, "a preview has secrets in it"
        assert report("s", text) == report("s", recorded(name, text))


def steady(text: str) -> str:
    """Without what the API server makes up anew in each preview: the uid of an object that is not there yet."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "…", text)


def test_a_broken_rule_is_told_and_ends_the_preview(kinds: Engine) -> None:
    configure(kinds, broken=True)
    policies = ["--policy-pack", str(places.CHECKOUT / "policy")]
    done = streaming(kinds).preview("kinds", "--json", *policies, check=False)
    assert done.returncode != 0
    assert steady(report("s", done.stdout)) == steady(report("s", recorded("broken.events.json", done.stdout)))
