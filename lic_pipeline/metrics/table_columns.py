"""Columns that several metric tables share, and makers of columns by kind. The tables stand in ``tables``."""

from __future__ import annotations

from lic_pipeline.tables import Column

EXPERIMENT = Column("experiment", "string", "experiment")
CONDITION = Column("condition", "json", "condition columns as a JSON object")
TASK = Column("task", "string", "task")
MODEL = Column("model", "string", "registry entry under test")
SETTING = Column("setting", "string", "how the instruction is revealed")
SIGNATURE = Column("signature", "string", "what the numbers depend on; of several cells, a hash over theirs")
REASON = Column("reason", "string", "why values are NULL", nullable=True)
CELL = (EXPERIMENT, CONDITION, TASK, MODEL, SETTING)
OVER_TASKS = (EXPERIMENT, CONDITION, MODEL, SETTING)
CELL_KEY = tuple(column.name for column in CELL)
MODEL_KEY = tuple(column.name for column in OVER_TASKS)


def count(name: str, description: str, nullable: bool = False) -> Column:
    """A count, never negative."""
    return Column(name, "int", description, nullable=nullable, minimum=0)


def points(name: str, description: str) -> Column:
    """A value on the scale 0..100, NULL where undefined."""
    return Column(name, "float", description, nullable=True, minimum=0, maximum=100)


def share(name: str, description: str) -> Column:
    """A share 0..1, NULL where undefined."""
    return Column(name, "float", description, nullable=True, minimum=0, maximum=1)


def number(name: str, description: str) -> Column:
    """A number without a range, NULL where undefined."""
    return Column(name, "float", description, nullable=True)


def text(name: str, description: str) -> Column:
    """Text, NULL where there is none."""
    return Column(name, "string", description, nullable=True)


def yes(name: str, description: str, nullable: bool = False) -> Column:
    """Yes or no."""
    return Column(name, "bool", description, nullable=nullable)


def interval(name: str, what: str) -> tuple[Column, Column]:
    """The two ends of an interval, 95%."""
    return points(f"{name}_low", f"lower end, 95%, {what}"), points(f"{name}_high", f"upper end, 95%, {what}")


BOUNDS = (
    points("P_if_missing_0", "P with missing runs counted as 0"),
    points("P_if_missing_100", "P with missing runs counted as 100"),
)
BOUNDS_DIFFER = yes("bounds_differ", "the two bounds differ by more than 2 points")
APTITUDE = (
    points("A90", "aptitude: mean 90th percentile"),
    *interval("A90", "A90 over instructions"),
    points("U90_10", "unreliability: mean 90th - 10th percentile"),
    *interval("U90_10", "U90-10 over instructions"),
    text("aptitude_method", "method of the intervals of A90 and U90-10"),
    points("R", "reliability: 100 - U90-10"),
)
KINDS = (
    points("score_max", "mean score of the best attempt"),
    points("score_last", "mean score of the last attempt"),
    points("score_first", "mean score of the first attempt"),
    points("score_full_info", "mean score of the first attempt with every shard out"),
    count("n_full_info", "conversations with such an attempt"),
    points("score_cumulative", "mean cumulative score (actions)"),
    points("score_reference", "mean headline score under the reference policy"),
)
COUNTS = (
    count("n_planned", "conversations planned"),
    count("n_scored", "conversations with a score"),
)
DROP = (
    number("drop_points", "setting P - FULL P, points"),
    Column("drop_low", "float", "lower end of the drop, 95%", True, -100, 100),
    Column("drop_high", "float", "upper end of the drop, 95%", True, -100, 100),
    text("drop_method", "method of the interval of the drop"),
    share("p_value", "two-sided sign-flip p"),
)
