"""Statistics on arrays of scores: reliability, intervals, paired tests, degradation. No table and no SQL."""
