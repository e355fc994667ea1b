"""The contract: what the interface says, as tables and types; no I/O, imports nothing of ours."""
