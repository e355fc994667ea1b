"""Claims about the configuration of a running bot: its keys, its changes, its pages."""
