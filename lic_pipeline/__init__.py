"""lic_pipeline: does a language model get lost when a user tells it things bit by bit?

The science lives here as plain Python; the order of work lives in ``assets`` (Dagster), the outside world in
``resources``. Only ``lic_pipeline.definitions`` and ``lic_pipeline.cli`` may import Dagster.
"""
