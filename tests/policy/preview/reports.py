"""The report on a preview, as tests want it, and parts of objects that several of them change."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner, Result

from cli.main import app
from policy.preview.evidence import Evidence
from policy.preview.reading import read_preview
from policy.preview.report import render, section

UPDATE = "RINGFENCE_UPDATE_GOLDEN"
SIGNATURE = "4dabf18193072939515e22adb298388d"
CIPHERTEXT = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}
T = "ResourceClaimTemplate"
POD: dict[str, Any] = {"template": {"spec": {"containers": [{"name": "c", "image": "r/i:1"}]}}}
ROLLED: dict[str, Any] = {"template": {"spec": {"containers": [{"name": "c", "image": "r/i:2"}]}}}


def report(text: str, **more: Any) -> str:
    return render([section("s", read_preview(text), Evidence(**more), lambda server: f"the picture of {server.name}")])


def run(*words: str, input: str | None = None) -> Result:
    return CliRunner().invoke(app, ["preview-report", *words], input=input)
