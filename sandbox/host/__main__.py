"""Started by the shim that sandbox.host.shim writes, as `pulumi-language-python [flags] ENGINE_ADDRESS`."""

from __future__ import annotations

import sys
from pathlib import Path

# Run as a file, Python puts this folder first on the path; the checkout is what holds the package.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from sandbox.host.server import main  # noqa: E402

main(sys.argv[1:])
