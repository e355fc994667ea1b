"""Cash, inventory and fills: reads of the account, our books, and how the two reconcile."""
