from __future__ import annotations

import stat
from pathlib import Path

import pytest

from sandbox import files, places
from sandbox.errors import SandboxError


def test_state_lies_in_the_checkout_and_moves_by_variable(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert places.state_of("dev") == state / "dev"
    monkeypatch.delenv(places.STATE_VARIABLE)
    assert places.state_of("dev") == places.CHECKOUT / ".sandbox" / "dev"


def test_the_cache_is_the_users_and_moves_by_variable(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert places.cache_root() == cache
    monkeypatch.delenv(places.CACHE_VARIABLE)
    assert places.CHECKOUT not in places.cache_root().parents, "the cache outlives the checkout"


@pytest.mark.parametrize("name", ["", "../x", "A", "-a", "a-", "a b", "x" * 41])
def test_a_name_that_is_no_folder_or_context_is_refused(name: str) -> None:
    with pytest.raises(SandboxError, match="cannot be called"):
        places.state_of(name)


def test_folders_with_keys_in_them_are_for_the_user_alone(tmp_path: Path) -> None:
    folder = places.private(tmp_path / "a" / "b")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_made_names_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SandboxError, match=places.CACHE_VARIABLE):
        places.private(tmp_path / "file" / "below")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    files.write_whole(path, "old")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        files.write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path], "no temporary file is left"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
