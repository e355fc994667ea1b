"""One life of the bot: its process, its disk, its configuration and its strategy's moods."""
