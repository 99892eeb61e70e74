"""Summary (Summary of a Haystack): bullets with citations, judged insight by insight.

``task`` holds the task object; the other modules are its parts.
"""

from lic_pipeline.tasks.summary.task import TASK

__all__ = ["TASK"]
