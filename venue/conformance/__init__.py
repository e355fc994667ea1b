"""The outside judge: the interface as checks in raw JSON against any address. It imports nothing of
the venue and repeats what the interface publishes on purpose: two accounts of the truth."""
