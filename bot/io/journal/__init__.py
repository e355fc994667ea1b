"""The journal: what is on disk before it happens, how it is read again, and made small."""
