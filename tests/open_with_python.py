"""Opens a recording with DuckDB and pandas, by the lines that docs/recording-format.md gives, and its tables as CSV with Python and DuckDB.

Usage: open_with_python.py BANDSCOPE

Run by .ci/run. The lines are taken from the document itself, so that they cannot go stale.
"""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

binary = pathlib.Path(sys.argv[1]).resolve()
root = pathlib.Path(__file__).resolve().parent.parent
document = (root / "docs" / "recording-format.md").read_text()
tasks_sql, sql = re.findall(r"```sql\n(.*?)```", document, re.S)
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

    # Two tasks of a job in one directory, as columns.
    (pathlib.Path(directory) / "job").mkdir()
    for task in "01":
        launched = {**os.environ, "PMI_RANK": task, "PMI_SIZE": "2"}
        subprocess.run([*record[:-1], "1s", "--output", "job/name.bandscope"], cwd=directory, check=True, env=launched)
    report = [binary, "report", "job/name.bandscope", "--format", "json"]
    report = json.loads(subprocess.run(report, cwd=directory, check=True, capture_output=True).stdout)
    quanta = sum(series["quanta"] for series in report["series"])
    program = f"import duckdb; rows = duckdb.sql({tasks_sql!r}).fetchall(); print(sorted(row[1] for row in rows), sum(row[3] for row in rows))"
    result = subprocess.run([sys.executable, "-c", program], cwd=f"{directory}/job", capture_output=True, text=True)
    assert result.stdout.split("] ") == ["[0, 1", f"{quanta}\n"], (result, quanta)
    print(f"DuckDB: {quanta} quanta of two tasks")

    # Names of tasks, interrupts and causes are in quotation marks.
    command = [binary, "record", "--machine", "simulated:tasks:hz=60+tick", "--trace", "on", "--duration", "1s"]
    subprocess.run([*command, "--output", "tasks.bandscope"], cwd=directory, check=True)
    report = [binary, "report", "tasks.bandscope", "--format", "json"]
    report = json.loads(subprocess.run(report, cwd=directory, check=True, capture_output=True).stdout)
    series = report["series"]
    tables = {
        "quanta": (sum(one["quanta"] for one in series), sum(one["ledger"]["wall_ns"] for one in series)),
        "gaps": (
            sum(one["gaps"]["number"] for one in series),
            sum(one["total_ns"] for each in series for one in each["gaps"]["histogram"]),
        ),
        "events": (None, None),
    }
    for what, (number, ns) in tables.items():
        export = [binary, "export", "tasks.bandscope", "--format", "csv", "--what", what, "--output", f"{what}.csv"]
        subprocess.run(export, cwd=directory, check=True)
        path = pathlib.Path(directory) / f"{what}.csv"
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
        assert rows and not any(None in row or None in row.values() for row in rows), what
        total = sum(int(row["end_ns"]) - int(row["start_ns"]) for row in rows)
        if number is not None:
            # Each end is rounded to a nanosecond.
            assert len(rows) == number and abs(total - ns) <= number + 1, (what, len(rows), number, total, ns)
        program = f"import duckdb; print(*duckdb.sql(\"SELECT count(*), sum(end_ns - start_ns) FROM '{what}.csv'\").fetchall()[0])"
        result = subprocess.run([sys.executable, "-c", program], cwd=directory, capture_output=True, text=True)
        assert result.stdout.split() == [str(len(rows)), str(total)], (what, result.stdout, result.stderr)
        print(f"CSV: {len(rows)} {what} of {total} ns")

    # Gaps as Parquet: the lost time of each cause is its line of the ledger, to the nanosecond.
    export = [binary, "export", "tasks.bandscope", "--format", "parquet", "--output", "gaps.parquet"]
    subprocess.run(export, cwd=directory, check=True)
    program = "import duckdb, json; print(json.dumps(duckdb.sql(\"SELECT series, cause, sum(lost_ns)::BIGINT FROM 'gaps.parquet' GROUP BY ALL HAVING sum(lost_ns) > 0 ORDER BY ALL\").fetchall()))"
    result = subprocess.run([sys.executable, "-c", program], cwd=directory, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = sorted([place, cause, ns] for place, one in enumerate(series) for cause, ns in one["ledger"]["gaps_ns"].items() if ns > 0)
    assert json.loads(result.stdout) == lines, (result.stdout, lines)
    print(f"gaps.parquet: {len(lines)} lines of {len(series)} ledgers")
    (sql,) = re.findall(r"```sql\n(.*?)```", (root / "docs" / "export.md").read_text(), re.S)
    program = f"import duckdb; print(len(duckdb.sql({sql!r}).fetchall()))"
    result = subprocess.run([sys.executable, "-c", program], cwd=directory, capture_output=True, text=True)
    assert result.returncode == 0 and int(result.stdout) > 0, (result.stdout, result.stderr)
