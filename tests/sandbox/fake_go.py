"""A `go` that builds in no time: enough of one to see what the toolchain makes of it."""

from __future__ import annotations

from pathlib import Path

SCRIPT = """#!/bin/sh
if [ "$1" = env ]; then
  echo '{{"GOVERSION": "{version}", "GOCACHE": "{cache}/gocache", "GOMODCACHE": "{cache}/gomodcache"}}'
  exit 0
fi
echo "$PWD $GOFLAGS $*" >> "{cache}/calls"
{build}
"""

BUILDS = """
while [ "$1" != -o ]; do shift; done
out=$2; shift 2
case $out in
  */) for package; do echo built > "$out${package##*/}"; done ;;
  *) echo built > "$out" ;;
esac
"""


def install(folder: Path, *, version: str = "go1.26.8", build: str = BUILDS) -> Path:
    """Put it into `folder`, the only folder PATH should then have beside the system's; returns the log of its calls."""
    folder.mkdir(parents=True, exist_ok=True)
    go = folder / "go"
    script = SCRIPT.replace("{{", "{").replace("}}", "}")
    go.write_text(script.replace("{version}", version).replace("{cache}", str(folder)).replace("{build}", build))
    go.chmod(0o755)
    return folder / "calls"
