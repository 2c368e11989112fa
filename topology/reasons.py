"""Why each template of a server is written as it is: the figures of its form beside those of the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from topology.claims import RELAXED
from topology.forms.choose import Figures, Why, figures, why
from topology.forms.form import Form
from topology.forms.measure import Measure
from topology.model import Server
from topology.placements import Placement, choices
from topology.profiles import DriverProfile
from topology.template import Template
from topology.vocabulary import Vocabulary


@dataclass(frozen=True)
class Reason:
    """template: its name."""

    template: str
    count: int
    why: Why


def reasons(server: Server, templates: Iterable[Template], profile: DriverProfile) -> tuple[Reason, ...]:
    """For templates that were compiled for the server and the profile."""
    vocabulary = Vocabulary.of(server, profile)
    return tuple(Reason(each.name, each.count, _why(vocabulary, each)) for each in templates)


def _why(vocabulary: Vocabulary, template: Template) -> Why:
    placement = _placement(vocabulary.server, template)
    if template.shape != RELAXED:
        return why(vocabulary, placement)
    # An alternative cannot be split into requests, so there is one way to write a prioritized list.
    devices = template.spec["devices"]
    form = Form("alternatives", devices["requests"], devices.get("constraints", []))
    return Why(figures(form, Measure(vocabulary, placement)))


def _placement(server: Server, template: Template) -> Placement:
    """The placement of the template's last promise, which for a strict one is its only."""
    wanted = list(template.promises.values())[-1]
    return next(
        tier
        for choice in choices(server)
        if choice.count == template.count
        for tier in choice.tiers
        if tier.promise == wanted
    )


def data(reason: Reason) -> dict[str, Any]:
    """The reason as JSON has it."""
    return {
        "template": reason.template,
        "count": reason.count,
        "chosen": _figures(reason.why.chosen),
        "others": [_figures(other) for other in reason.why.others],
        "cheaper_with": [{"attribute": name, **_figures(cost)} for name, cost in reason.why.cheaper_with],
    }


def _figures(cost: Figures) -> dict[str, Any]:
    row = asdict(cost)
    return {"form": row.pop("family"), **row}
