"""Where the command starts: nothing is imported here, because importing takes long enough to be interrupted in."""

from __future__ import annotations

import errno
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main() -> None:
    """Run the command. Ctrl-C before it has begun ends it with 130 and one line, as later."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with importing():
        from cli.main import app

    try:
        app()
    except OSError as error:
        # Each command tells of the files that it was given; what is left is where it prints.
        if error.errno not in _FULL:
            raise
        os.write(2, f"ringfence: standard output cannot be written: {error.strerror}.\n".encode())
        os._exit(2)


@contextmanager
def importing() -> Iterator[None]:
    """While this lasts Ctrl-C ends the process at once: an import that it breaks into can say anything."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(_number: int, _frame: FrameType | None) -> None:
    os.write(2, b"ringfence: stopped before it began.\n")
    os._exit(130)
