"""Seeded traders and recorded tapes, as flow for the embedded venue."""
