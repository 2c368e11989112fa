"""From the words of a command to documents: files, folders, standard input."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from policy.lint.documents import Document, Unreadable, is_template, read
from policy.lint.text import decoded

_ENDINGS = (".yaml", ".yml", ".json")
STDIN = "-"


@dataclass
class Gathered:
    """skipped: why a file that was found in a folder was left out, a sentence each."""

    documents: list[Document] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def gather(words: Sequence[str], stdin: TextIO) -> Gathered:
    """The documents of all of them. Unreadable for what was named and cannot be read or has no object in it.

    What is found in a folder and cannot be read is skipped and said: charts keep their templates beside other files.
    """
    found = Gathered()
    for word in words:
        if word == STDIN:
            found.documents += _named(_piped(stdin), "<stdin>")
        elif Path(word).is_dir():
            _folder(Path(word), found)
        else:
            found.documents += _named(_text(Path(word)), word)
    return found


def _named(text: str, source: str) -> list[Document]:
    documents = read(text, source)
    if not documents:
        if is_template(text):
            raise Unreadable(
                source,
                "it is a template that has not been rendered.",
                "Render it first: `helm template CHART | ringfence claims check -`.",
            )
        raise Unreadable(source, "there is no Kubernetes object in it.", "Name files with apiVersion and kind.")
    return documents


def _folder(folder: Path, found: Gathered) -> None:
    before = len(found.documents)
    for path in _files(folder):
        try:
            found.documents += read(_text(path), str(path))
        except Unreadable as error:
            found.skipped.append(str(error))
    if len(found.documents) == before:
        raise Unreadable(
            str(folder), "there is no Kubernetes object in this folder.", "Name one with YAML or JSON files."
        )


def _files(folder: Path) -> Iterable[Path]:
    inside = (path for path in sorted(folder.rglob("*")) if path.suffix in _ENDINGS and path.is_file())
    return (path for path in inside if not any(part.startswith(".") for part in path.relative_to(folder).parts))


def _piped(stdin: TextIO) -> str:
    buffer = getattr(stdin, "buffer", None)
    return _decoded(buffer.read(), "<stdin>") if buffer is not None else stdin.read()


def _text(path: Path) -> str:
    try:
        return _decoded(path.read_bytes(), str(path))
    except OSError as error:
        raise Unreadable(str(path), f"{error.strerror}.", "Name a file or a folder that is there.") from None


def _decoded(data: bytes, source: str) -> str:
    try:
        return decoded(data)
    except UnicodeDecodeError:
        raise Unreadable(source, "it is no text in UTF-8.", "Name YAML or JSON files.") from None
