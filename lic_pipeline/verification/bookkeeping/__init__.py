"""What is up to date, wanted, done and missing: manifests, fingerprints, status, and the ledger replayed."""
