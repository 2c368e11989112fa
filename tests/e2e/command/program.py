"""A program with builds, or hosts to look at, or both. What it deploys is in its configuration."""

from __future__ import annotations

import json

import pulumi

from components.coco_artifacts import CocoArtifacts
from components.host_preflight import HostPreflight
from components.hosts_from_settings import artifacts_args, preflight_args
from settings.artifacts import Artifacts
from settings.preflight import Preflight
from settings.secrets import Secret

given = pulumi.Config().require_object("given")
secrets = {"ssh-key": Secret("ssh-key", "-----BEGIN OPENSSH PRIVATE KEY-----never-to-be-seen")}
if "artifacts" in given:
    artifacts = Artifacts.model_validate_json(json.dumps(given["artifacts"]), strict=True)
    built = CocoArtifacts("artifacts", artifacts_args(artifacts, secrets))
    pulumi.export("images", built.images)
    pulumi.export("files", built.files)
if "preflight" in given:
    preflight = Preflight.model_validate_json(json.dumps(given["preflight"]), strict=True)
    looked = HostPreflight("preflight", preflight_args(preflight, secrets, lambda _: ""))
    pulumi.export("verdicts", looked.verdicts)
