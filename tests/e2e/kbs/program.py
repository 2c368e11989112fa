"""A program with nothing but a KbsConfig, for the real engine. What it deploys is in the file that KBS_TEST names."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pulumi
import pulumi_kubernetes as kubernetes

from components.cluster_view import ClusterAccess
from components.kbs_config import KbsConfig, KbsConfigArgs
from components.kbs_hooks import around
from components.kbs_inputs import Kbs, Policy
from components.kbs_live import deployment_reader
from components.kbs_ready import Expected, until_ready

given = json.loads(Path(os.environ["KBS_TEST"]).read_text())
cluster = kubernetes.Provider(
    "cluster",
    context=given["context"],
    cluster_identifier="kbs-test",
    enable_server_side_apply=True,
    enable_secret_mutable=True,
)
read = deployment_reader(given["context"], None, given["namespace"])


def wait(expected: Expected) -> None:
    until_ready(read, expected, given["namespace"], given["timeout"])


kbs = KbsConfig(
    "kbs",
    KbsConfigArgs(
        namespace=given["namespace"],
        kbs=Kbs(
            deployment_type="AllInOneDeployment",
            kbs_toml="[admin]\n",
            reference_values="[]\n",
            resource_policy=given["policy"],
            attestation_policy=Policy(file="default.rego", text="package policy\n"),
            admin_public_key="public",
            resources={"tenant-a": {"key": given["secret"].encode()}},
            env={"RUST_LOG": "info"},
            replicas=given["replicas"],
        ),
        wait=wait,
        delete_timeout=given["delete_timeout"],
        hooks=around(ClusterAccess(context=given["context"])),
    ),
    pulumi.ResourceOptions(providers=[cluster]),
)
pulumi.export("names", kbs.names)
