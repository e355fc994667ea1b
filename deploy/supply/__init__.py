"""The supply chain: what is shipped as a list for machines, and what is known against it."""
