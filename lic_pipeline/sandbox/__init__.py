"""Walls around what models write: ``python`` runs programs, the SQL modules run queries. Nothing is scored here."""
