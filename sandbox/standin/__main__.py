"""`python -m sandbox.standin WORKLOAD_KUBECONFIG TRUSTED_KUBECONFIG`: both stand-ins until SIGTERM or Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path

from sandbox.standin.both import StandIn


def main(workload: str, trusted: str) -> None:
    """Says what the operators log as they go."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with StandIn(Path(workload), Path(trusted)) as both:
        logs = {"cc-operator": both.cc_log, "trustee-operator": both.kbs_log}
        told = dict.fromkeys(logs, 0)
        print("watching", flush=True)
        while not ended.wait(1):
            for name, log in logs.items():
                for line in log.lines[told[name] :]:
                    print(f"{name}: {line}", flush=True)
                told[name] = len(log.lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
