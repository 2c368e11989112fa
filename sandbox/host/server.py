"""The gRPC server that the engine talks to: it runs programs and policy packs, each in a Python of its own choice."""

# ruff: noqa: N802, ARG002 - the names and the arguments of the methods are the protocol's.

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO

import grpc
from google.protobuf import empty_pb2, json_format
from pulumi.automation._server import LanguageServer
from pulumi.runtime.proto import language_pb2, language_pb2_grpc

from sandbox.host import interpreter

_TOLD = 32
"""The exit status of program.py for a failure that it has explained; that file must not be imported."""

_ORPHANED_AFTER = 1.0
"""Seconds between two looks at whether the engine is still there."""


class Host(LanguageServer):
    """What the engine asks of a language host; the plugins a program needs are on PATH, so none are named."""

    def __init__(self, engine: str) -> None:
        super().__init__(lambda: None)
        self.engine = engine
        self._children = Children()

    def Handshake(
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        self.engine = request.engine_address or self.engine
        return language_pb2.LanguageHandshakeResponse()

    def About(self, request: language_pb2.AboutRequest, context: grpc.ServicerContext) -> language_pb2.AboutResponse:
        python, environment = _interpreter(request.info, context)
        code = "import platform; print(platform.python_version())"
        version = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True, check=False)
        return language_pb2.AboutResponse(executable=python, version=version.stdout.strip())

    def GetProgramDependencies(
        self, request: language_pb2.GetProgramDependenciesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetProgramDependenciesResponse:
        python, environment = _interpreter(request.info, context)
        code = (
            "import importlib.metadata, json;"
            "print(json.dumps(sorted({(d.name, d.version) for d in importlib.metadata.distributions()})))"
        )
        listed = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True, check=False)
        found = [language_pb2.DependencyInfo(name=n, version=v) for n, v in json.loads(listed.stdout or "[]")]
        return language_pb2.GetProgramDependenciesResponse(dependencies=found)

    def InstallDependencies(
        self, request: language_pb2.InstallDependenciesRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        # The checkout's own `make` installs them, from the lock file.
        return iter(())

    def RuntimeOptionsPrompts(
        self, request: language_pb2.RuntimeOptionsRequest, context: grpc.ServicerContext
    ) -> language_pb2.RuntimeOptionsResponse:
        return language_pb2.RuntimeOptionsResponse()

    def Run(self, request: language_pb2.RunRequest, context: grpc.ServicerContext) -> language_pb2.RunResponse:
        python, environment = _interpreter(request.info, context)
        environment["PULUMI_CONFIG"] = json.dumps(dict(request.config))
        environment["PULUMI_CONFIG_SECRET_KEYS"] = json.dumps(list(request.configSecretKeys))
        settings = {
            "monitor": request.monitor_address,
            "engine": self.engine,
            "project": request.project,
            "stack": request.stack,
            "organization": request.organization or "organization",
            "root": request.info.root_directory,
            "cwd": request.pwd or request.info.program_directory,
            "dry-run": "true" if request.dryRun else "false",
            "parallel": str(max(request.parallel, 1)),
        }
        command = [python, "-u", str(Path(__file__).with_name("program.py"))]
        command += [f"--{name}={value}" for name, value in settings.items() if value]
        entry = Path(request.info.program_directory) / (request.info.entry_point or ".")
        command += ["--", str(entry), *request.args]
        # Its output goes where ours goes, and so to the engine.
        child = self._children.start(command, environment, request.info.program_directory)
        context.add_callback(lambda: self._children.end(child))
        status = child.wait()
        self._children.forget(child)
        if status == 0:
            return language_pb2.RunResponse()
        if status == _TOLD:
            return language_pb2.RunResponse(bail=True)
        return language_pb2.RunResponse(error=f"Program exited with non-zero exit code: {status}")

    def RunPlugin(
        self, request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.RunPluginResponse]:
        inherited = dict(entry.split("=", 1) for entry in request.env if "=" in entry) or dict(os.environ)
        python, environment = _interpreter(request.info, context, inherited)
        program = request.info.program_directory
        if request.kind == "analyzer":
            # A policy pack: the SDK serves it, and wants the engine's address before the program.
            engine, *flags = list(request.args) or [self.engine]
            command = [python, "-u", "-m", "pulumi.policy", engine, program, *flags]
        else:
            command = [python, "-u", program, *request.args]
        child = self._children.start(command, environment, request.pwd or program, piped=True)
        context.add_callback(lambda: self._children.end(child))
        for name, chunk in _both_streams(child):
            if name == "stdout":
                yield language_pb2.RunPluginResponse(stdout=chunk)
            else:
                yield language_pb2.RunPluginResponse(stderr=chunk)
        status = child.wait()
        self._children.forget(child)
        yield language_pb2.RunPluginResponse(exitcode=status)

    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        self._children.end_all()
        return empty_pb2.Empty()

    def end(self) -> None:
        """End whatever still runs."""
        self._children.end_all()


class Children:
    """The processes that were started and have not ended."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()

    def start(
        self, command: Sequence[str], environment: Mapping[str, str], cwd: str, *, piped: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start one, its output piped to us or sharing ours."""
        pipe = subprocess.PIPE if piped else None
        child = subprocess.Popen(
            command, env=dict(environment), cwd=cwd, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        with self._lock:
            self._running.add(child)
        return child

    def forget(self, child: subprocess.Popen[bytes]) -> None:
        """It has ended."""
        with self._lock:
            self._running.discard(child)

    def end(self, child: subprocess.Popen[bytes]) -> None:
        """SIGTERM, three seconds, SIGKILL. For one that has ended: nothing."""
        if child.poll() is None:
            child.terminate()
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=3)
            child.kill()
        self.forget(child)

    def end_all(self) -> None:
        """End all of them."""
        with self._lock:
            running = list(self._running)
        for child in running:
            self.end(child)


def _interpreter(
    info: language_pb2.ProgramInfo, context: grpc.ServicerContext, environment: Mapping[str, str] | None = None
) -> tuple[str, dict[str, str]]:
    options = json_format.MessageToDict(info.options)
    try:
        return interpreter.choose(options, Path(info.root_directory), environment or os.environ)
    except interpreter.NoInterpreterError as error:
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))
        raise  # abort has raised already; this is for the reader and the type checker


def _both_streams(child: subprocess.Popen[bytes]) -> Iterator[tuple[str, bytes]]:
    """("stdout" or "stderr", some bytes) as they come, until both are closed."""
    arrived: queue.SimpleQueue[tuple[str, bytes]] = queue.SimpleQueue()

    def pump(name: str, stream: IO[bytes]) -> None:
        while chunk := os.read(stream.fileno(), 65536):
            arrived.put((name, chunk))
        arrived.put((name, b""))

    streams = {"stdout": child.stdout, "stderr": child.stderr}
    for name, stream in streams.items():
        assert stream is not None, "start(piped=True) makes both pipes"
        threading.Thread(target=pump, args=(name, stream), daemon=True).start()
    for _ in streams:
        while (item := arrived.get())[1]:
            yield item


def main(arguments: Sequence[str]) -> None:
    """Serve on a free loopback port, print it, and go on until SIGINT, SIGTERM or the end of the engine."""
    # Asked before anyone can know that we are there: once the port is out, the engine may already be gone again.
    engine = os.getppid()
    addresses = [argument for argument in arguments if not argument.startswith("-")]
    host = Host(addresses[0] if addresses else "")
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    # Unlimited, as the engine is: a stack's state or a large program's output are no reason to fail.
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    server = grpc.server(ThreadPoolExecutor(max_workers=16), options=options)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    while not over.wait(_ORPHANED_AFTER):
        if os.getppid() != engine:
            break
    host.end()
    server.stop(grace=0)
    sys.stdout.flush()
    # Without waiting for threads of calls that were cut off; there is nothing left to save.
    os._exit(0)
