"""Models under test and in roles: registry, clients, personas, the ledger of everything called and decided."""
