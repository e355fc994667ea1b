"""All events of a series: the channel that shows them, quoting them, scoring, and their end."""
