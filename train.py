"""The main job: compose, compile, train, report.

python train.py                        the default: dates in eight languages to ISO, with a small transformer
python train.py mixer=mingru           the same graph with another mixer in every slot
python train.py --help                 every group and its options
"""

import os
import sys

import hydra
from omegaconf import DictConfig

from composer.config import PRIMARY, hydra_errors, understand
from composer.problems import UserError


@hydra.main(version_base="1.3", config_path="pkg://conf", config_name=PRIMARY)
def job(config: DictConfig) -> None:
    overrides = list(hydra.core.hydra_config.HydraConfig.get().overrides.task)
    composed = understand(config, overrides)
    from composer.run import run  # torch and Lightning: only once there is something to train

    run(composed)


def main() -> int:
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # Hydra then lets us say in one sentence what is wrong
    try:
        with hydra_errors(sys.argv[1:]):
            job()
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
