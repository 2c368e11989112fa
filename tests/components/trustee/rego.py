"""A Rego engine in a process of its own.

regopy and the CEL library are both C++ and carry libraries of the same names; with both in one process the heap was
corrupted, and Python aborted in tests far away.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def evaluate(policy: str, rule: str, given: Any, data: Any) -> Any:
    """The value of a rule of the policy for this input and data, as JSON has it."""
    question = json.dumps({"policy": policy, "rule": rule, "given": given, "data": data})
    done = subprocess.run([sys.executable, __file__], input=question, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _answer(policy: str, rule: str, given: Any, data: Any) -> Any:
    from regopy import Input, Interpreter

    rego = Interpreter()
    rego.add_module("policy", policy)
    rego.add_data_json(json.dumps(data))
    rego.set_input(Input(given))
    return rego.query(f"x := data.policy.{rule}")[0]["x"]


if __name__ == "__main__":
    json.dump(_answer(**json.load(sys.stdin)), sys.stdout)
