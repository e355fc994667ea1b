"""The trader as a pure function of its event log: no clock, no random number, no I/O, no log."""
