"""From what the stack file says of the operators of confidential containers to their Args."""

from __future__ import annotations

from typing import Any

from components.cc_operator import CcOperatorArgs
from components.trustee_operator import TrusteeImages, TrusteeOperatorArgs
from settings.cc_operator import CcOperatorSettings
from settings.trustee_operator import TrusteeOperatorSettings


def cc_operator_args(settings: CcOperatorSettings) -> CcOperatorArgs:
    """The Args of CcOperator."""
    return CcOperatorArgs(**_common(settings))


def trustee_operator_args(settings: TrusteeOperatorSettings) -> TrusteeOperatorArgs:
    """The Args of TrusteeOperator."""
    images = settings.images
    return TrusteeOperatorArgs(
        images=TrusteeImages(
            kbs=images.kbs,
            kbs_microservices=images.kbs_microservices,
            attestation_service=images.attestation_service,
            rvps=images.rvps,
        ),
        **_common(settings),
    )


def _common(settings: CcOperatorSettings | TrusteeOperatorSettings) -> dict[str, Any]:
    return {
        "image": settings.chosen_image,
        "namespace": settings.namespace,
        "resources": settings.chosen_resources,
        "tolerations": [toleration.model_dump(exclude_none=True) for toleration in settings.tolerations],
        "pull_secrets": settings.image_pull_secrets,
        "crd": settings.crd,
        "protect_namespace": settings.protect,
        "protect_crd": settings.protect,
        "available_within": settings.available_within,
    }
