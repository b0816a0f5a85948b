#!/usr/bin/env python
"""Train a model, as ``composer train`` does. ``python train.py --help`` lists every group and its options."""

import sys

from composer.cli.train import main

if __name__ == "__main__":
    main(sys.argv[1:])
