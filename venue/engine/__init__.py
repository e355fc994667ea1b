"""The exchange as a pure function of its command log: no clock, no random number, no I/O."""
