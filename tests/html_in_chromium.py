"""Looks at `report --format html` in a real browser: Debian's chromium, driven by playwright, from disk and without a network.

Usage: html_in_chromium.py BANDSCOPE DIRECTORY

Run by .ci/run. Recordings are made by the simulated machine, so that every run sees the same. What the page shows is held against
`report --format json` of the same recording. DIRECTORY gets screenshots, for a person to look at. Exit status 77: there is no browser.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    from golden import Golden
    from html_accessible import WATCH_LABELS, has_axe, is_accessible, keyboard_reaches_everything, labels_are_apart, svg_labels_are_apart
    from html_agrees import changes_agree, near, numbers_agree, remedies_agree, truth_agrees
    from html_fleet import fleet_page, map_agrees, tables_need_no_script
    from playwright.sync_api import sync_playwright
except ImportError as error:
    print(f"no playwright, or no pillow: {error}")
    sys.exit(77)
browser_path = shutil.which("chromium") or shutil.which("chromium-browser") or sys.exit(77)

binary = pathlib.Path(sys.argv[1]).resolve()
pictures = pathlib.Path(sys.argv[2]).resolve()
pictures.mkdir(parents=True, exist_ok=True)
root = pathlib.Path(__file__).resolve().parent.parent

EVIL = "</script><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>\u2028"


def run(directory, *arguments):
    done = subprocess.run([binary, *arguments], cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


class Page:
    """A page from disk, and what went wrong in it."""

    def __init__(self, browser, path, width=1280, scheme="light", ready="html[data-ready]", **options):
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        self.page = self.context.new_page()
        self.page.add_init_script(WATCH_LABELS)
        self.wrong, self.requests = [], []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(ready, timeout=60_000)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            assert not self.wrong, self.wrong
            assert len(self.requests) == 1, self.requests
        self.context.close()

    def evaluate(self, script, argument=None):
        return self.page.evaluate(script, argument)

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def window(self):
        return self.evaluate("() => [bandscope.view.from, bandscope.view.to]")

    def picture(self):
        """What the first panel shows, to see whether it changed."""
        labels_are_apart(self)
        return self.evaluate("() => document.querySelector('.plot canvas').toDataURL()")


def ledger_opens(view, report):
    """The table's lines are the ledger's, they add up, and each opens its evidence."""
    page, ledger = view.page, report["series"][0]["ledger"]
    lines = page.locator("table.ledger .line")
    names = lines.all_inner_texts()
    known = {"work", "unexplained"} | {f"gap: {key}" if ":" not in key else key for key in ledger["gaps_ns"]}
    assert known <= set(names), names
    widths = [box.bounding_box()["width"] for box in page.locator(".account").first.locator(".bar").first.locator(".part").all()]
    bar = page.locator(".account").first.locator(".bar").first.bounding_box()["width"]
    assert abs(sum(widths) + len(widths) - 1 - bar) < 2, (widths, bar)
    work = widths[0] / sum(widths)
    assert abs(work - ledger["work_ns"] / ledger["wall_ns"]) < 0.02, work
    for name in names:
        line = page.locator("table.ledger .line", has_text=name).first
        line.click()
        view.settle()
        assert page.locator("tr.evidence").count() == 1, name
        assert len(page.locator("tr.evidence").inner_text()) > 20, name
        page.locator("table.ledger .line[aria-expanded=true]").click()
        view.settle()
    page.locator(".account .bar .part").nth(1).click()
    view.settle()
    assert page.locator("tr.evidence").count() == 1


def zooms(view):
    page = view.page
    plot = page.locator(".plot").first
    plot.scroll_into_view_if_needed()
    whole = view.window()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60)
    page.mouse.wheel(0, -120)
    page.mouse.wheel(0, -120)
    page.wait_for_timeout(200)
    view.settle()
    closer = view.window()
    near(closer[1] - closer[0], (whole[1] - whole[0]) / 4, 1e-6)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 50, box["y"] + 60)
    page.mouse.up()
    view.settle()
    moved = view.window()
    assert moved[0] < closer[0] and abs((moved[1] - moved[0]) - (closer[1] - closer[0])) < 1e-9
    plot.focus()
    for key, check in {
        "+": lambda old, new: new[1] - new[0] < old[1] - old[0],
        "ArrowRight": lambda old, new: new[0] > old[0],
        "ArrowLeft": lambda old, new: new[0] < old[0],
        "-": lambda old, new: new[1] - new[0] > old[1] - old[0],
        "0": lambda old, new: new == whole,
    }.items():
        old = view.window()
        page.keyboard.press(key)
        view.settle()
        assert check(old, view.window()), (key, old, view.window())
    # With the whole run in view a drag marks what to zoom to.
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 60)
    page.mouse.up()
    view.settle()
    assert view.window()[1] - view.window()[0] < (whole[1] - whole[0]) / 5
    for _ in range(40):
        page.keyboard.press("+")
    view.settle()
    last = view.window()
    quantum = view.evaluate("() => Math.min(...bandscope.model.series.map(s => s.quantumS))")
    near(last[1] - last[0], 4 * quantum, 1e-6)


def hovers(view, report):
    """Single quanta and gaps say what they are."""
    page = view.page
    series = report["series"][0]
    gap = series["gaps"]["longest"][0]
    quantum = 1 / series["rate_hz"]
    # In a stretch of this series, away from its beginning.
    at = view.evaluate("() => { const s = bandscope.model.series[0]; return s.start[Math.floor(s.length / 4)]; }")
    view.evaluate("([a, b]) => bandscope.look(a, b)", [at - 5 * quantum, at + 5 * quantum])
    view.settle()
    plot = page.locator(".plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + 500, box["y"] + 100)
    words = page.locator(".tip").inner_text()
    assert "quantum at" in words and "units" in words, words
    view.evaluate("([a, b]) => bandscope.look(a, b)", [gap["at_s"] - 20 * quantum, gap["at_s"] + 20 * quantum])
    view.settle()
    frame = view.evaluate("() => document.querySelector('.plot canvas').clientWidth")
    # The layout of `panel.js`: 64 pixels left of the plot, 118 right of it.
    x = box["x"] + 64 + (frame - 64 - 118) / 2
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(x, box["y"] + box["height"] - 40)
    words = page.locator(".tip").inner_text()
    name = gap["cause"] if ":" in gap["cause"] else f"gap: {gap['cause']}"
    assert name in words and ("µs" in words or "ms" in words), (words, gap)
    plot.focus()
    page.keyboard.press("n")
    view.settle()
    assert "gap" in page.locator("#said").inner_text()


def layers_toggle(view):
    page = view.page
    view.evaluate("() => bandscope.look(0, Infinity)")
    page.mouse.move(1, 1)
    seen = view.picture()
    for name in ["quanta", "bands", "edges", "gaps", "findings"]:
        button = page.locator(".controls").get_by_role("button", name=name, exact=True)
        assert button.get_attribute("aria-pressed") == "true", name
        button.click()
        view.settle()
        assert button.get_attribute("aria-pressed") == "false", name
        assert view.picture() != seen, f"{name} draws nothing"
        button.click()
        assert view.picture() == seen, name
    for name in ["count", "time lost"]:
        page.locator(".controls").get_by_role("button", name=name, exact=True).click()
        other = view.picture()
        assert other != seen, name
        seen = other
    page.locator(".controls").get_by_role("button", name="pace", exact=True).click()


def folds(view):
    page = view.page
    page.locator("#period").fill("2 ms")
    page.locator("#fold").get_by_role("button", name="fold", exact=True).click()
    view.settle()
    page.wait_for_timeout(200)
    assert "2 ms" in page.locator("#fold [role=status]").inner_text()
    page.locator("#period").fill("nonsense")
    page.locator("#fold").get_by_role("button", name="fold", exact=True).click()
    assert "expected" in page.locator("#fold [role=status]").inner_text()
    near(view.evaluate("() => bandscope.view.period"), 0.002, 1e-12)


def findings_jump(view, report):
    page = view.page
    assert page.locator(".card").count() == min(len(report["findings"]), 24)
    for number, finding in enumerate(report["findings"][:24]):
        card = page.locator(f"#finding-{number + 1}")
        cause = finding["evidence"].get("cause")
        if finding["kind"] in ("time-away", "periodic-interference") and cause:
            above = card.locator("xpath=../preceding-sibling::h3").inner_text()
            assert above.startswith(cause if ":" in cause else f"gap: {cause}"), (above, finding)
        assert finding["certainty"] in card.inner_text() and finding["summary"] in card.inner_text()
        jump = card.get_by_role("button", name="show me")
        if jump.count():
            view.evaluate("() => bandscope.look(0, Infinity)")
            whole = view.window()
            jump.click()
            view.settle()
            assert view.window() != whole or finding["kind"] in ("warm-up", "clock-drift", "quantisation"), finding["kind"]


def moments_agree(view, report):
    """Each moment that was caught, with all that ran around it; those of one maker, where it is chosen."""
    shown = view.page.locator("article.moment")
    rest = view.page.locator("#moments").get_by_role("button", name="show all")
    while rest.count():
        rest.first.click()
    assert shown.count() == len(report["moments"]) > 10, shown.count()
    for place, moment in enumerate(report["moments"]):
        spans = [span for track in moment["timeline"] for span in track["spans"]]
        titles = shown.nth(place).locator(".timeline rect title").all_text_contents()
        assert len(titles) == len(spans) > 0, (titles, spans)
        assert all(any(title.startswith(span["cause"]) or title.startswith(f"gap: {span['cause']}") for title in titles) for span in spans), titles
        assert moment["causes"][0]["cause"] in shown.nth(place).inner_text()
    makers = view.page.locator("#moments tbody tr")
    assert makers.count() > 0
    for place in range(makers.count()):
        number = int(makers.nth(place).locator("td").nth(1).inner_text())
        makers.nth(place).get_by_role("button").click()
        assert shown.count() == min(number, 20), (shown.count(), number)
        makers.nth(place).get_by_role("button").click()
    shown.first.get_by_role("button", name="show me").click()
    view.settle()
    width = view.window()[1] - view.window()[0]
    assert width < 0.1, width


def moves_at_once(browser, path):
    """Where the reader asked for less motion, a jump is over when it begins."""
    with Page(browser, path, reduced_motion="reduce") as view:
        top = view.evaluate("() => { document.querySelector('.card button').click(); return document.querySelector('#series').getBoundingClientRect().top; }")
        assert abs(top) < 2, top


def looks_right(browser, path, golden):
    """In light and dark, on wide and narrow screens; the pictures against small ones that a person has seen."""
    for width in [1400, 800, 400]:
        for scheme in ["light", "dark"]:
            with Page(browser, path, width, scheme) as view:
                assert view.evaluate("() => document.documentElement.dataset.theme") == scheme
                view.page.screenshot(path=pictures / f"{path.stem}-{width}-{scheme}.png", full_page=True)
                if golden and width == 1400:
                    for part in [".plot canvas", "#causes canvas", "#spectrum canvas"]:
                        name = part.split()[0].strip(".#")
                        golden.check(f"{name}-{scheme}", view.page.locator(part).first.screenshot())
            with Page(browser, path, width, scheme, bypass_csp=True) as view:
                is_accessible(view)


def scale_page(browser, directory):
    """The page of `scale` has no script: one picture for each kind of screen, and every figure of the JSON."""
    run(directory, "record", "--machine", "simulated:tick+tasks+noise", "--trace", "on", "--duration", "20s", "--output", "scale.bandscope")
    scale = json.loads(run(directory, "scale", "scale.bandscope", "--format", "json"))
    run(directory, "scale", "scale.bandscope", "--format", "html", "--output", "scale.html")
    for width, picture in [(1280, "wide"), (800, "medium"), (400, "narrow")]:
        for scheme in ["light", "dark"]:
            with Page(browser, directory / "scale.html", width, scheme, ready="main", bypass_csp=True) as view:
                pictures_seen = view.evaluate("() => [...document.querySelectorAll('figure')].filter(e => e.checkVisibility()).map(e => e.className)")
                assert pictures_seen == [f"{picture} {scheme}"], pictures_seen
                assert view.page.locator("h1").inner_text() == scale["verdict"]
                assert view.page.locator("script").count() == 0
                known = view.page.locator("tr > td:nth-child(3)").all_inner_texts()
                cells = [cell["basis"] for phase in scale["phases"] for cell in phase["cells"]]
                words = {"observed": "observed", "extrapolated": "extrapolated", "too-rare": "refused: only", "beyond": "refused: beyond"}
                assert len(known) == len(cells) and all(text.startswith(words[basis]) for text, basis in zip(known, cells)), known
                view.page.screenshot(path=pictures / f"scale-{width}-{scheme}.png", full_page=True)
                is_accessible(view, svg_labels_are_apart)


def main():
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        directory = pathlib.Path(name)
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        golden = Golden(pictures)
        has_axe()

        def page_of(*inputs, output):
            run(directory, "report", *inputs, "--format", "html", "--output", output)
            return directory / output, json.loads(run(directory, "report", *inputs, "--format", "json"))

        run(directory, "record", "--machine", "simulated:tick+tasks+flips:ratio=1.3", "--duration", "6s", "--output", "two.bandscope")
        path, report = page_of("two.bandscope", output="two.html")
        print(f"two rates of one CPU: {path.stat().st_size:,} bytes")
        with Page(browser, path) as view:
            numbers_agree(view, report)
            ledger_opens(view, report)
            zooms(view)
            hovers(view, report)
            layers_toggle(view)
            folds(view)
            findings_jump(view, report)
            remedies_agree(view, report)
            keyboard_reaches_everything(view)
        looks_right(browser, path, golden)
        moves_at_once(browser, path)
        with Page(browser, path, scheme="dark") as view:
            view.page.pdf(path=pictures / "two.pdf")
            view.settle()

        # The X of the published run, and the same folded: what it folds by is the finding's own period.
        run(directory, "synth", "x-10khz", "--duration", "20s", "--output", "x.bandscope")
        path, report = page_of("x.bandscope", output="x.html")
        with Page(browser, path) as view:
            numbers_agree(view, report)
            edges = next(f for f in report["findings"] if f["kind"] == "moving-edges")
            view.page.locator(".card", has_text="moving-edges").get_by_role("button", name="fold").click()
            view.settle()
            near(view.evaluate("() => bandscope.view.period"), edges["evidence"].get("period_s", edges["evidence"]["grid_s"]), 1e-12)
            view.page.wait_for_timeout(300)
            view.page.screenshot(path=pictures / "x.png", full_page=True)
            view.page.mouse.move(1, 1)
            golden.check("x-count", view.page.locator(".plot canvas").first.screenshot())
            golden.check("x-folded", view.page.locator("#fold canvas").screenshot())
        with Page(browser, path) as view:
            # The picture in README.md.
            view.evaluate("() => bandscope.change({ value: 'count' })")
            view.settle()
            view.page.set_viewport_size({"width": 1280, "height": 1080})
            view.page.screenshot(path=pictures / "readme.png")

        # Two recordings, and what changed between them; one that was disturbed, against the disturber's log.
        run(directory, "record", "--machine", "simulated:tick+tasks+host-steal", "--duration", "6s", "--output", "other.bandscope")
        compared = ["compare", "two.bandscope", "other.bandscope", "--fail-if", "gaps>+500%", "--format"]
        run(directory, *compared, "html", "--output", "compared.html")
        comparison = json.loads(run(directory, *compared, "json"))
        with Page(browser, directory / "compared.html") as view:
            changes_agree(view, comparison)
        looks_right(browser, directory / "compared.html", None)
        run(directory, "inject", "--length", "1ms", "--log", "log.jsonl", "--then", "record", "--duration", "1s", "--output", "disturbed.bandscope")
        path, report = page_of("disturbed.bandscope", "--truth", "log.jsonl", output="disturbed.html")
        with Page(browser, path, bypass_csp=True) as view:
            numbers_agree(view, report)
            truth_agrees(view, report)
            is_accessible(view)
            view.page.screenshot(path=pictures / "disturbed.png", full_page=True)

        # What a flight recorder caught, with the timeline of each.
        run(directory, "record", "--machine", "simulated:tick+tasks:hz=30,mean=15us+timed-task:hz=1.3,cost=200us", "--duration", "12s", "--catch", "gap > 100 us", "--output", "caught.bandscope")
        path, report = page_of("caught.bandscope", output="caught.html")
        with Page(browser, path) as view:
            moments_agree(view, report)
        looks_right(browser, path, None)

        # Many series: the one that lost most is at length, the others have a line each.
        run(directory, "record", "--machine", "simulated:tick+host-steal+noise", "--cpus", "0-5", "--duration", "2s", "--output", "many.bandscope")
        path, report = page_of("many.bandscope", output="many.html")
        with Page(browser, path) as view:
            numbers_agree(view, report)
            lost = [1 - series["ledger"]["work_ns"] / series["ledger"]["wall_ns"] for series in report["series"]]
            assert view.evaluate("() => bandscope.view.selected") == lost.index(max(lost))
            assert view.page.locator(".account").count() == len(lost) and view.page.locator(".bar.thin").count() == 1
            view.page.screenshot(path=pictures / "many.png")
        with Page(browser, path, 400, bypass_csp=True) as view:
            is_accessible(view)
            view.page.screenshot(path=pictures / "many-400.png", full_page=True)

        # Nodes of a fleet: of one CPU each, and of several.
        for cpus in [1, 12]:
            path, fleet = fleet_page(directory, run, EVIL, cpus)
            with Page(browser, path) as view:
                map_agrees(view, fleet)
                keyboard_reaches_everything(view, 8)
            looks_right(browser, path, None)
        tables_need_no_script(browser, path)

        scale_page(browser, directory)

        # More quanta than a page holds.
        run(directory, "record", "--machine", "simulated:tick+tasks", "--rate", "1MHz", "--kernel", "mulss20", "--duration", "3s", "--output", "long.bandscope")
        path, report = page_of("long.bandscope", output="long.html")
        print(f"3,000,000 quanta: {path.stat().st_size:,} bytes")
        with Page(browser, path) as view:
            series = view.evaluate("() => bandscope.model.series.map(s => [s.complete, s.length])")
            assert series[0][0] is False and 1_000_000 < series[0][1] < 2_100_000, series
            assert "This page holds" in view.page.locator("#measured").inner_text()
            blank = view.picture()
            view.evaluate("() => bandscope.look(0, 0.0001)")
            assert view.picture() != blank
            view.evaluate("() => bandscope.look(1.2, 1.3)")
            view.settle()
            view.page.screenshot(path=pictures / "long.png")

        # More findings than anybody reads: the first are shown, and the others as they are asked for.
        before, after = (directory / "two.html").read_text().split('id="document">', 1)
        document, after = after.split("</script>", 1)
        document = json.loads(document)
        document["report"]["findings"] = (document["report"]["findings"] * 4000)[:4000]
        document = json.dumps(document).replace("<", "\\u003c")
        (directory / "findings.html").write_text(f'{before}id="document">{document}</script>{after}')
        with Page(browser, directory / "findings.html") as view:
            cards = view.page.locator(".card")
            assert cards.count() == 24, cards.count()
            view.page.get_by_role("button", name="show more of 4,000").click()
            view.settle()
            assert cards.count() == 200 and "of 4,000 findings" in view.page.locator("#findings").inner_text(), cards.count()

        # Files of counts, without gaps; of one quantum; with names that attack.
        for rows, words in [("0 100\n100000 100\n", "two quanta"), ("# Frequency 10000\n0 100\n", "one quantum"), ("# Frequency 10000\n", "none")]:
            (directory / "short.dat").write_text(rows)
            done = subprocess.run([binary, "report", "short.dat", "--format", "html", "--output", "short.html"], cwd=directory, capture_output=True, text=True)
            if done.returncode == 2:
                print(f"{words}: {done.stderr.strip()}")
                continue
            with Page(browser, directory / "short.html") as view:
                assert view.page.locator("#verdict").inner_text()
        path, report = page_of(root / "cases" / "spr-10khz-a.dat" if (root / "cases" / "spr-10khz-a.dat").exists() else "two.bandscope", output="spr.html")
        with Page(browser, path) as view:
            view.page.screenshot(path=pictures / "spr.png", full_page=True)
        manifest = directory / "two.bandscope" / "recording.json"
        document = json.loads(manifest.read_text())
        del document["checksum"]
        document["machine"]["cpu_model"] = EVIL + "x" * 10_000
        document["missing"].append({"what": EVIL, "why": EVIL, "leaves_undecided": EVIL})
        manifest.write_text(json.dumps(document))
        evil = directory / "<img src=x onerror=document.title='owned'>.bandscope"
        (directory / "two.bandscope").rename(evil)
        path, _ = page_of(evil.name, output="evil.html")
        with Page(browser, path) as view:
            assert view.page.locator("img").count() == 0
            assert "owned" not in view.page.title().replace("document.title='owned'", "")
            assert "onerror" in view.page.locator("#measured").inner_text()
            assert view.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "a long name makes the page wide"
        browser.close()
        golden.done()
    print("the page holds what the report says, and moves as it should")


main()
