"""Our orders: the life of one, all of them, and the requests about them."""
