"""``python -m composer``: the commands of composer/cli."""

import sys

from composer.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
