"""Where trials come from: the small world, what can be wrong with it, histories, and the layers of them."""
