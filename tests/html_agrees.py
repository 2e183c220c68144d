"""What a page says against `report --format json` and `compare --format json` of the same recordings; used by html_in_chromium.py."""


def near(a, b, relative):
    assert abs(a - b) <= relative * max(abs(a), abs(b)), (a, b)


def numbers_agree(view, report):
    """Every quantum arrived: sums over the decoded columns are the report's, and so is what the page says as text."""
    page = view.page
    sums = view.evaluate("() => bandscope.model.series.map(s => bandscope.summary(s, -1, Infinity))")
    assert len(sums) == len(report["series"])
    for found, series in zip(sums, report["series"]):
        assert (found["quanta"], found["units"]) == (series["quanta"], series["units"]), (found, series["quanta"])
        if series["gaps"]:
            # A gap while a gap was handled is no unit's, so no quantum counts it (`measure.rs`); on a simulated machine there is none.
            own = (report["recording"] or {"machine": {"architecture": "simulated"}})["machine"]["architecture"] != "simulated"
            assert found["gaps"] == series["gaps"]["number"] or own and found["gaps"] < series["gaps"]["number"], (found, series["gaps"])
        ledger = series["ledger"]
        near(found["wallNs"], ledger["wall_ns"], 1e-6)
        # The page counts units at the reference pace, so what was faster than that is taken off what was lost.
    near(found["lostNs"], ledger["wall_ns"] - ledger["work_ns"] - ledger["bonus_ns"], 1e-4)
    for panel, series in zip(page.locator(".panel").all(), report["series"]):
        panel.locator("details > summary").click()
        panel.locator("details table").first.wait_for()
        cells = dict(row.locator("td").all_inner_texts() for row in panel.locator("details table").first.locator("tbody tr").all())
        assert cells["quanta"] == f"{series['quanta']:,}", cells
        assert cells["units"] == f"{series['units']:,}", cells
    longest = view.evaluate("() => bandscope.model.series.map(({marks}) => Math.max(0, ...marks.ns))")
    for found, series in zip(longest, report["series"]):
        if series["gaps"] and series["gaps"]["longest"] and series["gaps"]["detailed"] == series["gaps"]["number"]:
            near(found, series["gaps"]["longest"][0]["ns"], 1e-9)
    assert page.locator("#verdict").inner_text() == report["verdict"]


def remedies_agree(view, report):
    """Each remedy once, its command by itself: that is what its button copies."""
    of_purpose = [one for purpose in ["fix", "find-out"] for one in report["remedies"] if one["purpose"] == purpose]
    shown = view.page.locator("#remedies li > code").all_inner_texts()
    assert shown == [one["command"] for one in of_purpose if one["command"]], shown


def changes_agree(view, comparison):
    """What changed is said as `compare --format json` has it, and as many figures are called changed."""
    page = view.page
    figures = [delta for pair in comparison["recordings"]["series"] for key in ["figures", "ledger"] for delta in pair[key] if key == "figures" or delta["a"] or delta["b"]]
    figures += [band["share"] for pair in comparison["recordings"]["series"] for band in pair["bands"]]
    changed = sum(delta["changed"] for delta in figures)
    assert changed and page.locator("#changes .word").count() == changed, changed
    assert page.locator("#changes .change").count() == sum(delta["interval"] is not None and any([delta["a"], delta["b"], *delta["interval"]]) for delta in figures)
    assert page.locator("#verdict").inner_text() == comparison["verdict"]
    for letter, side in zip("AB", comparison["sides"]):
        assert side["inputs"][0] in page.locator("#changes").inner_text()
        assert f"{letter}: " in page.locator("#ledger").inner_text()
    for condition in comparison["conditions"]:
        assert condition["found"] in page.locator("#changes li").all_inner_texts()[0]


def truth_agrees(view, report):
    held = report["truth"][0]["series"][0]
    words = view.page.locator("#truth").inner_text()
    ratio = held["within_over_disturbed"]
    assert report["truth"][0]["log"] in words and ("–" if ratio is None else f"{ratio:.4f}") in words, words
    assert f"{held['quanta']['recognised']:,}" in words, words
