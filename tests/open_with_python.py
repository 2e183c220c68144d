"""Opens a recording with DuckDB and pandas, by the lines that docs/recording-format.md gives.

Usage: open_with_python.py BANDSCOPE

Run by .ci/run. The lines are taken from the document itself, so that they cannot go stale.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()
root = pathlib.Path(__file__).resolve().parent.parent
document = (root / "docs" / "recording-format.md").read_text()
blocks = re.findall(r"```python\n(.*?)```", document, re.S)
assert len(blocks) >= 2, "docs/recording-format.md should show one block for DuckDB and one for pandas"

with tempfile.TemporaryDirectory() as directory:
    record = [binary, "record", "--machine", "simulated:tick+flips", "--duration", "2s"]
    subprocess.run([*record, "--output", "name.bandscope"], cwd=directory, check=True)
    report = [binary, "report", "name.bandscope", "--format", "json"]
    report = json.loads(subprocess.run(report, cwd=directory, check=True, capture_output=True).stdout)
    quanta = sum(series["quanta"] for series in report["series"])
    units = sum(series["units"] for series in report["series"])
    for block in blocks:
        # Each block ends with an expression that gives the rows and the sum of their counts.
        *statements, expression = block.strip().splitlines()
        program = "\n".join([*statements, f"print(*map(int, {expression}))"])
        result = subprocess.run([sys.executable, "-c", program], cwd=directory, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        assert result.stdout.split() == [str(quanta), str(units)], (result.stdout, quanta, units)
        print(f"{statements[0]}: {quanta} quanta, {units} units")
