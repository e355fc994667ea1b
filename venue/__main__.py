"""Where `venue` and `python -m venue` begin: Ctrl-C while the program loads is quiet too."""

import sys

_EXIT_INTERRUPTED = 130
"""As a shell says it of SIGINT."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        from venue.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(_EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
