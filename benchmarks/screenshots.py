"""Screenshots of what the commands draw: docs/images, light and dark, 1,400 and 400 pixels wide.

    python -m benchmarks.screenshots

trains a small model with two heads, inspects it, draws a graph, and takes the pictures with Debian's Chromium, by
Playwright (both belong to the extra ``dev`` alone). It takes about two minutes.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
WIDTHS = {1400: 1000, 400: 900}  # in pixels, with the height of the picture

TRAINED = ["experiment=intents", "training.steps=60", "training.validate_every=30", "training.figures=false"]
DRAWN = ["experiment=hybrid", "--open"]
COMPARED = ["mixer=mingru", "--against", "mixer=attention"]

#: The colours of a picture: enough for plain pages, and small files.
COLOURS = 96

PAGE = """<!doctype html><meta name="viewport" content="width=device-width"><style>:root {{ color-scheme: light dark }}
body {{ margin: 0 }} @media (prefers-color-scheme: dark) {{ body {{ background: #14181d }} }}
img {{ display: block; max-width: 100%; margin: auto }}</style><img src="{}">"""


def pages(folder: Path) -> Iterator[tuple[str, Path]]:
    """The pages to show, each with the name of its pictures."""
    commands = [
        ["train", *TRAINED, f"runs={folder}", "name=intents"],
        ["inspect", str(folder / "intents")],
        ["draw", *DRAWN, "-o", str(folder / "draw.svg")],
        ["draw", *COMPARED, "-o", str(folder / "against.svg")],
    ]
    for command in commands:
        subprocess.run([sys.executable, "-m", "composer", *command], cwd=ROOT, check=True)
    yield "inspect", folder / "intents" / "inspect" / "inspect.html"
    for name in ("draw", "against"):
        page = folder / f"{name}.html"
        page.write_text(PAGE.format(f"{name}.svg"))
        yield name, page


def small(picture: bytes) -> bytes:
    """The PNG with a palette."""
    buffer = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        buffer, "png", optimize=True
    )
    return buffer.getvalue()


def take(shown: list[tuple[str, Path]]) -> None:
    from playwright.sync_api import sync_playwright

    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for scheme in ("light", "dark"):
            for width, height in WIDTHS.items():
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
                for name, path in shown:
                    page.goto(path.as_uri())
                    target = IMAGES / f"{name}-{scheme}-{width}.png"
                    target.write_bytes(small(page.screenshot()))
                    print(f"wrote {target.relative_to(ROOT)}  {target.stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        take(list(pages(Path(temporary))))
