# SPDX-License-Identifier: MIT
"""Who has the fastest answer, of those with all marks: as CSV and as a page."""

import csv
import html

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>Scoreboard: {lab}</title>
<style>
body {{ font-family: sans-serif; margin: 2em; }}
td, th {{ padding: 0.2em 1em; text-align: right; }}
td:nth-child(2), th:nth-child(2) {{ text-align: left; }}
</style>
<h1>{lab}</h1>
<p>{what}</p>
<table>
<tr><th>place</th><th>name</th><th>{name}</th></tr>
{rows}
</table>
</html>
"""


def read_names(path):
    """Pseudonyms by answers: lines `answer,pseudonym`."""
    with path.open(newline="", encoding="utf-8") as file:
        return {row[0].strip(): row[1].strip() for row in csv.reader(file) if len(row) > 1}


def places(verdicts, names):
    """Place, name and value of each answer that was measured, the fastest first; whoever is as fast has the same
    place. With `names` (not None) an answer that has no pseudonym is left out."""
    measured = []
    for answer, verdict in verdicts:
        value = (verdict or {}).get("measured", {}).get("value")
        name = answer if names is None else names.get(answer)
        if value is not None and name is not None:
            measured.append((value, name))
    measured.sort()
    values = [value for value, _ in measured]
    return [(values.index(value) + 1, name, value) for value, name in measured]


def write_scoreboard(folder, verdicts, names):
    """scoreboard.csv and scoreboard.html, if the lab measures."""
    measured = [verdict for _, verdict in verdicts if verdict and "measured" in verdict]
    if not measured:
        return
    rows = places(verdicts, names)
    with (folder / "scoreboard.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("place", "name", measured[0]["measured"]["name"]), *rows])
    lines = [f"<tr><td>{place}</td><td>{html.escape(name)}</td><td>{value:.2f}</td></tr>" for place, name, value in rows]
    page = PAGE.format(lab=html.escape(measured[0]["lab"]), rows="\n".join(lines),
                       **{key: html.escape(measured[0]["measured"][key]) for key in ("name", "what")})
    (folder / "scoreboard.html").write_text(page, encoding="utf-8")
