"""How the bot makes an HTML page: its skeleton, its tables and its plots."""
