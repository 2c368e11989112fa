from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from google.protobuf import struct_pb2
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from sandbox import places
from sandbox.host import interpreter, shim

VENV = places.CHECKOUT / ".venv"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    script = shim.write(tmp_path / "a folder with blanks")
    process = subprocess.Popen(
        [script, "127.0.0.1:1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def stub(host: subprocess.Popen[str]) -> Iterator[language_pb2_grpc.LanguageRuntimeStub]:
    assert host.stdout is not None
    with grpc.insecure_channel(f"127.0.0.1:{int(host.stdout.readline())}") as channel:
        yield language_pb2_grpc.LanguageRuntimeStub(channel)


def info(folder: Path, virtualenv: str | None = None) -> language_pb2.ProgramInfo:
    options = struct_pb2.Struct()
    options.update({"virtualenv": virtualenv or os.path.relpath(VENV, folder)})
    return language_pb2.ProgramInfo(
        root_directory=str(folder), program_directory=str(folder), entry_point=".", options=options
    )


def test_the_real_host_is_preferred_on_path_and_beside_pulumi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    pulumi = tmp_path / "tools" / "pulumi"
    pulumi.parent.mkdir()
    pulumi.touch()
    assert shim.real_host(pulumi) is None
    beside = shim.write(pulumi.parent)
    assert shim.real_host(pulumi) == beside
    (tmp_path / "bin" / "pulumi").symlink_to(pulumi)
    assert shim.real_host(tmp_path / "bin" / "pulumi") == beside, "a symlink to pulumi leads to its folder"
    on_path = shim.write(tmp_path / "bin")
    assert shim.real_host(pulumi) == on_path


def test_virtualenv_is_relative_to_the_projects_folder(tmp_path: Path) -> None:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    python = tmp_path / "env" / "bin" / "python"
    python.touch()
    found, variables = interpreter.choose({"virtualenv": "env"}, tmp_path, {"PATH": "/x", "PYTHONHOME": "/y"})
    assert found == str(python)
    assert variables == {"PATH": f"{python.parent}{os.pathsep}/x", "VIRTUAL_ENV": str(tmp_path / "env")}


def test_a_virtualenv_that_is_none_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(interpreter.NoInterpreterError, match="'gone'"):
        interpreter.choose({"virtualenv": "gone"}, tmp_path, {})


def test_without_a_virtualenv_the_python_of_path_runs_the_program(tmp_path: Path) -> None:
    for name in ("python", "mine"):
        (tmp_path / name).touch(mode=0o755)
    assert interpreter.choose({}, tmp_path, {"PATH": str(tmp_path)})[0] == str(tmp_path / "python")
    chosen = {"PATH": str(tmp_path), "PULUMI_PYTHON_CMD": "mine"}
    assert interpreter.choose({}, tmp_path, chosen)[0] == str(tmp_path / "mine")


def test_it_tells_which_python_it_runs(stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path) -> None:
    about = stub.About(language_pb2.AboutRequest(info=info(tmp_path)))
    assert Path(about.executable).resolve() == (VENV / "bin" / "python").resolve()
    found = stub.GetProgramDependencies(language_pb2.GetProgramDependenciesRequest(info=info(tmp_path)))
    assert "pulumi" in {each.name for each in found.dependencies}


def test_a_missing_virtualenv_reaches_the_user(stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path) -> None:
    with pytest.raises(grpc.RpcError) as raised:
        stub.Run(language_pb2.RunRequest(info=info(tmp_path, "gone")))
    assert "not a virtual environment" in str(raised.value)


def test_a_plugins_output_and_status_come_through(stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path) -> None:
    script = "import os, sys; print(os.environ['GIVEN']); print('aside', file=sys.stderr); sys.exit(3)"
    (tmp_path / "__main__.py").write_text(script)
    request = language_pb2.RunPluginRequest(
        pwd=str(tmp_path), info=info(tmp_path), kind="resource", env=["GIVEN=out", "PATH=/usr/bin"]
    )
    answers = list(stub.RunPlugin(request))
    assert b"".join(each.stdout for each in answers) == b"out\n"
    assert b"".join(each.stderr for each in answers) == b"aside\n"
    assert answers[-1].exitcode == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_quietly_when_told_to_and_takes_its_programs_along(
    host: subprocess.Popen[str], stub: language_pb2_grpc.LanguageRuntimeStub, tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "__main__.py").write_text("import os, time; print(os.getpid()); time.sleep(60)")
    running = stub.RunPlugin(language_pb2.RunPluginRequest(pwd=str(tmp_path), info=info(tmp_path), kind="resource"))
    child = int(next(running).stdout)
    host.send_signal(number)
    _, errors = host.communicate(timeout=60)
    assert host.returncode == 0
    assert errors == "", "not a word, not a traceback"
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_it_ends_when_its_engine_is_gone(tmp_path: Path) -> None:
    script = shim.write(tmp_path)
    engine = subprocess.Popen(
        ["sh", "-c", f"'{script}' 127.0.0.1:1 & echo $!; wait"], stdout=subprocess.PIPE, text=True
    )
    assert engine.stdout is not None
    host = int(engine.stdout.readline())
    engine.stdout.readline()
    engine.kill()
    engine.wait()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{host}").exists() and "Z" not in Path(f"/proc/{host}/stat").read_text().split(")")[1][:3]:
        assert time.monotonic() < deadline, "it outlives its engine"
        time.sleep(0.1)
