"""The DeviceClasses that templates refer to: the driver's own, and one for each chip."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from topology.model import Server
from topology.profiles import DriverProfile


@dataclass(frozen=True)
class DeviceClass:
    """name: the class. expression: the CEL expression that a device of the class meets."""

    name: str
    expression: str


def chip_class(profile: DriverProfile, chip: str | None) -> str:
    """The class for a chip: <chip>.<driver's class>, or the driver's own where the chip is unknown or not published."""
    if chip is None or profile.chip is None:
        return profile.device_class
    return f"{chip.lower()}.{profile.device_class}"


def device_classes(servers: Iterable[Server], profile: DriverProfile) -> tuple[DeviceClass, ...]:
    """The classes that the servers' templates use, the driver's own first, then by name."""
    driver = f'device.driver == "{profile.driver}"'
    classes = [DeviceClass(profile.device_class, driver)]
    chips = {npu.chip for server in servers for npu in server.npus if npu.chip is not None}
    if profile.chip is not None:
        attributes = f'device.attributes["{profile.driver}"]'
        for chip in sorted(chips):
            # The driver first, existence next: reading a field that a device lacks fails the pod on every node.
            guard = f'{driver} && "{profile.chip}" in {attributes}'
            classes.append(
                DeviceClass(chip_class(profile, chip), f'{guard} && {attributes}["{profile.chip}"] == "{chip}"')
            )
    return tuple(classes)
