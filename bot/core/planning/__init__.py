"""From wanted quotes to changes of orders, and what each costs in queue place."""
