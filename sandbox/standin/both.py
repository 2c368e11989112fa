"""Both stand-ins, started and stopped together."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from sandbox.standin.behaviour import CcBehaviour, KbsBehaviour
from sandbox.standin.cc_operator import CcOperator
from sandbox.standin.kbs_operator import KbsOperator
from sandbox.standin.loop import Log, Loop


class StandIn:
    """cc-operator on one cluster, trustee-operator on the other (or the same): kubeconfigs, and how they behave."""

    def __init__(
        self, workload: Path, trusted: Path, cc: CcBehaviour | None = None, kbs: KbsBehaviour | None = None
    ) -> None:
        self._cc = cc or CcBehaviour()
        self._kbs = kbs or KbsBehaviour()
        self.cc_log, self.kbs_log = Log(), Log()
        cc_operator = CcOperator(workload, lambda: self._cc, self.cc_log)
        self._kbs_operator = KbsOperator(trusted, lambda: self._kbs, self.kbs_log)
        self._loops = (
            Loop("cc-operator", cc_operator.step, cc_operator.close, self.cc_log),
            Loop("trustee-operator", self._kbs_operator.step, self._kbs_operator.close, self.kbs_log),
        )

    @property
    def kbs_port(self) -> int | None:
        """Where the KBS answers on loopback, None while it does not."""
        return self._kbs_operator.answer.port

    def behave(self, cc: CcBehaviour | None = None, kbs: KbsBehaviour | None = None) -> None:
        """Behave otherwise; when this returns, they do."""
        self._cc, self._kbs = cc or self._cc, kbs or self._kbs
        for loop in self._loops:
            loop.await_pass()

    def start(self) -> None:
        for loop in self._loops:
            loop.start()

    def stop(self) -> None:
        for loop in self._loops:
            loop.ask_to_stop()
        for loop in self._loops:
            loop.stop()

    def __enter__(self) -> StandIn:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
