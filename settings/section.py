"""The base of every section of the stack file, and how a validator refuses a value."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

REFUSED = "refused"


class Section(BaseModel):
    """Keys are written in camelCase; unknown ones are refused; nothing is converted from another type."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel)


def refused(reason: str, remedy: str) -> PydanticCustomError:
    """What a validator raises. The key is added where the problem is told."""
    # As values and not as the template itself: the words quote what the user wrote, braces and all.
    return PydanticCustomError(REFUSED, "{reason} {remedy}", {"reason": reason, "remedy": remedy})
