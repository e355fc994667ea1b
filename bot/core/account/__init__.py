"""Cash, shares and fills: the pages that are read, and the books that are kept of them."""
