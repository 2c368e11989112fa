"""A stand-in for pulumi-command's provider, whose Go module no proxy serves: it is not that provider.

It does what its documentation says of Command (local and remote): `create` runs once, and again at changed inputs where
there is no `update`; a changed trigger replaces; nothing runs in a preview; a status other than 0 fails with what was
said. Of `remote` it makes no connection: the command runs here, and ROOTS/<host> is the root folder of the host. Every
run is a line in ROOTS/ran.

Started by the engine as `pulumi-resource-command ENGINE`.
"""

# ruff: noqa: N802 - the names and the arguments of the methods are the protocol's.

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

ROOTS = Path(os.environ["COMMAND_ROOTS"])
_INPUTS = ("create", "update", "delete", "stdin", "environment", "interpreter", "dir", "connection", "logging")


class Command(provider_pb2_grpc.ResourceProviderServicer):
    """What the engine asks of it for command:local:Command and command:remote:Command."""

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        return plugin_pb2.PluginInfo(version="1.2.1")

    def CheckConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    def Configure(self, request: Any, context: Any) -> Any:
        # Without secrets: the engine keeps them hidden, and without previews: nothing is asked in one.
        return provider_pb2.ConfigureResponse(acceptSecrets=False, supportsPreview=False)

    def Check(self, request: Any, context: Any) -> Any:
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:
        old, new = _plain(request.old_inputs), _plain(request.news)
        if old.get("triggers") != new.get("triggers"):
            some = provider_pb2.DiffResponse.DIFF_SOME
            return provider_pb2.DiffResponse(changes=some, replaces=["triggers"], diffs=["triggers"])
        differing = [key for key in _INPUTS if old.get(key) != new.get(key)]
        changes = provider_pb2.DiffResponse.DIFF_SOME if differing else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changes, diffs=differing)

    def Create(self, request: Any, context: Any) -> Any:
        inputs = _plain(request.properties)
        outputs = _run(request.urn, inputs, inputs.get("create"), context)
        return provider_pb2.CreateResponse(id="stand-in", properties=_struct(inputs | outputs))

    def Update(self, request: Any, context: Any) -> Any:
        inputs = _plain(request.news)
        outputs = _run(request.urn, inputs, inputs.get("update") or inputs.get("create"), context)
        return provider_pb2.UpdateResponse(properties=_struct(inputs | outputs))

    def Read(self, request: Any, context: Any) -> Any:
        return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)

    def Delete(self, request: Any, context: Any) -> Any:
        inputs = _plain(request.properties)
        if inputs.get("delete"):
            _run(request.urn, inputs, inputs["delete"], context)
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()


def _run(urn: str, inputs: Mapping[str, Any], command: str | None, context: Any) -> dict[str, str]:
    with (ROOTS / "ran").open("a") as ran:
        ran.write(urn.rpartition("::")[2] + "\n")
    words = [*(inputs.get("interpreter") or ["/bin/sh", "-c"]), command or ""]
    connection = inputs.get("connection")
    if connection is not None:
        if "PRIVATE KEY" not in connection["privateKey"]:
            context.abort(grpc.StatusCode.UNKNOWN, "ssh: no key found")
        if command == "sh -s":
            words = ["/bin/sh", "-s", "--", str(ROOTS / connection["host"])]
    done = subprocess.run(
        words, input=inputs.get("stdin", ""), capture_output=True, text=True, cwd=inputs.get("dir"), check=False
    )
    if done.returncode != 0:
        said = done.stdout + done.stderr
        context.abort(grpc.StatusCode.UNKNOWN, f"exit status {done.returncode}: running {command!r}:\n{said}")
    return {"stdout": done.stdout.rstrip("\n"), "stderr": done.stderr.rstrip("\n")}


def _plain(properties: Any) -> dict[str, Any]:
    return dict(json_format.MessageToDict(properties))


def _struct(values: Mapping[str, Any]) -> Any:
    found = struct_pb2.Struct()
    found.update({key: value for key, value in values.items() if value is not None})
    return found


def main() -> None:
    """Serve on a free loopback port, print it, and go on until the engine is gone."""
    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Command(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    engine = os.getppid()
    server.start()
    print(port, flush=True)
    while os.getppid() == engine:
        threading.Event().wait(0.5)
    os._exit(0)


if __name__ == "__main__":
    main()
