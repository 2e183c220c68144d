"""What any page must be: read with every kind of sight, on a narrow screen, and by keyboard; used by html_in_chromium.py and html_in_firefox.py.

The rules of axe-core are checked where `npm --prefix crates/view ci` has installed it.
"""

import pathlib

root = pathlib.Path(__file__).resolve().parent.parent
AXE = root / "crates" / "view" / "node_modules" / "axe-core" / "axe.min.js"
MIN_TEXT_PX = 12

# Opens all that is folded, and a line of the ledger.
UNFOLD = """() => {
  for (const fold of document.querySelectorAll('details')) fold.open = true;
  document.querySelector('table.ledger .line[aria-expanded=false]')?.click();
}"""

AXE_VIOLATIONS = """axe.run(document, { resultTypes: ['violations'] })
  .then(({ violations }) => violations.map(({ id, help, nodes }) => [id, help, ...nodes.slice(0, 5).map(node => node.html.slice(0, 200) + ' ' + node.failureSummary)]))"""


def has_axe():
    if not AXE.exists():
        print(f"SKIPPED: no {AXE.relative_to(root)}, which `npm --prefix crates/view ci` installs: the page was not held to the rules of axe-core")
    return AXE.exists()


# Before the page loads: notes the labels, markers and dashed lines of each canvas, as boxes in CSS pixels.
WATCH_LABELS = """(() => {
  const pen = CanvasRenderingContext2D.prototype, drawn = new Map();
  let path = [];
  const watch = (name, note) => { const old = pen[name]; pen[name] = function (...given) { note.apply(this, given); return old.apply(this, given); }; };
  const add = (context, kind, words, box) => drawn.get(context.canvas)?.push({ kind, words, box, px: parseFloat(context.font) });
  const around = () => [Math.min(...path.map(p => p[0])), Math.min(...path.map(p => p[1])), Math.max(...path.map(p => p[0])), Math.max(...path.map(p => p[1]))];
  watch('clearRect', function () { drawn.set(this.canvas, []); });
  watch('beginPath', () => { path = []; });
  watch('moveTo', (x, y) => path.push([x, y]));
  watch('lineTo', (x, y) => path.push([x, y]));
  watch('fill', function () { if (path.length) add(this, 'marker', '', around()); });
  watch('stroke', function () { if (path.length && this.getLineDash().length) add(this, 'line', '', around()); });
  watch('fillText', function (words, x, y) {
    const { actualBoundingBoxLeft: left, actualBoundingBoxRight: right, actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = this.measureText(words);
    add(this, 'label', words, [x - left, y - up, x + right, y + down]);
  });
  window.labels = () => [...drawn].filter(([canvas]) => canvas.offsetParent).map(([canvas, items]) => ({ name: canvas.getAttribute('aria-label'), width: canvas.clientWidth, height: canvas.clientHeight, items }));
})()"""


def labels_are_apart(view):
    """No label or marker of a picture stands on another, on a dashed line, or beyond the picture."""
    view.settle()
    number = 0
    for canvas in view.evaluate("() => labels()"):
        items = canvas["items"]
        for index, one in enumerate(items):
            left, top, right, bottom = one["box"]
            if one["kind"] == "label":
                number += 1
                assert one["px"] >= MIN_TEXT_PX, (canvas["name"], one)
                assert -0.5 <= left and right <= canvas["width"] + 0.5 and -0.5 <= top and bottom <= canvas["height"] + 0.5, (canvas["name"], one)
            for other in items[:index]:
                if "label" not in (one["kind"], other["kind"]) and "line" in (one["kind"], other["kind"]):
                    continue
                a, b, c, d = other["box"]
                assert right <= a or c <= left or bottom <= b or d <= top, (canvas["name"], one, other)
    assert number > 5, number


# Labels of the pictures that are markup, as they are seen.
SVG_LABELS = """() => [...document.querySelectorAll('svg')].filter(e => e.checkVisibility()).flatMap(svg => {
  const frame = svg.getBoundingClientRect(), zoom = frame.width / svg.viewBox.baseVal.width;
  return [...svg.querySelectorAll('text')].map(text => {
    const { left, top, right, bottom } = text.getBoundingClientRect();
    const inside = left >= frame.left - 0.5 && right <= frame.right + 0.5 && top >= frame.top - 0.5 && bottom <= frame.bottom + 0.5;
    return { words: text.textContent, box: [left, top, right, bottom], px: zoom * parseFloat(getComputedStyle(text).fontSize), inside };
  });
})"""


def svg_labels_are_apart(view):
    """The same of pictures that are markup."""
    labels = view.evaluate(SVG_LABELS)
    assert len(labels) > 10, labels
    for index, one in enumerate(labels):
        left, top, right, bottom = one["box"]
        assert one["inside"] and one["px"] > MIN_TEXT_PX - 0.1, one
        for other in labels[:index]:
            a, b, c, d = other["box"]
            assert right <= a or c <= left or bottom <= b or d <= top, (one, other)


TOO_SMALL = """([least]) => [...document.querySelectorAll('body *')].filter(e => e.offsetParent && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && parseFloat(getComputedStyle(e).fontSize) < least)
  .map(e => e.outerHTML.slice(0, 120))"""
# What is wider than the window must lie in a box that scrolls.
TOO_WIDE = """() => [...document.querySelectorAll('body *')].filter(e => e.offsetParent && e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.wide, pre, .bar')).map(e => e.outerHTML.slice(0, 120))"""


def is_readable(view):
    """The page does not scroll sideways, and no text is small."""
    assert view.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), view.evaluate(TOO_WIDE)
    assert not view.evaluate(TOO_WIDE), view.evaluate(TOO_WIDE)
    assert not view.evaluate(TOO_SMALL, [MIN_TEXT_PX]), view.evaluate(TOO_SMALL, [MIN_TEXT_PX])


USABLE = "[...document.querySelectorAll('button, select, input, summary, [tabindex]')].filter(e => e.checkVisibility() && !e.disabled)"


def keyboard_reaches_everything(view, least=10):
    """Tab comes to all that can be used, which is more than `least`. Elements are held, not their places in the document, which move where something is drawn anew."""
    view.settle()
    view.evaluate("() => { window.reached = new Set(); addEventListener('focusin', event => reached.add(event.target)); }")
    missed = f"() => {USABLE}.filter(e => !reached.has(e)).map(e => e.outerHTML.slice(0, 120))"
    usable = len(view.evaluate(missed))
    assert usable > least, usable
    # Twice round, because Tab goes on from where the last click was.
    for _ in range(2 * usable + 20):
        view.page.keyboard.press("Tab")
    assert not view.evaluate(missed), (usable, view.evaluate(missed))


CONTRAST = """() => {
  const parse = (c) => (c.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (c) => { const [r, g, b] = c.map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.offsetParent || e.tagName === 'OPTION') continue;
    let ground = e, back = [0, 0, 0, 0];
    while (ground && (back.length === 4 && back[3] === 0)) { back = parse(getComputedStyle(ground).backgroundColor); ground = ground.parentElement; }
    const [a, b] = [light(parse(getComputedStyle(e).color).slice(0, 3)), light(back.slice(0, 3))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) bad.push([e.tagName, e.className, e.textContent.slice(0, 30), contrast.toFixed(2)]);
  }
  return bad;
}"""


def is_accessible(view, labels_are_apart=labels_are_apart):
    """A page that may be given scripts, in the theme and at the width that it was opened with."""
    view.evaluate(UNFOLD)
    # Numbers of a window are written a moment after it was chosen.
    view.page.wait_for_timeout(300)
    view.settle()
    is_readable(view)
    labels_are_apart(view)
    assert not view.evaluate(CONTRAST), view.evaluate(CONTRAST)
    if AXE.exists():
        view.page.add_script_tag(path=AXE)
        violations = view.evaluate(f"() => {AXE_VIOLATIONS}")
        assert not violations, violations
