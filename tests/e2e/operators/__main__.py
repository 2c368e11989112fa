"""Both operators side by side, as small as a stack can be."""

from __future__ import annotations

from dataclasses import replace

import pulumi
import pulumi_kubernetes as kubernetes

from components.cc_operator import CcOperator
from components.operators_from_settings import cc_operator_args, trustee_operator_args
from components.trustee_operator import TrusteeOperator
from settings.cc_operator import CcOperatorSettings
from settings.trustee_operator import TrusteeOperatorSettings

config = pulumi.Config()
cluster = kubernetes.Provider("cluster", context=config.require("context"), enable_server_side_apply=True)
there = pulumi.ResourceOptions(providers=[cluster])

workload = CcOperatorSettings.model_validate_json(config.require("workload"), strict=True)
trusted = TrusteeOperatorSettings.model_validate_json(config.require("trusted"), strict=True)
credentials = {"made": config.require("credentials")}
cc = CcOperator("cc-operator", replace(cc_operator_args(workload), registry_credentials=credentials), there)
trustee = TrusteeOperator("trustee-operator", trustee_operator_args(trusted), there)

pulumi.export("namespaces", [cc.namespace, trustee.namespace])
