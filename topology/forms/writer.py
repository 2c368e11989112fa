"""Writes a form: collects its requests and constraints, and the assumptions of the attributes it uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from topology.forms.form import REQUEST, Form
from topology.selectors import by_id
from topology.vocabulary import Attribute, Vocabulary


class Writer:
    """One form in the making. Requests are numbered unless they are named."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._requests: list[dict[str, Any]] = []
        self._constraints: list[dict[str, Any]] = []
        self._rests_on: set[str] = set()

    def asked(self, count: int, only: Iterable[int] = ()) -> dict[str, Any]:
        """With the defaults that the API server would write, so that nothing differs when it is read back."""
        asked: dict[str, Any] = {"deviceClassName": self._vocabulary.device_class}
        chosen = sorted(only)
        if chosen:
            asked["selectors"] = [{"cel": {"expression": by_id(self._vocabulary.profile, chosen)}}]
        return {**asked, "allocationMode": "ExactCount", "count": count}

    def request(self, count: int, *by: Attribute, only: Iterable[int] = (), name: str | None = None) -> str:
        """A request for NPUs with equal values of all of `by`; only: of these ids. Returns its name."""
        name = name or f"{REQUEST}-{len(self._requests)}"
        self._requests.append({"name": name, "exactly": self.asked(count, only)})
        for attribute in by:
            self.match([name], attribute)
        return name

    def listed(self, name: str, alternatives: list[dict[str, Any]]) -> None:
        self._requests.append({"name": name, "firstAvailable": alternatives})

    def match(self, requests: Sequence[str], attribute: Attribute) -> None:
        name = self._vocabulary.profile.qualified(attribute.name)
        self._constraints.append({"requests": list(requests), "matchAttribute": name})
        self._rests_on |= attribute.rests_on

    def form(self, family: str) -> Form:
        return Form(family, self._requests, self._constraints, frozenset(self._rests_on))
