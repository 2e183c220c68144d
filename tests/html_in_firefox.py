"""Looks at `report --format html` in Firefox: Debian's, over its own Marionette protocol, from disk.

Usage: html_in_firefox.py BANDSCOPE DIRECTORY

Run by `.ci/full browsers` after html_in_chromium.py, which tries everything; this asks of another engine that the page loads without an error, decodes all quanta, draws,
zooms by keys, folds and opens evidence. DIRECTORY gets screenshots. Exit status 77: there is no Firefox.
"""

import base64
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

try:
    from html_accessible import AXE, AXE_VIOLATIONS, has_axe
    from marionette_driver.by import By
    from marionette_driver.marionette import Marionette
    from marionette_driver.wait import Wait
except ImportError as error:
    print(f"no marionette_driver: {error}")
    sys.exit(77)
firefox = shutil.which("firefox-esr") or shutil.which("firefox")
if not firefox:
    print("no firefox")
    sys.exit(77)

binary = pathlib.Path(sys.argv[1]).resolve()
pictures = pathlib.Path(sys.argv[2]).resolve()
pictures.mkdir(parents=True, exist_ok=True)


def run(directory, *arguments):
    done = subprocess.run([binary, *arguments], cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Firefox:
    """A headless Firefox with a profile of its own, ended with all it started."""

    def __init__(self, profile):
        port = free_port()
        (profile / "user.js").write_text(f'user_pref("marionette.port", {port});\n')
        command = [firefox, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access", "--profile", str(profile)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.driver = Marionette("127.0.0.1", port=port)
            self.driver.raise_for_port(timeout=120)
            self.driver.start_session()
            self.driver.timeout.script = 60
        except BaseException:
            self.end()
            raise

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def evaluate(self, script, *arguments):
        return self.driver.execute_script(script, script_args=list(arguments), sandbox=None)

    def open(self, path):
        self.driver.navigate(path.as_uri())
        Wait(self.driver, timeout=60).until(lambda driver: self.evaluate("return document.documentElement.dataset.ready || null"))

    def settle(self):
        self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; requestAnimationFrame(() => requestAnimationFrame(() => done(0)));", sandbox=None)

    def picture(self):
        self.settle()
        return self.evaluate("return document.querySelector('.plot canvas').toDataURL()")

    def complaints(self):
        """What the console says of pages from disk: errors and warnings."""
        with self.driver.using_context("chrome"):
            return self.driver.execute_script("""
              const all = Services.console.getMessageArray().filter(m => m instanceof Ci.nsIScriptError && m.sourceName.startsWith("file:"));
              Services.console.reset();
              return all.map(String);""")

    def screenshot(self, name):
        (pictures / name).write_bytes(base64.b64decode(self.driver.screenshot(full=True)))


def near(a, b, relative):
    assert abs(a - b) <= relative * max(abs(a), abs(b)), (a, b)


def look_at(browser, report):
    sums = browser.evaluate("return bandscope.model.series.map(s => bandscope.summary(s, -1, Infinity))")
    assert len(sums) == len(report["series"])
    for found, series in zip(sums, report["series"]):
        assert (found["quanta"], found["units"]) == (series["quanta"], series["units"]), (found, series["quanta"])
        near(found["wallNs"], series["ledger"]["wall_ns"], 1e-6)
        ledger = series["ledger"]
        near(found["lostNs"], ledger["wall_ns"] - ledger["work_ns"] - ledger["bonus_ns"], 1e-4)
    plot = browser.driver.find_element(By.CSS_SELECTOR, ".plot")
    whole = browser.picture()
    plot.send_keys("+")
    closer = browser.picture()
    assert closer != whole, "a key zooms"
    window = browser.evaluate("return [bandscope.view.from, bandscope.view.to]")
    all_of_it = browser.evaluate("return bandscope.model.whole")
    near(window[1] - window[0], (all_of_it[1] - all_of_it[0]) / 2, 1e-6)
    plot.send_keys("0")
    assert browser.picture() == whole, "0 shows all of it again"
    # Colours, not one: something is drawn.
    colours = browser.evaluate("""
      const canvas = document.querySelector('.plot canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let k = 0; k < data.length; k += 4) seen.add(data[k] << 16 | data[k + 1] << 8 | data[k + 2]);
      return seen.size;""")
    assert colours > 20, colours
    for name in ["quanta", "gaps"]:
        browser.evaluate("[...document.querySelectorAll('.controls button')].find(b => b.textContent === arguments[0]).click()", name)
        assert browser.picture() != whole, name
        browser.evaluate("[...document.querySelectorAll('.controls button')].find(b => b.textContent === arguments[0]).click()", name)
        assert browser.picture() == whole, name
    browser.evaluate("document.querySelector('table.ledger .line').click()")
    browser.settle()
    assert browser.evaluate("return document.querySelectorAll('tr.evidence').length") == 1
    period = browser.driver.find_element(By.ID, "period")
    period.clear()
    period.send_keys("2 ms")
    browser.evaluate("document.querySelector('#fold form button').click()")
    browser.settle()
    near(browser.evaluate("return bandscope.view.period"), 0.002, 1e-12)
    assert browser.evaluate("return document.documentElement.scrollWidth <= innerWidth")


def is_accessible(browser):
    """No rule of axe-core is broken, in light and dark."""
    if not AXE.exists():
        return
    browser.evaluate(AXE.read_text())
    for colours in ["light", "dark"]:
        browser.evaluate("const select = document.querySelector('#top select'); select.value = arguments[0]; select.dispatchEvent(new Event('change'));", colours)
        browser.settle()
        script = f"const done = arguments[arguments.length - 1]; {AXE_VIOLATIONS}.then(done, error => done([String(error)]));"
        violations = browser.driver.execute_async_script(script, sandbox=None)
        assert not violations, (colours, violations)


def main():
    with tempfile.TemporaryDirectory() as name:
        has_axe()
        directory = pathlib.Path(name)
        (directory / "profile").mkdir()
        run(directory, "record", "--machine", "simulated:tick+tasks+flips:ratio=1.3", "--duration", "4s", "--output", "a.bandscope")
        run(directory, "record", "--machine", "simulated:tick+host-steal", "--duration", "4s", "--output", "b.bandscope")
        run(directory, "report", "a.bandscope", "--format", "html", "--output", "a.html")
        run(directory, "compare", "a.bandscope", "b.bandscope", "--format", "html", "--output", "compared.html")
        report = json.loads(run(directory, "report", "a.bandscope", "--format", "json"))
        browser = Firefox(directory / "profile")
        try:
            browser.complaints()
            browser.open(directory / "a.html")
            look_at(browser, report)
            browser.screenshot("firefox.png")
            is_accessible(browser)
            browser.open(directory / "compared.html")
            assert browser.evaluate("return document.querySelectorAll('#changes table').length") >= 2
            browser.screenshot("firefox-compared.png")
            is_accessible(browser)
            complaints = browser.complaints()
            assert not complaints, complaints
            # That what is wrong would be seen.
            (directory / "wrong.html").write_text("<script>nothing.at.all()</script>")
            browser.driver.navigate((directory / "wrong.html").as_uri())
            assert browser.complaints(), "errors are not seen"
            version = browser.driver.session_capabilities["browserVersion"]
        finally:
            browser.end()
    print(f"Firefox {version} shows the same numbers, and moves as it should")


main()
