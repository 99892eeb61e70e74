"""Actions (BFCL parallel): function calls parsed as data and matched one to one.

``task`` holds the task object; the other modules are its parts.
"""

from lic_pipeline.tasks.actions.task import TASK

__all__ = ["TASK"]
