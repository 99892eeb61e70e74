"""Math (GSM8K): one number, found on a ladder of rungs and compared as an exact rational.

``task`` holds the task object; the other modules are its parts.
"""

from lic_pipeline.tasks.math.task import TASK

__all__ = ["TASK"]
