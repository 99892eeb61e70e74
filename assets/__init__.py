"""The graph, one module per stage in reading order: benchmarks, sharding, simulation, scoring, metrics, reports."""
