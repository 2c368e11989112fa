"""Runs one Pulumi program in the Python of its choice, for sandbox.host.server, which starts this file as a script.

It may run under another interpreter than the rest of this package and must import nothing but the Pulumi SDK.
Exit status: 0 done, 32 failed and the user has been told why, anything else failed.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Run as a file, Python put this folder first: its modules must not shadow those of the program.
del sys.path[0]

try:
    import pulumi
    import pulumi.runtime
except ImportError:
    traceback.print_exc()
    sys.exit(f"The Pulumi SDK is not installed for {sys.executable}: install the program's requirements there.")

TOLD = 32


def main() -> int:
    """Configure the SDK from the arguments and PULUMI_CONFIG, then run the program."""
    arguments = _arguments()
    pulumi.runtime.set_all_config(pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env())
    pulumi.runtime.configure(
        pulumi.runtime.Settings(
            monitor=arguments.monitor,
            engine=arguments.engine,
            project=arguments.project,
            stack=arguments.stack,
            parallel=arguments.parallel,
            dry_run=arguments.dry_run == "true",
            organization=arguments.organization,
            root_directory=arguments.root,
        )
    )
    os.chdir(arguments.cwd)
    sys.argv = [arguments.program, *arguments.rest]
    # A program that fails leaves half of its futures behind; asyncio's complaints about them would bury the reason.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with ThreadPoolExecutor(max_workers=4 * max(arguments.parallel, 1)) as executor:
        loop.set_default_executor(executor)
        try:
            return _run(loop, arguments.program)
        finally:
            loop.close()


def _run(loop: asyncio.AbstractEventLoop, program: str) -> int:
    def body() -> None:
        runpy.run_path(program, run_name="__main__")

    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(body))
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return 1
    except Exception as error:
        pulumi.log.error("Program failed with an unhandled exception:\n" + _own_part(error, program))
        return TOLD
    return 0


def _own_part(error: Exception, program: str) -> str:
    """The traceback from the first frame of the user's program on; all of it if none is theirs."""
    home = Path(program).resolve()
    home = home if home.is_dir() else home.parent
    frames = traceback.extract_tb(error.__traceback__)
    for index, frame in enumerate(frames):
        if home in Path(frame.filename).resolve().parents:
            return "".join(traceback.format_exception(error, limit=index - len(frames)))
    return "".join(traceback.format_exception(error))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("monitor", "engine", "project", "stack", "organization", "root", "cwd", "dry-run"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("program")
    parser.add_argument("rest", nargs="*")
    return parser.parse_args()


sys.exit(main())
