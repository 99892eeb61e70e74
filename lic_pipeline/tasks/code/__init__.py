"""Code (HumanEval, LiveCodeBench): programs lifted from replies and tested in the sandbox.

``task`` holds the task object; the other modules are its parts.
"""

from lic_pipeline.tasks.code.task import TASK

__all__ = ["TASK"]
