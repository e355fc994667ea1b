"""A run as one page: what it earned and from what, what it held, quoted, asked and was refused."""
