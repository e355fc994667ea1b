"""One own order: its life, what is known of it, where it stands, how it is found to be gone."""
