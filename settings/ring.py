"""`ringfence:ring`: which servers there are, what is published for them and where, and who drives their NPUs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from settings.driver import Driver
from settings.section import Section
from settings.values import ExtendedResource, Namespace, Text

DEFAULT_PROFILE = "openfuyao"


class Admission(Section):
    """The rules on claims that the API server can hold itself, as ValidatingAdmissionPolicies."""

    action: Literal["deny", "warn", "audit"] = Field(
        description="what a broken rule does: deny refuses the object, warn tells who sends it, audit notes it in the "
        "audit log"
    )


class Ring(Section):
    """Counts and extended resources are judged with the servers' wiring at hand: see settings.ring_plan."""

    servers: tuple[Text, ...] = Field(
        min_length=1, description="the kinds of server in the cluster: names of folders in servers/, or paths"
    )
    namespaces: tuple[Namespace, ...] = Field(
        min_length=1, description="the namespaces whose pods may use the claim templates"
    )
    create_namespaces: bool = Field(default=False, description="whether the stack makes these namespaces itself")
    profile: Text = Field(default=DEFAULT_PROFILE, description="whose attribute names the templates use")
    counts: dict[str, Annotated[tuple[int, ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="server → the numbers of NPUs to have templates for; without it, all"
    )
    relaxed: bool = Field(default=True, description="whether templates with fall-backs (firstAvailable) are made too")
    extended_resources: dict[str, ExtendedResource] = Field(
        default_factory=dict,
        description="DeviceClass or chip → the resource name that pods without a claim may ask for",
    )
    driver: Driver | None = Field(default=None, description="how the driver is installed; without it, by someone else")

    admission: Admission | None = Field(
        default=None, description="admission policies for claims that do not come through Pulumi; without it, none"
    )

    @property
    def installed(self) -> Driver | None:
        """The driver that the stack installs, if it does."""
        return self.driver if self.driver is not None and self.driver.install else None
