"""From quotes to changes of orders: what is wished, and what that costs in queue place."""
