"""The admission policy that lets a node's driver write the ResourceSlices of that node only.

Without it, RBAC lets whoever takes over one node's driver publish devices on every other node. The rule and its
expressions are those of the Kubernetes project's example driver (kubernetes-sigs/dra-example-driver); whether
openFuyao ships one is not known. It rests on the node name in the token of a pod (ServiceAccountTokenPodNodeInfo, on
since 1.30) and on ValidatingAdmissionPolicy (1.30). All versions of the API are listed: a policy that names only
v1beta1, as one public driver's does, is no protection once v1 is served.
"""

from __future__ import annotations

import pulumi_kubernetes as kubernetes

API_VERSIONS = ("v1", "v1beta1", "v1beta2")
# A delete has no new object.
_SLICE_NODE = "(request.operation == 'DELETE' ? oldObject : object).spec.?nodeName.orValue('')"
# Optional all along, so that a user without any extra is refused with the reason below and not by a broken expression.
_USER_NODE = "request.userInfo.?extra[?'authentication.kubernetes.io/node-name'][0].orValue('')"

_admission = kubernetes.admissionregistration.v1


def own_slices_only(
    namespace: str, service_account: str
) -> kubernetes.admissionregistration.v1.ValidatingAdmissionPolicySpecArgs:
    """The policy for one ServiceAccount, whatever driver name its slices carry. Others are not concerned."""
    user = f"system:serviceaccount:{namespace}:{service_account}"
    return _admission.ValidatingAdmissionPolicySpecArgs(
        failure_policy="Fail",
        match_constraints=_admission.MatchResourcesArgs(
            match_policy="Equivalent",
            resource_rules=[
                _admission.NamedRuleWithOperationsArgs(
                    api_groups=["resource.k8s.io"],
                    api_versions=list(API_VERSIONS),
                    operations=["CREATE", "UPDATE", "DELETE"],
                    resources=["resourceslices"],
                    scope="*",
                )
            ],
        ),
        match_conditions=[
            _admission.MatchConditionArgs(name="is-driver", expression=f"request.userInfo.username == '{user}'")
        ],
        variables=[
            _admission.VariableArgs(name="userNode", expression=_USER_NODE),
            _admission.VariableArgs(name="sliceNode", expression=_SLICE_NODE),
        ],
        validations=[
            _admission.ValidationArgs(
                expression="variables.userNode != ''",
                message="the token names no node: only the driver's pod on a node may write ResourceSlices",
                reason="Forbidden",
            ),
            _admission.ValidationArgs(
                expression="variables.userNode == variables.sliceNode",
                message_expression="'the driver on node ' + variables.userNode + ' may not write ' + "
                "(variables.sliceNode == '' ? 'a ResourceSlice of no node' : "
                "'a ResourceSlice of node ' + variables.sliceNode)",
                reason="Forbidden",
            ),
        ],
    )
