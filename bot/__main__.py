"""Where `bot` and `python -m bot` begin."""

from venue.cli.begin import begin


def _run() -> None:
    from bot.cli.main import main as run

    run()


def main() -> None:
    """Run the command line and end the process with its exit code."""
    begin(_run)


if __name__ == "__main__":
    main()
