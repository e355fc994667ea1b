"""What leaves now, what may never leave, and which reads are worth a token."""
