"""A pass, again and again, in a thread of its own, until it is stopped; an API server that is away is waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from kubernetes.client import ApiException
from urllib3.exceptions import HTTPError

from sandbox.standin.kube import ANSWERS_WITHIN, message

PAUSE = 0.2
"""Seconds between two passes."""

STOPS_WITHIN = 4 * ANSWERS_WITHIN
"""Seconds `stop` waits for the pass under way."""


class Log:
    """What an operator would have logged; what it has just said, it does not say again."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        if line not in self.lines[-8:]:
            self.lines.append(line)


class Loop:
    """step: one pass; what the API server refuses is logged, and the next pass tries again. close: at the end."""

    def __init__(self, name: str, step: Callable[[], None], close: Callable[[], None], log: Log) -> None:
        self._step, self._close, self._log = step, close, log
        self._stopping = threading.Event()
        self._passes = 0
        # A daemon, so that a test that forgets to stop it cannot keep its process alive.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def await_pass(self) -> None:
        """Returns when a pass that began after this call has ended, or the loop has."""
        wanted = self._passes + 2
        while self._passes < wanted and self._thread.is_alive():
            time.sleep(PAUSE / 10)

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def stop(self) -> None:
        """Returns when no request is under way any more. TimeoutError if that takes too long."""
        self.ask_to_stop()
        self._thread.join(STOPS_WITHIN)
        if self._thread.is_alive():
            raise TimeoutError(f"the stand-in {self._thread.name} does not stop")

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    self._step()
                except ApiException as error:
                    self._log.say(message(error))
                except (HTTPError, OSError) as error:
                    self._log.say(f"the API server does not answer: {type(error).__name__}")
                except Exception as error:  # a thread that dies in silence would look like an operator that hangs
                    self._log.say(f"bug in the stand-in: {error!r}")
                self._passes += 1
                self._stopping.wait(PAUSE)
        finally:
            self._close()
