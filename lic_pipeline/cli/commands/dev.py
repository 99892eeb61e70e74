"""``lic dev``: the Dagster UI on this project, with its instance under LIC_HOME."""

from __future__ import annotations

from typing import Annotated

import typer


def dev(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the UI.")] = 3000,
    host: Annotated[str, typer.Option(help="Address the UI listens on; loopback unless you say otherwise.")] = (
        "127.0.0.1"
    ),
) -> None:
    """Start the Dagster UI and daemon; stop them with Ctrl-C."""
    import os
    import sys

    from lic_pipeline.cli.shared.dagster_jobs import prepare_instance
    from lic_pipeline.config import Home
    from lic_pipeline.errors import ConfigError
    from resources.instance import open_instance

    program = os.path.join(os.path.dirname(sys.executable), "dagster")
    if not os.path.exists(program):
        raise ConfigError("the dagster command is not installed beside this Python; run `make dev` in a checkout")
    home = Home.locate()
    prepare_instance(home)
    # The web server and the daemon would make the storage both at once, beside any `lic run`.
    with open_instance(home.dagster):
        pass
    os.execv(program, [program, "dev", "-m", "lic_pipeline.definitions", "--port", str(port), "--host", host])
