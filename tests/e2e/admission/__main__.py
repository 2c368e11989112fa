"""The admission policies, as small as a stack can be."""

from __future__ import annotations

import pulumi
import pulumi_kubernetes as kubernetes

from components.claim_admission import ClaimAdmission, ClaimAdmissionArgs
from policy.admission.objects import Action, policies
from topology.profiles import OPENFUYAO

config = pulumi.Config()
cluster = kubernetes.Provider("cluster", context=config.require("context"), enable_server_side_apply=True)
args = ClaimAdmissionArgs(policies=policies(OPENFUYAO), action=Action(config.require("action")))
ClaimAdmission("claim-admission", args, pulumi.ResourceOptions(providers=[cluster]))
