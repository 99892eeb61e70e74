"""Data to text (ToTTo): captions of tables, graded by BLEU.

``task`` holds the task object; the other modules are its parts.
"""

from lic_pipeline.tasks.data2text.task import TASK

__all__ = ["TASK"]
