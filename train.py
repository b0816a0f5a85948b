"""The main job: compose, compile, train, report.

python train.py                        the default: dates in eight languages to ISO, with a small transformer
python train.py mixer=mingru           the same graph with another mixer in every slot
python train.py --help                 every group and its options
"""

import os
import sys

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from composer.config import PRIMARY, hydra_errors, understand
from composer.problems import user_errors


@hydra.main(version_base="1.3", config_path="pkg://conf", config_name=PRIMARY)
def job(config: DictConfig) -> None:
    with user_errors():
        composed = understand(config, list(HydraConfig.get().overrides.task))
        from composer.run import run  # torch and Lightning: only once there is something to train

        run(composed)


if __name__ == "__main__":
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # Hydra then lets us say in one sentence what is wrong
    with user_errors(), hydra_errors(sys.argv[1:]):
        job()
