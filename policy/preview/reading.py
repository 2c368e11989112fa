"""pulumi's JSON of a preview → plain data, in either form: the digest, or the events of a streaming preview.

Only the events tell what policy packs found (pulumi 3.274, backend/display/json.go): the digest drops it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policy.preview.masks import masked, spoken
from policy.preview.model import Change, Difference, Finding, Level, Op, Preview, at, differences, natural
from policy.preview.shown import Hidden, Path, harmless, hide, marked

_OPS: Mapping[str, Op] = {
    "create": Op.CREATE,
    "import": Op.CREATE,
    "update": Op.UPDATE,
    "delete": Op.DELETE,
    "replace": Op.REPLACE,
    "import-replacement": Op.REPLACE,
    "same": Op.SAME,
    # A replacement is one change: its two halves come as steps too.
    "create-replacement": Op.REPLACE,
    "delete-replaced": Op.REPLACE,
}
_NO_OBJECT = re.compile(r"pulumi:pulumi:")
# Of no interest to who reads a pull request: where programs were found on the machine that ran the preview.
_NOISE = re.compile(r" from \$PATH at |is expected to have version|Preview creation failed due to immutable fields")
# What pulumi adds to an error that it has told, or to a finding.
_ECHO = re.compile(r"^(preview failed|an unhandled error occurred: Program exited with non-zero exit code: \d+)$")
_CANNOT_DECIDE = re.compile(r"can't run policy .* during preview|could not decide|cannot decide", re.I | re.S)
_PROVIDER = "pulumi:providers:"


class PreviewError(Exception):
    """Text that is no preview. The message says what is wrong with it, and what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason} {remedy}")


def read_preview(text: str) -> Preview:
    """The preview. PreviewError where the text is none."""
    steps, said, ended = _parts(text)
    secrets = {secret for step in steps for secret in _secrets(step)}
    changes: dict[str, Change] = {}
    for step in steps:
        change = _change(step)
        known = changes.get(change.urn) if change is not None else None
        # Of the steps of a replacement the one that has both sides says most.
        if change is not None and (known is None or (known.op is Op.REPLACE and change.old and change.new)):
            changes[change.urn] = change
    names = {urn: change.name() for urn, change in changes.items()}
    findings = sorted(
        (_finding(event, names, secrets) for event in said if "policyName" in event),
        key=lambda one: (list(Level).index(one.level), one.rule, one.about, one.message),
    )
    messages = [(str(one.get("severity")), _message(one, secrets)) for one in said if "policyName" not in one]
    shown = [(severity, message) for severity, message in messages if message and not _NOISE.search(message)]
    return Preview(
        changes=tuple(
            sorted(changes.values(), key=lambda one: (list(Op).index(one.op), one.kind, natural(one.name()), one.urn))
        ),
        findings=tuple(dict.fromkeys(findings)),
        packs=ended,
        errors=_errors([message for severity, message in shown if severity == "error"], findings),
        warnings=tuple(sorted({message for severity, message in shown if severity == "warning"})),
    )


def _errors(messages: list[str], findings: list[Finding]) -> tuple[str, ...]:
    own = {message for message in messages if not _ECHO.match(message)}
    told = own or any(finding.level is Level.MANDATORY for finding in findings)
    return tuple(sorted(own if told else set(messages)))


def _parts(text: str) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]], tuple[str, ...] | None]:
    """(steps, diagnostics and findings, packs that ran), of either form."""
    if not text.strip():
        raise PreviewError("is empty.", "Keep there what `pulumi preview --json` prints on standard output.")
    start = text.lstrip()
    if not start.startswith("{"):
        first = start.splitlines()[0][:200]
        # Its own words may quote what a user has typed; only the kind of problem is repeated.
        error = "pulumi's error" if re.search(r"error", first, re.I) else "text"
        raise PreviewError(
            f"has {error} in place of JSON.",
            "Run `pulumi preview --json` again and read what it says on standard error.",
        )
    try:
        whole = json.loads(text)
    except RecursionError:
        raise PreviewError("is nested too deeply.", "Keep there what `pulumi preview --json` prints.") from None
    except ValueError:
        return _events(text)
    if not isinstance(whole, dict):
        raise PreviewError("is no preview.", "Keep there what `pulumi preview --json` prints.")
    if "sequence" in whole:
        return _events(text)
    if not whole.keys() & {"steps", "diagnostics", "changeSummary", "config"}:
        raise PreviewError(
            "is JSON, but no preview: it has neither steps nor events.",
            "Keep there what `pulumi preview --json` prints.",
        )
    return _objects(whole.get("steps")), _objects(whole.get("diagnostics")), None


def _events(text: str) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]], tuple[str, ...] | None]:
    steps: list[Mapping[str, Any]] = []
    said: list[Mapping[str, Any]] = []
    packs: set[str] = set()
    finished = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            if finished:
                # After the last event pulumi may add its error in words.
                continue
            raise PreviewError(
                f"breaks off or is no JSON at line {number}.",
                "Let `pulumi preview --json` finish, and keep its standard output only.",
            ) from None
        if not isinstance(event, dict) or "sequence" not in event:
            raise PreviewError(
                f"line {number} is no event of pulumi's.", "Keep there what `pulumi preview --json` prints."
            )
        step = at(event, "resourcePreEvent", "metadata")
        if isinstance(step, Mapping):
            steps.append(step)
        said += [event[key] for key in ("diagnosticEvent", "policyEvent") if isinstance(event.get(key), Mapping)]
        for key in ("policyAnalyzeSummaryEvent", "policyAnalyzeStackSummaryEvent", "policyEvent"):
            name = at(event, key, "policyPackName")
            packs |= {name} if isinstance(name, str) else set()
        finished |= "summaryEvent" in event or "cancelEvent" in event
    if not finished:
        raise PreviewError(
            "breaks off before pulumi's summary.", "Let `pulumi preview --json` finish, and keep all that it prints."
        )
    return steps, said, tuple(sorted(packs))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _sides(step: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The state before and after: the digest and the events name them differently."""
    pair = (step.get("oldState", step.get("old")), step.get("newState", step.get("new")))
    old, new = (side if isinstance(side, Mapping) else {} for side in pair)
    return old, new


def _type(step: Mapping[str, Any]) -> str:
    """From the URN, which has it in every form: urn:pulumi:stack::project::parents$type::name."""
    parts = str(step.get("urn", "")).split("::")
    return parts[2].rpartition("$")[2] if len(parts) > 3 else ""


def _kind(type_: str) -> tuple[str, str]:
    """(kind, group/version) of a type token; ("", "") where it is no object of a cluster."""
    if type_.startswith(_PROVIDER):
        return "Provider", type_.removeprefix(_PROVIDER)
    if not type_.startswith("kubernetes:") or type_.count(":") < 2:
        return "", ""
    api, _, kind = type_.removeprefix("kubernetes:").rpartition(":")
    return kind, api


def _secret_paths(step: Mapping[str, Any]) -> list[Path]:
    return [path for side in _sides(step) for part in ("inputs", "outputs") for path in marked(side.get(part)) if path]


def _secrets(step: Mapping[str, Any]) -> Iterator[str]:
    kind, _ = _kind(_type(step))
    paths = _secret_paths(step)
    for side in _sides(step):
        for part in ("inputs", "outputs"):
            yield from spoken(kind, side.get(part), paths)


def _change(step: Mapping[str, Any]) -> Change | None:
    op = _OPS.get(str(step.get("op")))
    type_ = _type(step)
    kind, api = _kind(type_)
    old_state, new_state = _sides(step)
    if op is None or _NO_OBJECT.match(type_):
        return None
    if not kind:
        if not (old_state.get("custom") or new_state.get("custom")):
            return None
        kind, api = type_.rpartition(":")[2] or type_, type_.rpartition(":")[0]
    paths = _secret_paths(step)
    old, new = (hide(kind, _object(side.get("inputs")), paths) for side in (old_state, new_state))
    if op is Op.DELETE:
        new = {}
    if op is Op.CREATE:
        old = {}
    told = tuple(differences(old, new)) if old and new else ()
    nodes = at(old_state.get("outputs"), "status", "totalNodesCount")
    return Change(
        op=op,
        urn=str(step.get("urn", "")),
        kind=kind,
        api=api,
        old=old,
        new=new,
        told=(*told, *_told_besides(step, kind, told, old_state, new_state, paths)),
        protected=bool(old_state.get("protect")),
        retained=bool(old_state.get("retainOnDelete")),
        nodes=nodes if isinstance(nodes, int) and not isinstance(nodes, bool) else None,
        provider=str(step.get("provider") or new_state.get("provider") or old_state.get("provider") or "").rpartition(
            "::"
        )[0],
    )


def _object(value: Any) -> Mapping[str, Any]:
    """Without what pulumi adds to it for itself."""
    return {key: item for key, item in value.items() if not key.startswith("__")} if isinstance(value, Mapping) else {}


def _told_besides(
    step: Mapping[str, Any],
    kind: str,
    told: Iterable[Difference],
    old_state: Mapping[str, Any],
    new_state: Mapping[str, Any],
    paths: list[Path],
) -> list[Difference]:
    """What the provider calls different and the inputs do not show: masked secrets, and what others changed."""
    seen = {difference.path for difference in told}
    detailed = step.get("detailedDiff")
    found: list[Difference] = []
    for field in sorted(detailed) if isinstance(detailed, Mapping) else ():
        path = _steps(field)
        if not path or any(path[: len(one)] == one or one[: len(path)] == path for one in seen):
            continue
        shown = harmless(kind, path)
        sides = (
            hide(kind, at(state.get(part), *path), paths, path) if shown else Hidden(side)
            for side, state, part in (("old", old_state, "outputs"), ("new", new_state, "inputs"))
        )
        old, new = sides
        found.append(Difference(path, old, new))
    return found


_STEP = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|([^.\[\]]+)')


def _steps(field: str) -> Path:
    return tuple(next(filter(None, match.groups()), "") for match in _STEP.finditer(str(field)))


def _message(said: Mapping[str, Any], secrets: set[str]) -> str:
    text = re.sub(r"<\{%[^%]*%\}>", "", f"{said.get('message') or ''}").strip()
    text = text.removeprefix("error: ").removeprefix("warning: ")
    return "" if said.get("ephemeral") else masked(text, secrets)


def _finding(said: Mapping[str, Any], names: Mapping[str, str], secrets: set[str]) -> Finding:
    message = _message(said, secrets)
    urn = str(said.get("resourceUrn") or "")
    level = Level.MANDATORY if said.get("enforcementLevel") == "mandatory" else Level.ADVISORY
    if _CANNOT_DECIDE.search(message):
        level = Level.UNDECIDED if level is Level.ADVISORY else level
    return Finding(
        level=level,
        pack=str(said.get("policyPackName") or ""),
        rule=str(said.get("policyName") or ""),
        about=names.get(urn, urn.rpartition("::")[2]) if _type({"urn": urn}) != "pulumi:pulumi:Stack" else "",
        message=message,
    )
