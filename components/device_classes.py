"""`DeviceClasses`: what a request in a claim names, the driver's own class and one for each chip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi
import pulumi_kubernetes as kubernetes

from components.labels import MANAGED
from topology.classes import DeviceClass


@dataclass(frozen=True, kw_only=True)
class DeviceClassesArgs:
    """extended_resources: class → the extended resource by which pods without a claim get one of its devices.

    Only for clusters that keep it (DRAExtendedResource), or it is dropped without a word. Such pods get no constraints,
    hence no topology. ValueError for a class that is not there.
    """

    classes: Sequence[DeviceClass]
    extended_resources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        strangers = set(self.extended_resources) - {one.name for one in self.classes}
        if strangers:
            raise ValueError(f"extended_resources names classes that are not there: {', '.join(sorted(strangers))}")


class DeviceClasses(pulumi.ComponentResource):
    """names: those of the classes, in the order given.

    A class may be changed in place; pods that run keep their devices.
    """

    names: pulumi.Output[list[str]]

    def __init__(self, name: str, args: DeviceClassesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("ringfence:index:DeviceClasses", name, None, opts)
        classes = [
            kubernetes.resource.v1.DeviceClass(
                f"{name}-{one.name}",
                metadata=kubernetes.meta.v1.ObjectMetaArgs(name=one.name, labels=MANAGED),
                spec=kubernetes.resource.v1.DeviceClassSpecArgs(
                    selectors=[
                        kubernetes.resource.v1.DeviceSelectorArgs(
                            cel=kubernetes.resource.v1.CELDeviceSelectorArgs(expression=one.expression)
                        )
                    ],
                    extended_resource_name=args.extended_resources.get(one.name),
                ),
                opts=pulumi.ResourceOptions(parent=self),
            )
            for one in args.classes
        ]
        self.names = pulumi.Output.all(*(one.metadata.name for one in classes))
        self.register_outputs({"names": self.names})
