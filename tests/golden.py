"""Pictures of the page against small ones that a person has looked at (tests/golden/*.png).

Shrunk to cells of 8 x 8 pixels, so that the fonts and the smoothing of another browser change a cell a little, while quanta, edges or gaps that are missing, an axis
that moved or colours that are wrong change many cells a lot (bands and findings are thin: html_in_chromium.py switches each layer off by itself). BANDSCOPE_GOLDEN=write writes them anew: then look at them.
"""

import io
import os
import pathlib

from PIL import Image, ImageChops, ImageStat

DIRECTORY = pathlib.Path(__file__).resolve().parent / "golden"
CELL = 8
# Levels of 255, and the share of cells that are more than FAR apart. Measured: 0 and 0 from run to run; at most 1.25 and 0.3 % in a serif or monospaced font;
# quanta, edges or gaps switched off 0.8 to 3.4 and 1.2 to 7.4 %, another value 4.0 to 5.4 and 6.7 % and more, the axis 3 % shorter 1.6 to 4.6 and 2.0 % and more.
MEAN = 1.5
FAR, FAR_SHARE = 40, 0.01


def shrunk(png):
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    size = (max(1, picture.width // CELL), max(1, picture.height // CELL))
    return picture.resize(size, Image.Resampling.BOX)


def difference(one, other):
    """Mean difference in levels, and the share of cells that are far off; all of them where the sizes differ."""
    if one.size != other.size:
        return 255.0, 1.0
    apart = ImageChops.difference(one, other)
    mean = sum(ImageStat.Stat(apart).mean) / 3
    far = sum(1 for cell in apart.getdata() if max(cell) > FAR)
    return mean, far / (one.width * one.height)


def same(one, other):
    mean, far = difference(one, other)
    return mean <= MEAN and far <= FAR_SHARE


class Golden:
    """Compares pictures as they come, and says at the end which differed, and whether any two could be taken for each other."""

    def __init__(self, out):
        self.out, self.pictures, self.wrong = out, {}, []

    def check(self, name, png):
        picture = shrunk(png)
        self.pictures[name] = picture
        path = DIRECTORY / f"{name}.png"
        if os.environ.get("BANDSCOPE_GOLDEN") == "write":
            DIRECTORY.mkdir(exist_ok=True)
            picture.save(path, optimize=True)
        picture.save(self.out / f"golden-{name}.png")
        if not path.exists():
            self.wrong.append(f"{name}: there is no {path}")
        elif not same(picture, known := Image.open(path).convert("RGB")):
            mean, far = difference(picture, known)
            self.wrong.append(f"{name}: {picture.size} against {known.size}, {mean:.2f} levels apart, {far:.1%} of it far; see {self.out}/golden-{name}.png")

    def done(self):
        assert not self.wrong, "\n".join(self.wrong)
        names = sorted(self.pictures)
        alike = [(a, b) for a in names for b in names if a < b and same(self.pictures[a], self.pictures[b])]
        assert not alike, f"no picture may pass for another: {alike}"
