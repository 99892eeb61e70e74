"""The outside world as thin Dagster resources: the home folder with its lake, the ledger, the warehouse."""
