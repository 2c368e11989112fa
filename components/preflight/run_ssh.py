"""Runs the script on hosts with the user's own ssh: its configuration, its keys, its known hosts, and no questions."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from components.preflight.facts import Facts, NoFactsError, parse, script

AT_ONCE = 8


def gather(hosts: Sequence[str], timeout: int) -> dict[str, Facts | str]:
    """Host (as ssh takes it: user@host or an alias) → its facts, or a sentence why there are none.

    timeout: seconds for each host. Another host is not kept waiting by one that does not answer.
    """
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        return dict(zip(hosts, pool.map(lambda host: _gather(host, timeout), hosts), strict=True))


def _gather(host: str, timeout: int) -> Facts | str:
    command = ["ssh", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={min(timeout, 15)}", "-T", "--", host, "sh -s"]
    try:
        done = subprocess.run(
            command, input=script(), capture_output=True, text=True, errors="replace", timeout=timeout, check=False
        )
    except FileNotFoundError:
        return "there is no ssh on this machine's PATH."
    except subprocess.TimeoutExpired:
        return f"ssh has not come back after {timeout} s."
    try:
        return parse(done.stdout)
    except NoFactsError as error:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        return f"ssh ended with status {done.returncode}: {said[-1].rstrip('.')}." if said else str(error)
