"""A rule's examples as objects and context, for the docs and for whoever wants to see a rule at work."""

from __future__ import annotations

from functools import lru_cache

import yaml

from policy.rules.context import Context
from policy.rules.fleet import Fleet, declared
from policy.rules.model import Example, Options, Subject
from policy.rules.surroundings import surround
from settings.capabilities import Capabilities
from settings.proofs import read_proofs
from settings.servers import find_server, proofs_of
from topology.profiles import OPENFUYAO


def read(example: Example) -> tuple[tuple[Subject, ...], Context]:
    """The objects and what surrounds them."""
    subjects = tuple(_subject(document) for document in yaml.safe_load_all(example.text))
    cluster = Capabilities(example.kubernetes, {}) if example.kubernetes is not None else None  # type: ignore[arg-type]
    return subjects, surround(subjects, _fleet(example.servers), cluster)


def _subject(document: dict[str, object]) -> Subject:
    manifest = dict(document)
    said = manifest.pop("pulumi", None)
    options = None
    if isinstance(said, dict):
        options = Options(**{**said, "depends_on": frozenset(said.get("depends_on", ()))})
    subject = Subject(manifest)
    # As others name it in depends_on.
    return Subject(manifest, subject.name, options)


@lru_cache(maxsize=8)
def _fleet(names: tuple[str, ...]) -> Fleet:
    if not names:
        return Fleet()
    proofs = {key: proof for name in names for key, proof in read_proofs(proofs_of(name)).items()}
    return declared([find_server(name) for name in names], OPENFUYAO, proofs)
