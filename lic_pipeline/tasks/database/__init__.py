"""Database (Spider): queries run read-only and compared by what they return.

``task`` holds the task object; the other modules are its parts.
"""

from lic_pipeline.tasks.database.task import TASK

__all__ = ["TASK"]
