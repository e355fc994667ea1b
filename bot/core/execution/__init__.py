"""Which requests leave now, which may never leave, and which reads are worth a token."""
