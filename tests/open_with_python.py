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
(sql,) = re.findall(r"```sql\n(.*?)```", document, re.S)
(pandas,) = re.findall(r"```python\n(.*?)```", document, re.S)

with tempfile.TemporaryDirectory() as directory:
    record = [binary, "record", "--machine", "simulated:tick+flips", "--duration", "2s"]
    subprocess.run([*record, "--output", "name.bandscope"], cwd=directory, check=True)
    report = [binary, "report", "name.bandscope", "--format", "json"]
    report = json.loads(subprocess.run(report, cwd=directory, check=True, capture_output=True).stdout)
    quanta = sum(series["quanta"] for series in report["series"])
    units = sum(series["units"] for series in report["series"])
    programs = {
        "DuckDB": f"import duckdb; rows = duckdb.sql({sql!r}).fetchall(); "
        "print(sum(row[3] for row in rows), round(sum(row[3] * row[4] for row in rows)))",
        "pandas": f"{pandas.strip()}; print(len(quanta), quanta['count'].sum())",
    }
    for name, program in programs.items():
        result = subprocess.run([sys.executable, "-c", program], cwd=directory, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        found = result.stdout.split()[-2:]
        assert found == [str(quanta), str(units)], (name, result.stdout, quanta, units)
        print(f"{name}: {quanta} quanta, {units} units")
