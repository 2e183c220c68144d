"""What `report --format html` costs: size and time of making, time to the first picture, time of a redraw while zooming, in headless chromium.

Usage: html_figures.py BANDSCOPE [SAMPLES...]

Prints a table for docs/figures.md; asserts nothing. BANDSCOPE should be a release build; needs chromium and playwright as html_in_chromium.py does.
SAMPLES are 524288 (10 kHz) and 20000000 (1 MHz) if not given.
"""

import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

binary = pathlib.Path(sys.argv[1]).resolve()
sizes = [int(text) for text in sys.argv[2:]] or [524_288, 20_000_000]
REPEATS = 5

# From the whole run down to single quanta and back, about a place off the middle; the time from the frame's start until it is handed to be shown.
ZOOM = """async () => {
  const times = [];
  const after = () => new Promise(done => requestAnimationFrame(begun => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(performance.now() - begun);
    channel.port2.postMessage(0);
  }));
  const { view, zoom, look } = bandscope;
  look(0, Infinity);
  await after();
  const about = view.to * 0.37;
  for (let k = 0; k < 60; k++) {
    zoom(k < 30 ? 0.8 : 1.25, about);
    times.push(await after());
  }
  return times;
}"""


def median(values):
    values = sorted(values)
    return f"{statistics.median(values):.0f} ({values[0]:.0f} to {values[-1]:.0f})"


with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
    directory = pathlib.Path(name)
    browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
    print("| quanta | making it, ms (JSON of the same) | file, MB | first picture, ms | redraw while zooming, ms |")
    print("|---|---|---|---|---|")
    for samples in sizes:
        rate = ["--rate", "10kHz"] if samples < 2_000_000 else ["--rate", "1MHz", "--kernel", "mulss20"]
        scene = "simulated:tick+tasks+noise:sigma=0.2%+reads+flips:ratio=1.3"
        record = ["record", "--machine", scene, *rate, "--samples", str(samples), "--output", "one.bandscope"]
        shutil.rmtree(directory / "one.bandscope", ignore_errors=True)
        subprocess.run([binary, *record], cwd=directory, check=True, capture_output=True)
        made = {"html": [], "json": []}
        for _ in range(REPEATS):
            for form, times in made.items():
                begun = time.monotonic()
                subprocess.run([binary, "report", "one.bandscope", "--format", form, "--output", f"one.{form}"], cwd=directory, check=True)
                times.append(1000 * (time.monotonic() - begun))
        first, redraws = [], []
        for _ in range(REPEATS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto((directory / "one.html").as_uri())
            page.wait_for_selector("html[data-ready]", timeout=120_000)
            # Since the navigation began; the last thing before it is the drawing of all pictures.
            first.append(float(page.evaluate("document.documentElement.dataset.ready")))
            redraws += page.evaluate(ZOOM)
            page.close()
        size = (directory / "one.html").stat().st_size / 1e6
        print(f"| {samples:,} | {median(made['html'])} ({median(made['json'])}) | {size:.2f} | {median(first)} | {median(redraws)} |", flush=True)
    browser.close()
