"""What `fleet --format html` shows, held against `fleet --format json`; used by html_in_chromium.py."""

import json
import re

NODES = 40
# Nodes on which a task takes more, the most of them the last; one has a name that attacks.
SLOW = [5, 11, 17]


def summaries(directory, run, evil, cpus):
    """Summaries of a fleet, made of one simulated recording under other names and numbers of CPUs."""
    run(directory, "record", "--machine", "simulated:tick+tasks", "--duration", "2s", "--output", f"of-{cpus}.bandscope")
    document = json.loads(run(directory, "export", f"of-{cpus}.bandscope", "--format", "summary"))
    [first] = document["cpus"]
    names = []
    for number in range(NODES):
        more = 0.02 * (1 + SLOW.index(number)) if number in SLOW else 0.0
        shares = [loss["share"] for loss in first["losses"]]
        own = []
        # The last node has a CPU less.
        for cpu in range(cpus - (cpus > 1 and number == NODES - 1)):
            losses = json.loads(json.dumps(first["losses"]))
            task = next(loss for loss in losses if loss["loss"] == "other tasks")
            task["share"] += more
            task["causes"].insert(0, ["rsync", more])
            own.append({**first, "cpu": cpu, "losses": losses, "lost": sum(shares) + more})
        node = f"n{number}" + (evil if number == SLOW[-1] else "")
        name = f"of-{cpus}-{number}.json"
        (directory / name).write_text(json.dumps({**document, "node": node, "run": f"{number:032x}", "cpus": own}))
        names.append(name)
    return names


def fleet_page(directory, run, evil, cpus):
    inputs = summaries(directory, run, evil, cpus)
    path = directory / f"fleet-{cpus}.html"
    run(directory, "fleet", *inputs, "--format", "html", "--output", path.name)
    return path, json.loads(run(directory, "fleet", *inputs, "--format", "json"))


def option(view):
    """What a screen reader reads of the map."""
    return view.page.locator(".map [role=option]").inner_text()


def worst_moments_agree(view, words):
    """Of each length the worst stretch is drawn as high as the work that was done in it, and the longest gap is the longest of the CPUs'."""
    drawn = view.page.locator("#node .worst")
    assert drawn.count() == 4, words
    for number in range(drawn.count()):
        said = re.search(r": ([\d.]+) % of the work was done", drawn.nth(number).inner_text())
        heights = drawn.nth(number).locator("i").evaluate_all("bars => bars.map((bar) => parseFloat(bar.style.height))")
        assert len(heights) == 50 and abs(sum(heights) / 50 - float(said[1])) < 2, (said, heights)
    assert "Longest gap: " in words and "Gaps by length" in words, words


def map_agrees(view, fleet):
    """Orders, keyboard, pointer and field lead to nodes, of which the page says what the report says."""
    page = view.page
    slow = [one["node"] for one in fleet["outliers"]]
    assert len(slow) == len(SLOW), fleet["verdict"]
    chosen = page.locator("#node h2")
    assert "onerror" in chosen.inner_text(), "the node that stands out most is not shown first"
    page.get_by_role("button", name="name", exact=True).click()
    assert option(view).startswith("n0,"), option(view)
    page.locator(".map").focus()
    page.keyboard.press("ArrowRight")
    assert option(view).startswith("n1,"), option(view)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert chosen.inner_text() == "n2" and page.locator(".map [aria-selected=true]").count() == 1
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    assert not option(view).startswith("n2,"), option(view)
    for order in ["loss of the worst CPU", "cause"]:
        page.get_by_role("button", name=order, exact=True).click()
        view.settle()
        # The worst of all is where the map begins.
        assert "onerror" in option(view) and "stands out by other tasks (rsync)" in option(view), option(view)
    page.locator("#find").fill("n5")
    page.wait_for_timeout(300)
    assert "1 node" in page.locator("#said").inner_text()
    page.keyboard.press("Enter")
    assert chosen.inner_text() == "n5"
    [row] = [one for one in fleet["nodes"] if one["node"] == "n5"]
    [outlier] = [one for one in fleet["outliers"] if one["node"] == "n5"]
    words = page.locator("#node").inner_text()
    for share in [row["lost"], outlier["excess"]["share"], outlier["excess"]["usually"]]:
        assert f"{share * 100:.2f} %" in words, (share, words)
    assert "Stands out by other tasks (rsync)" in words, words
    worst_moments_agree(view, words)
    # A click on the map, and on a node of the table.
    page.get_by_role("button", name="name", exact=True).click()
    view.settle()
    box = page.locator(".map").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 10)
    assert page.locator(".tip").inner_text().startswith("n0,")
    page.mouse.click(box["x"] + 20, box["y"] + 10)
    assert chosen.inner_text() == "n0"
    page.locator("section .line").first.click()
    assert "onerror" in chosen.inner_text()
    assert page.locator("img").count() == 0 and page.title() == f"{NODES} nodes – bandscope fleet"


def tables_need_no_script(browser, path):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("noscript table").count() == 2 and "All nodes" in page.locator("body").inner_text()
    assert page.locator("noscript tr").count() >= NODES
    context.close()
