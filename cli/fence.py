"""`ringfence fence`: what confidential containers need besides `pulumi up`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.fence_preflight import preflight
from cli.fence_verify import verify
from cli.output import MISUSED, WRONG, err, fail, out
from cli.sandbox import clear_errors
from cli.stack_config import ConfigError, StackConfig
from components.trustee import keys as made
from sandbox import pair, places, toolchain
from sandbox.errors import SandboxError
from sandbox.report import ConsoleReport
from settings.errors import SettingsError
from settings.fence import Fence
from settings.kbs import is_host
from settings.kbs_secrets import is_address
from settings.load import ANY_DAY, read
from settings.secrets import key_of
from settings.trustee import Broker
from settings.trustee_operator import NAMESPACE

app = typer.Typer(no_args_is_help=True, help="Confidential containers: keys of the key broker, and more.")
app.command()(preflight)
app.command()(verify)


@app.callback()
def fence() -> None:
    """Confidential containers."""


@app.command()
def keys(
    stack: Annotated[str, typer.Option("--stack", help="The stack whose file gets them, encrypted.")],
    host: Annotated[list[str], typer.Option("--host", help="Host name or address of the KBS; as often as it has.")],
    broker: Annotated[
        Broker | None, typer.Option(help="The token broker. Without it, the stack file's, or else Ear.")
    ] = None,
    namespace: Annotated[
        str | None, typer.Option(help="The namespace of the KBS. Without it, the stack file's, or else the usual one.")
    ] = None,
    rotate: Annotated[
        bool, typer.Option("--rotate", help="Replace those there are; guests trust the same CA.")
    ] = False,
    rotate_ca: Annotated[bool, typer.Option("--rotate-ca", help="Replace the CA too, which guests then lack.")] = False,
    ca_out: Annotated[Path, typer.Option(help="Where to write the CA's certificate, which is public.")] = Path(
        "kbs-ca.pem"
    ),
    project: Annotated[Path, typer.Option(help="The folder of Pulumi.yaml.")] = places.CHECKOUT,
    in_pair: Annotated[
        bool, typer.Option("--pair", help="For a stack that `ringfence sandbox pair pulumi` deploys.")
    ] = False,
) -> None:
    """Make the keys and certificates of a key broker and keep them in a stack's file as secrets. None is printed."""
    # Before anything is kept: what then could not be ended would have to be rotated.
    _judge(host, ca_out, project)
    broker, namespace = _as_declared(project / f"Pulumi.{stack}.yaml", host, broker, namespace)
    config = _in_pair(project, stack) if in_pair else StackConfig(_pulumi(), project, stack)
    try:
        names = _store(config, host, broker, namespace, rotate=rotate, rotate_ca=rotate_ca)
        ca_out.write_text(config.get(key_of(made.CA_CERTIFICATE)) + "\n", encoding="utf-8")
    except ConfigError as error:
        fail(f"{error}. {error.remedy}")
    except OSError as error:
        fail(f"{ca_out} cannot be written: {error.strerror}. Name another with --ca-out, and add --rotate.", MISUSED)
    for name in names:
        out.print(key_of(name), markup=False)
    err.print(f"\nThey are in Pulumi.{stack}.yaml, encrypted.", markup=False)
    err.print(f"Guests have to trust {ca_out}: add it to the CA bundle in the guest's root file system.", markup=False)
    get = f"config get {key_of(made.ADMIN_PRIVATE)}"
    command = f"ringfence sandbox pair pulumi {stack} {get}" if in_pair else f"pulumi {get} --stack {stack}"
    err.print(f"For kbs-client: {command} > FILE", markup=False)


def _judge(hosts: Sequence[str], ca_out: Path, project: Path) -> None:
    for host in hosts:
        if not is_host(host) and not is_address(host):
            fail(f"--host {host!r} is no host name and no address. Write it without scheme, port and path.", MISUSED)
    if not (project / "Pulumi.yaml").is_file():
        fail(f"there is no Pulumi.yaml in {project}. Name the folder of one with --project.", MISUSED)
    if ca_out.is_dir() or not os.access(ca_out if ca_out.exists() else ca_out.parent, os.W_OK):
        fail(f"{ca_out} cannot be written. Name another file with --ca-out.", MISUSED)


def _as_declared(path: Path, hosts: Sequence[str], broker: Broker | None, namespace: str | None) -> tuple[Broker, str]:
    """Of the stack file, if it is there yet: keys that do not fit it would have to be rotated at once."""
    declared: Fence | None = None
    with suppress(SettingsError):
        declared = read(path, ANY_DAY).fence
    kbs, operator = (declared.kbs, declared.trustee_operator) if declared is not None else (None, None)
    if kbs is not None and kbs.address.host not in hosts:
        fail(f"{path.name} has kbs.address.host: {kbs.address.host}. Add --host {kbs.address.host}.", MISUSED)
    if kbs is not None and broker not in {None, kbs.token.broker}:
        fail(f"{path.name} has kbs.token.broker: {kbs.token.broker}. Leave --broker out, or correct one.", MISUSED)
    found = operator.namespace if operator is not None else NAMESPACE
    if namespace is not None and operator is not None and namespace != found:
        fail(f"{path.name} has the key broker in {found}. Leave --namespace out, or correct one.", MISUSED)
    chosen = namespace if namespace is not None else found
    if not is_host(chosen) or "." in chosen:
        fail(f"--namespace {chosen!r} cannot be one. Write that of trusteeOperator in the stack file.", MISUSED)
    return broker or (kbs.token.broker if kbs is not None else "Ear"), chosen


def _store(
    config: StackConfig,
    hosts: Sequence[str],
    broker: Broker,
    namespace: str,
    *,
    rotate: bool,
    rotate_ca: bool,
) -> list[str]:
    """Make and keep them; the names of those that were."""
    there = config.keys()
    now = datetime.now(UTC)
    has_ca = {key_of(made.CA_KEY), key_of(made.CA_CERTIFICATE)} <= there
    if has_ca and not rotate_ca:
        authority = made.Authority(
            config.get(key_of(made.CA_CERTIFICATE)) + "\n", config.get(key_of(made.CA_KEY)) + "\n"
        )
        fresh: dict[str, str] = {}
    else:
        authority = made.new_authority(now)
        fresh = {made.CA_KEY: authority.key, made.CA_CERTIFICATE: authority.certificate}
    try:
        fresh |= made.new_keys(authority, hosts, namespace, broker, now)
    except ValueError:
        # The library's message may quote what it could not read.
        fail(
            f"{key_of(made.CA_KEY)} and {key_of(made.CA_CERTIFICATE)} are no authority that was made here. Put back "
            "those that guests trust, or make new ones with --rotate-ca."
        )
    taken = [name for name in fresh if key_of(name) in there]
    if taken and not (rotate or rotate_ca):
        fail(
            f"{key_of(taken[0])} and {len(taken) - 1} more are there already; replacing them shuts out who uses them. "
            "Add --rotate to replace them, --rotate-ca for the CA as well.",
            MISUSED,
        )
    for number, (name, value) in enumerate(fresh.items()):
        try:
            config.set_secret(key_of(name), value)
        except ConfigError as error:
            if not number:
                raise
            kept = f"{number} of {len(fresh)} keys are kept, which do not go together"
            raise ConfigError(str(error), f"{kept}: put it right and run the same with --rotate-ca.") from None
    return list(fresh)


def _in_pair(project: Path, stack: str) -> StackConfig:
    """The pair has a state and a passphrase of its own, of which the user's pulumi knows nothing."""
    report = ConsoleReport(err)
    with clear_errors():
        found = pair.find()
        if found is None:
            fail("the two clusters are not up. Start them: ringfence sandbox pair up", WRONG)
        tools = toolchain.ensure(report)
        engine = found.engine(tools, project, report)
        engine.ensure_stack(stack)
        return StackConfig(tools["pulumi"], project, stack, engine.environment())


def _pulumi() -> Path:
    """The user's own, or else the pinned one."""
    found = shutil.which("pulumi")
    if found is not None:
        return Path(found)
    try:
        return toolchain.ensure(ConsoleReport(err))["pulumi"]
    except SandboxError as error:
        fail(str(error), WRONG)
