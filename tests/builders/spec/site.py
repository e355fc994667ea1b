"""The addresses of a venue process that is judged."""

from pathlib import Path


class Site:
    """Where a venue and its operator's side answer, and the file with the operator's token."""

    def __init__(self, ready: dict[str, str], control: str, token_file: Path) -> None:
        self.base_url = ready["base_url"]
        self.stream_url = ready["stream_url"]
        self.control = control
        self.token_file = token_file
