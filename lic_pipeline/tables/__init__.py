"""One TableSpec per table: ``spec`` says what a spec is, the other modules specify the tables of a stage each."""

from lic_pipeline.tables.spec import Column, ColumnType, TableSpec, register, registered

__all__ = ["Column", "ColumnType", "TableSpec", "register", "registered"]
