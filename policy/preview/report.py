"""One Markdown comment on the previews of one or several stacks: what changes, what that means, what proves it.

The same previews give the same text, byte for byte. It stays below what GitHub takes as a comment: what does not fit is
left out from the least important on, and the comment says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from policy.preview.evidence import TEMPLATE, Evidence
from policy.preview.markdown import block, code, counted, details, plain, table
from policy.preview.meaning import Meaning, meanings
from policy.preview.model import Change, Difference, Finding, Level, Op, Preview, natural
from policy.preview.shown import Hidden
from topology.model import Server

MARKER = "<!-- ringfence preview-report -->"
"""The first line: by it the comment is found again, to be edited in place."""

LIMIT = 65_536
"""Characters that GitHub takes as a comment; GitLab takes more."""

_SHORTENED = "_Details are left out: the comment would be too long. The job that made it has all of it._"
_CUT = "\n\n**Cut here: the comment would be too long. The job that made it has all of it.**\n"

_FIELDS = 12
"""Fields of one object that are told one by one."""
_OPEN = 4
"""Lines on one object that need no click."""
_ROWS = 200
"""Objects of one kind that are told one by one."""

_HEADINGS = {Op.REPLACE: "Replaced", Op.DELETE: "Deleted", Op.UPDATE: "Changed", Op.CREATE: "Added"}
_COUNTS = {Op.CREATE: "to add", Op.UPDATE: "to change", Op.REPLACE: "to replace", Op.DELETE: "to delete"}


@dataclass(frozen=True)
class Part:
    """One piece of a comment. weight: the heavier, the sooner left out, 0 last. short: what stands for it then."""

    text: str
    weight: int = 0
    short: str = ""


@dataclass(frozen=True)
class Section:
    """What the comment says of one stack."""

    stack: str
    parts: tuple[Part, ...]


def section(stack: str, preview: Preview, evidence: Evidence, picture: Callable[[Server], str]) -> Section:
    """picture: of a server's wiring, as text."""
    parts = [Part(f"## {plain(stack)}: {_verdict(preview)}")]
    parts += [Part(f"> **Error** {plain(error)}") for error in preview.errors]
    dangers = _dangers(preview)
    if dangers:
        parts.append(Part("\n".join(["> [!WARNING]", *(f"> - {line}" for line in dangers)])))
    for op, heading in _HEADINGS.items():
        parts += _changes(heading, preview.of(op), preview)
    parts += _policies(preview)
    parts += _proofs(preview, evidence)
    parts += _pictures(preview, evidence, picture)
    if preview.warnings:
        lines = "\n".join(f"- {plain(warning)}" for warning in preview.warnings)
        parts.append(Part(details(counted(len(preview.warnings), "warning"), lines), 4))
    return Section(stack, tuple(parts))


def ready_made(stack: str, text: str) -> Section:
    """A stack's section that was rendered where its preview ran, so that only text without secrets left that place."""
    body = text.removeprefix(MARKER).strip()
    return Section(stack, (Part(body, 5, f"## {plain(stack)}: left out, the comment would be too long"),))


def render(sections: Sequence[Section], limit: int = LIMIT) -> str:
    """The comment, at most `limit` characters, its sections in the order of the stacks' names."""
    parts = [part for one in sorted(sections, key=lambda one: one.stack) for part in one.parts]
    text = _joined(parts)
    if len(text) <= limit:
        return text
    length = len(text) + len(_SHORTENED) + 2
    for weight in sorted({part.weight for part in parts if part.weight}, reverse=True):
        # The last first: a comment is read from its beginning.
        for index in reversed(range(len(parts))):
            if length > limit and parts[index].weight == weight:
                length -= len(parts[index].text) - len(parts[index].short)
                parts[index] = Part(parts[index].short)
    text = _joined([*parts, Part(_SHORTENED)])
    if len(text) <= limit:
        return text
    # Only headings and dangers are left, and still too much. Whole lines, so that nothing stays open.
    return text[: limit - len(_CUT)].rpartition("\n")[0] + _CUT


def _joined(parts: Iterable[Part]) -> str:
    return "\n\n".join([MARKER, *(part.text for part in parts if part.text)]) + "\n"


def _verdict(preview: Preview) -> str:
    if preview.errors:
        return "the preview failed"
    counts = [f"{len(found)} {words}" for op, words in _COUNTS.items() if (found := preview.of(op))]
    words = ", ".join(counts) or "nothing changes"
    mandatory = sum(finding.level is Level.MANDATORY for finding in preview.findings)
    return f"{words}. **{counted(mandatory, 'mandatory rule')} broken**" if mandatory else words


def _dangers(preview: Preview) -> list[str]:
    """A line for each danger, with all that it concerns."""
    found: dict[str, list[Change]] = {}
    for change in preview.changes:
        for meaning in meanings(change, preview.changes):
            if meaning.danger:
                found.setdefault(meaning.text, []).append(change)
    return [f"**{_named(changes)}**: {plain(text)}" for text, changes in found.items()]


def _named(changes: Sequence[Change]) -> str:
    """The objects of one line: one by name, several by kind."""
    by_kind: dict[str, list[Change]] = {}
    for change in changes:
        by_kind.setdefault(plain(change.kind), []).append(change)
    return ", ".join(
        f"{kind} {code(its[0].name(before=its[0].op is Op.DELETE))}" if len(its) == 1 else counted(len(its), kind)
        for kind, its in by_kind.items()
    )


def _changes(heading: str, changes: Sequence[Change], preview: Preview) -> list[Part]:
    if not changes:
        return []
    groups: dict[tuple[str, tuple[Meaning, ...]], list[Change]] = {}
    for change in changes:
        groups.setdefault((change.kind, tuple(meanings(change, preview.changes))), []).append(change)
    parts = [Part(f"### {heading}")]
    for (_, meant), its in groups.items():
        # What is dangerous stands above already.
        words = " ".join(plain(meaning.text) for meaning in meant if not meaning.danger)
        parts.append(Part(f"**{_named(its)}**{'. ' + words if words else ''}"))
        body, folded = _told(its, preview)
        if body:
            text = details(_summary(its), body) if folded else body
            parts.append(Part(text, 3 if its[0].op is Op.CREATE else 2))
    return parts


def _summary(changes: Sequence[Change]) -> str:
    if changes[0].op in (Op.UPDATE, Op.REPLACE):
        return "what differs"
    return "which" if len(changes) > 1 else "more"


def _told(changes: Sequence[Change], preview: Preview) -> tuple[str, bool]:
    """What the heading does not say, and whether it opens on a click: names, fields, promises of templates."""
    promises = any(_promise(change) for change in changes)
    compared = changes[0].op in (Op.UPDATE, Op.REPLACE)
    if len(changes) == 1:
        lines = _fields(changes[0], preview) if compared else []
        lines += [f"promises {plain(_promise(changes[0]))}"] if promises else []
        return "\n".join(f"- {line}" for line in lines), len(lines) > _OPEN
    head = ["name", *(["promise"] if promises else []), *(["field: old → new"] if compared else [])]
    rows = []
    for change in changes[:_ROWS]:
        row = [code(change.name(before=change.op is Op.DELETE))]
        row += [plain(_promise(change))] if promises else []
        row += ["<br>".join(_fields(change, preview))] if compared else []
        rows.append(row)
    more = len(changes) - _ROWS
    return table(head, rows) + (f"\n\n… and {more} more." if more > 0 else ""), True


def _promise(change: Change) -> str:
    annotations = (change.new or change.old).get("metadata", {})
    found = annotations.get("annotations", {}) if isinstance(annotations, Mapping) else {}
    promise = found.get("ringfence.dev/promise") if isinstance(found, Mapping) else None
    return promise if isinstance(promise, str) and change.kind == TEMPLATE else ""


def _fields(change: Change, preview: Preview) -> list[str]:
    """The fields that differ, one by one. Of a secret only that it does."""
    if change.kind == "Secret":
        return ["a secret: that it changes, and no more"]
    if not change.told and any(one.urn == change.provider and one.op is Op.REPLACE for one in preview.changes):
        return ["no field of its own: its provider is replaced"]
    lines = [_field(difference) for difference in change.told[:_FIELDS]]
    more = len(change.told) - _FIELDS
    return [*lines, *([f"… and {more} more"] if more > 0 else [])] or ["no field of its own, or one known after up"]


def _field(difference: Difference) -> str:
    name = code(difference.field)
    sides = [_value(difference.old), _value(difference.new)]
    if difference.old is None:
        return f"{name}: added{'' if sides[1] is None else ' ' + sides[1]}"
    if difference.new is None:
        return f"{name}: removed{'' if sides[0] is None else ', was ' + sides[0]}"
    if sides[0] is None or sides[1] is None:
        return f"{name}: differs"
    return f"{name}: {sides[0]} → {sides[1]}"


def _value(value: object) -> str | None:
    """Scalars only; None for what is hidden or larger than a line."""
    if value is None or isinstance(value, Hidden | Mapping | list):
        return None
    if isinstance(value, bool):
        return code("true" if value else "false")
    return code(str(value))


def _policies(preview: Preview) -> list[Part]:
    if preview.packs is None:
        return [
            Part(
                "_Policies: this form of the preview does not tell what they found. Set "
                "`PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true` for the preview._"
            )
        ]
    if not preview.findings:
        ran = ", ".join(code(pack) for pack in preview.packs)
        return [Part(f"Policies: {ran} ran, no rule is broken." if ran else "_Policies: no pack ran._")]
    parts = [Part("### Policies")]
    words = {
        Level.MANDATORY: "**broken, mandatory**: `pulumi up` will refuse",
        Level.ADVISORY: "broken, advisory",
        Level.UNDECIDED: "could not decide before `up`",
    }
    for level, heading in words.items():
        found = [finding for finding in preview.findings if finding.level is level]
        if found:
            text = table(["rule", "about", "what it says"], map(_row, found))
            parts.append(
                Part(f"{counted(len(found), 'finding')} {heading}\n\n{text}", 0 if level is Level.MANDATORY else 1)
            )
    return parts


def _row(finding: Finding) -> list[str]:
    return [code(finding.rule), code(finding.about) if finding.about else "the stack", plain(finding.message)]


def _proofs(preview: Preview, evidence: Evidence) -> list[Part]:
    templates: dict[tuple[str, str], Change] = {}
    for change in preview.of(Op.CREATE, Op.UPDATE, Op.REPLACE):
        if change.kind == TEMPLATE and (change.op is Op.CREATE or change.differs("spec") or change.op is Op.REPLACE):
            name = change.name().rpartition("/")[2]
            # The same template in several namespaces has one proof.
            templates.setdefault((name, repr(change.new.get("spec"))), change)
    rows, missing = [], 0
    for (name, _), change in sorted(templates.items(), key=lambda item: natural(item[0][0])):
        proof = evidence.proof(change)
        missing += proof is None
        if proof is None:
            rows.append([code(name), "", "", "", "no proof of this spec on this wiring"])
            continue
        state = ",".join(map(str, proof.worst_state))
        figures = [f"{proof.states:,}", str(proof.lost), str(proof.broken), f"{proof.worst_calls:,}, free: {state}"]
        rows.append([code(name), *figures])
    if not rows:
        return []
    proven = len(rows) - missing
    head = f"Proofs: {proven} of {counted(len(rows), 'added or changed template')} proven in every state of the server."
    body = table(["template", "states", "lost", "broken", "worst calls"], rows, right=(1, 2, 3))
    return [Part(f"{head}\n\n{details('lost, broken and worst cost, template by template', body)}", 2, head)]


def _pictures(preview: Preview, evidence: Evidence, picture: Callable[[Server], str]) -> list[Part]:
    parts = []
    for server in evidence.rewired(preview.changes):
        sides = [
            f"{words}:\n\n{block(picture(side))}"
            for words, side in (("before", server.before), ("now", server.now))
            if side is not None
        ]
        if server.now is None:
            sides.append("The wiring that the templates name is not that of this checkout's folder.")
        parts.append(Part(details(f"The wiring of {plain(server.name)} changes", "\n\n".join(sides)), 4))
    return parts
