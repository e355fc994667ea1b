"""The checks themselves, one file per part of the interface."""
