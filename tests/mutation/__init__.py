"""Mutation testing: whether the fast tests of the modules that money hangs on notice a change."""
