"""Readers of the raw benchmark files: one module per format, each turning a folder into instructions."""
