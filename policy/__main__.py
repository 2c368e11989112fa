"""The policy pack: constructing it starts a server on stdout, so it happens here and only when run."""

from __future__ import annotations

from pulumi_policy import (
    EnforcementLevel,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
)

# The engine runs this folder as a program, so that it is the root of imports.
from rules.images import floating_images


def _images(args: ResourceValidationArgs, report: ReportViolation) -> None:
    for sentence in floating_images(args.resource_type, args.props):
        report(sentence)


if __name__ == "__main__":
    PolicyPack(
        name="ringfence",
        enforcement_level=EnforcementLevel.MANDATORY,
        policies=[
            ResourceValidationPolicy(
                name="pin-images",
                description="Images carry a digest, or a tag other than latest.",
                validate=_images,
            )
        ],
    )
