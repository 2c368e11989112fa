"""Where the command starts: nothing is imported here, because importing takes long enough to be interrupted in."""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command. Ctrl-C before it has begun ends it with 130 and one line, as later."""
    signal.signal(signal.SIGINT, _stop)
    from cli.main import app

    signal.signal(signal.SIGINT, signal.default_int_handler)
    app()


def _stop(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"ringfence: stopped before it began.\n")
    os._exit(130)
