"""The list of known failures: a landing may only make it shorter."""


def read(path):
    return [tuple(line.split("\t")) for line in path.read_text().splitlines() if line and not line.startswith("#")] if path.exists() else []


def compare(path, ran, now, bless, command):
    """Holds the failures `now` of what `ran` (first two columns) against the list; returns the new ones. With `bless` the list becomes what fails now."""
    rows = read(path)
    known = {row for row in rows if row[:2] in ran}
    for row in sorted(known - now):
        print("no longer fails:", "\t".join(row))
    if bless:
        head = f"# What is known to fail; `{command} --bless` writes it, and a landing may only make it shorter.\n"
        path.write_text(head + "".join("\t".join(row) + "\n" for row in sorted({row for row in rows if row[:2] not in ran} | now)))
        return set()
    for row in sorted(now - known):
        print("NEW FAILURE:", "\t".join(row))
    print(f"known failures of these: {len(known)}; still failing: {len(known & now)}; new: {len(now - known)}")
    return now - known
