"""A Box16 and the templates made for it, by name."""

from __future__ import annotations

from tests.topology.wirings import shipped
from topology.claims import compile_templates
from topology.profiles import OPENFUYAO

BOX = shipped("box16")
TEMPLATES = {template.name: template for template in compile_templates(BOX, OPENFUYAO)}
