"""Where `venue` and `python -m venue` begin."""

from venue.cli.begin import begin


def _run() -> None:
    from venue.cli.main import main as run

    run()


def main() -> None:
    begin(_run)


if __name__ == "__main__":
    main()
