"""The real pulumi against a sandbox: its backend is a folder of the sandbox, its cluster the sandbox's own.

A stack for several clusters has its state in the first sandbox and the contexts of the others beside its own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import psutil

from sandbox import diagnostics, files, interrupts, kubeconfig, locks, pendings, places, processes, stackfile
from sandbox.errors import EngineError
from sandbox.host import shim
from sandbox.layout import Layout
from sandbox.plane import Sandbox
from sandbox.report import Report, Silent

PROVIDER = "pulumi-resource-kubernetes"
LAST_LINES = 40

WAIT_FOR_OTHERS = 1800.0
"""Seconds one pulumi waits for another on the same sandbox."""

FINISH_WITHIN = 60.0
"""Seconds an interrupted pulumi is given to finish the operations under way."""

_UNATTENDED = ("--yes", "--skip-preview")
_ASKS = frozenset({"up", "refresh", "destroy"})
_READS_THE_STACK_FILE = _ASKS | {"preview"}


class Engine:
    """pulumi for one project and one sandbox.

    tools: as sandbox.toolchain.ensure returns them. project: the folder of Pulumi.yaml.
    others: sandboxes whose contexts the stack names too.
    Every method raises EngineError, with the end of pulumi's output, where pulumi fails.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        tools: Mapping[str, Path],
        project: Path,
        report: Report | None = None,
        others: Sequence[Sandbox] = (),
    ) -> None:
        self.sandbox = sandbox
        self.others = others
        self.tools = tools
        self.project = project
        self.report = report or Silent()
        self.backend = places.private(sandbox.folder / "pulumi")
        self._scratch = places.private(sandbox.folder / "stacks")
        self._mark = processes.record_path(sandbox.folder / "run", "pulumi")
        self._shim: Path | None = None
        if shim.real_host(tools["pulumi"]) is None:
            self._shim = shim.write(sandbox.folder / "bin").parent

    @property
    def kubeconfig(self) -> Path:
        """The sandbox's own, or a file with the contexts of the others too, written anew where they have changed."""
        if not self.others:
            return self.sandbox.kubeconfig
        path = Layout(self.sandbox.name, self.sandbox.folder).kubeconfig_of(
            "-".join(["with", *(each.name for each in self.others)])
        )
        kubeconfig.write_merged(path, [each.kubeconfig for each in (self.sandbox, *self.others)])
        return path

    def environment(self) -> dict[str, str]:
        """The environment pulumi runs in. What a user has set for other backends and clusters has no say in it."""
        first = [self._shim] if self._shim else []
        folders = dict.fromkeys(str(path) for path in [*first, *(tool.parent for tool in self.tools.values())])
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PULUMI_", "KUBE"))}
        loopback = "127.0.0.1,localhost"
        environment = kept | {
            "PATH": os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)]),
            # Outside the sandbox: a plugin that was downloaded once serves the next sandbox too.
            "PULUMI_HOME": str(places.private(places.cache_root() / "pulumi-home")),
            "PULUMI_BACKEND_URL": f"file://{self.backend}",
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_ERROR_OUTPUT_STRING": "true",
            "KUBECONFIG": str(self.kubeconfig),
            # gRPC on loopback would otherwise ask a proxy.
            "NO_PROXY": ",".join(filter(None, [kept.get("NO_PROXY") or kept.get("no_proxy"), loopback])),
            "no_proxy": ",".join(filter(None, [kept.get("no_proxy") or kept.get("NO_PROXY"), loopback])),
            processes.MARK: str(self._mark),
        }
        if PROVIDER in self.tools:
            environment["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
        return environment

    def run(
        self, arguments: Sequence[str], *, stack: str | None = None, capture: bool = True, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """Run `pulumi ARGUMENTS [--stack STACK]` in the project's folder.

        capture: keep the output (stdout and stderr of the result); otherwise it goes to ours as it comes.
        Ctrl-C and SIGTERM are passed on, and pulumi is given the time to write down what it has done.
        """
        doing = f"pulumi {' '.join(arguments[:1])} on sandbox {self.sandbox.name}"
        lock = locks.path_for(self.sandbox.folder, "engine")
        with locks.hold(lock, doing, self.report, limit=WAIT_FOR_OTHERS):
            self._clear_orphans()
            return self._run(arguments, self.project, stack=stack, capture=capture, check=check)

    def ensure_stack(self, stack: str = "dev") -> None:
        """Make the stack if it is not there, and make it usable again if an update of it was cut off."""
        lock = locks.path_for(self.sandbox.folder, "engine")
        with locks.hold(lock, f"preparing stack {stack}", self.report, limit=WAIT_FOR_OTHERS):
            self._clear_orphans()
            if not self._state_of(stack).exists():
                # In a folder of its own: `stack init` takes no --config-file and would write into the project's file.
                shutil.copyfile(self.project / "Pulumi.yaml", self._scratch / "Pulumi.yaml")
                stackfile.refresh(self.project, self._scratch, stack)
                self._run(["stack", "init", stack, "--no-select"], self._scratch)
            if self._locked(stack):
                self.report.say(f"An update of stack {stack} was cut off; its lock is removed.")
                self._run(["cancel", "--yes", "--stack", stack], self._scratch)
            number = pendings.count(self._state_of(stack))
            if number:
                self.report.say(
                    f"{number} operation(s) of stack {stack} were cut off; asking the cluster how they ended."
                )
                self._settle(stack)

    def up(self, stack: str = "dev", *extra: str, capture: bool = True) -> subprocess.CompletedProcess[str]:
        """`pulumi up`, without questions."""
        return self._whole(["up", *_UNATTENDED, *extra], stack, capture=capture)

    def preview(
        self, stack: str = "dev", *extra: str, capture: bool = True, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """`pulumi preview`; extra: for instance --expect-no-changes, --diff, --policy-pack DIR."""
        return self._whole(["preview", *extra], stack, capture=capture, check=check)

    def refresh(self, stack: str = "dev", *extra: str, capture: bool = True) -> subprocess.CompletedProcess[str]:
        """`pulumi refresh`, without questions."""
        return self._whole(["refresh", *_UNATTENDED, *extra], stack, capture=capture)

    def destroy(self, stack: str = "dev", *extra: str, capture: bool = True) -> subprocess.CompletedProcess[str]:
        """`pulumi destroy`, without questions; the stack itself stays."""
        return self._whole(["destroy", *_unattended("destroy"), *extra], stack, capture=capture)

    def hand_over(self, words: Sequence[str], stack: str = "dev") -> int:
        """Run any pulumi command on the stack, its output going to ours, and return pulumi's exit status."""
        command, *rest = words
        if command in _READS_THE_STACK_FILE:
            unattended = _unattended(command) if command in _ASKS else ()
            return self._whole([command, *unattended, *rest], stack, capture=False, check=False).returncode
        self.ensure_stack(stack)
        return self.run(words, stack=stack, capture=False, check=False).returncode

    def outputs(self, stack: str = "dev") -> dict[str, Any]:
        """What the program exported last, secrets in the clear: this is a sandbox."""
        self.ensure_stack(stack)
        found = json.loads(self.run(["stack", "output", "--json", "--show-secrets"], stack=stack).stdout)
        return dict(found)

    def _whole(
        self, arguments: Sequence[str], stack: str, *, capture: bool, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        self.ensure_stack(stack)
        copy = stackfile.refresh(self.project, self._scratch, stack)
        return self.run([*arguments, "--config-file", str(copy)], stack=stack, capture=capture, check=check)

    def _settle(self, stack: str) -> None:
        """See sandbox.pendings."""
        exported = self._scratch / f"{stack}.json"
        stackfile.refresh(self.project, self._scratch, stack)
        self._run(["stack", "export", "--file", str(exported)], self._scratch, stack=stack)
        state = pendings.assume_created(json.loads(exported.read_text(encoding="utf-8")))
        files.write_whole(exported, json.dumps(state))
        self._run(["stack", "import", "--file", str(exported)], self._scratch, stack=stack)
        exported.unlink()
        copy = stackfile.copy_path(self._scratch, stack)
        arguments = ["refresh", *_UNATTENDED, "--clear-pending-creates", "--config-file", str(copy)]
        self._run(arguments, self.project, stack=stack)

    def _run(
        self,
        arguments: Sequence[str],
        cwd: Path,
        *,
        stack: str | None = None,
        capture: bool = True,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        colored = not capture and sys.stdout.isatty()
        command = [str(self.tools["pulumi"]), *arguments, "--non-interactive"]
        command += ["--color", "always" if colored else "never"]
        command += ["--stack", stack] if stack else []
        # Files rather than pipes: should we be killed, a pipe would kill pulumi at its next word, in mid-operation.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                command,
                cwd=cwd,
                env=self.environment(),
                stdin=None if _given_on_standard_input(arguments, capture) else subprocess.DEVNULL,
                stdout=out if capture else None,
                stderr=errors if capture else None,
                # A session of its own: at a second SIGINT pulumi drops everything, so the terminal's must not come on
                # top of the one we pass on.
                start_new_session=True,
            )
            try:
                with interrupts.terminable():
                    process.wait()
            except BaseException:
                self._cut_off(process)
                raise
            done = subprocess.CompletedProcess(command, process.returncode, _text(out), _text(errors))
        if check and done.returncode != 0:
            said = diagnostics.of(done.stdout + done.stderr)
            raise EngineError(
                f"pulumi {arguments[0]} failed (status {done.returncode}).",
                remedy="pulumi says why." if capture else "pulumi said why above.",
                evidence="\n".join(said[-LAST_LINES:]),
            )
        return done

    def _cut_off(self, process: subprocess.Popen[bytes]) -> None:
        """Pass an interrupt on, once: pulumi finishes what is under way and writes it down. A second one is final."""
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=FINISH_WITHIN)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.kill()
            process.wait()
        finally:
            # Its plugins have process groups of their own and outlive a pulumi that was killed.
            processes.end(processes.marked(self._mark), grace=2)

    def _clear_orphans(self) -> None:
        """End a pulumi whose ringfence was killed. We hold the lock, so no living one has a run under way."""
        left = processes.marked(self._mark)
        if not left:
            return
        self.report.say("A pulumi of an earlier run is still at work: asking it to stop.")
        asked = []
        for process in left:
            with suppress(psutil.NoSuchProcess):
                # Only pulumi itself: it writes down what it has done and ends its plugins.
                if process.name() == "pulumi":
                    process.send_signal(signal.SIGINT)
                    asked.append(process)
        psutil.wait_procs(asked, timeout=FINISH_WITHIN)
        processes.end(processes.marked(self._mark), grace=2)

    def _stack_path(self) -> Path:
        return Path(stackfile.project_name(self.project))

    def _state_of(self, stack: str) -> Path:
        return self.backend / ".pulumi" / "stacks" / self._stack_path() / f"{stack}.json"

    def _locked(self, stack: str) -> bool:
        folder = self.backend / ".pulumi" / "locks" / "organization" / self._stack_path() / stack
        return any(folder.glob("*.json"))


def _unattended(command: str) -> tuple[str, ...]:
    """So that no question is asked. A destroy keeps its preview: it is where what is protected stops all of it."""
    return ("--yes",) if command == "destroy" else _UNATTENDED


def _given_on_standard_input(arguments: Sequence[str], capture: bool) -> bool:
    """As `pulumi config set --secret KEY < FILE`. Of a terminal, pulumi in a session of its own could read nothing."""
    return not capture and arguments[0] == "config" and not sys.stdin.isatty()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
