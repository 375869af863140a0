"""Renders the page and the chart of docs/performance from what benches/speed measured."""

import json
import math
import pathlib
import statistics
from xml.sax.saxutils import escape

from cases import CHART, QUIET, matches
from times import duration, middle_of, per_edge, ratios

ROOT = pathlib.Path(__file__).parents[2]
PAGE, CHART_FILE = ROOT / "docs" / "performance.md", ROOT / "docs" / "performance.svg"
START, END = "<!-- measured: benches/page -->", "<!-- end of measured -->"
ROW, LEFT, WIDTH = 22, 330, 760
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
line { stroke: #8c959f; stroke-width: 0.5 }
rect { fill: #0969da }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } rect { fill: #4493f8 } }
"""


def tables(record):
    """Markdown: the machine, all cases beside their peers, and what was measured in fresh processes."""
    machine, cases = record["machine"], record["cases"]
    peers = ", ".join(f"{name} {version}" for name, version in record["peers"].items())
    lines = [
        f"{machine['cores']} cores of {machine['processor']}, {machine['memory']}, Linux {machine['kernel']}; {peers}.",
        "",
        "| case | nigh | peer | its time | times ours: median [least .. greatest] |",
        "|---|--:|---|--:|--:|",
    ]
    quiet = {case: about for case, about in cases.items() if about["others"] <= QUIET}
    for case, about in quiet.items():
        if "seconds" not in about:
            continue
        ours = about["seconds"]["nigh"]
        first = f"| {case} | {duration(statistics.median(ours))} "
        rows = []
        for peer, theirs in about["seconds"].items():
            if peer != "nigh":
                median, least, most = ratios(theirs, ours)
                time_of = duration(statistics.median(theirs))
                rows.append(f"| {peer} | {time_of} | {median:.1f} [{least:.1f} .. {most:.1f}] |")
        rows += [f"| {peer} | {error} | |" for peer, error in about["errors"].items()]
        lines += [(first if at == 0 else "| | ") + row for at, row in enumerate(rows or ["| | | |"])]
    alone = {case: middle_of(about["answers"]) for case, about in quiet.items() if "answers" in about}
    if alone:
        lines += ["", "| in its own process | time | peak memory | per edge |", "|---|--:|--:|--:|"]
    for case, answer in alone.items():
        edge = "{:.2f} ns, {:.0f} bytes".format(*per_edge(answer)) if case.startswith("scale/") else ""
        lines.append(f"| {case} | {duration(answer['seconds'])} | {answer['peak_bytes'] / 2**20:.0f} MiB | {edge} |")
    if busy := [case for case in cases if case not in quiet]:
        lines += ["", f"Left out because the machine was busy: {', '.join(busy)}."]
    return "\n".join(lines)


def chart(record):
    """Bars of ratios on a logarithmic axis."""
    bars = []
    for pattern, peer in CHART:
        for case, about in record["cases"].items():
            theirs = about.get("seconds", {}).get(peer)
            if matches(case, [pattern]) and theirs and about["others"] <= QUIET:
                bars.append((f"{case}, {peer}", ratios(theirs, about["seconds"]["nigh"])[0]))
    # From 1 to the next power of ten; where a peer is ahead, from the one below it.
    low = math.floor(math.log10(min([1, *(ratio for _, ratio in bars)])))
    high = max(1, math.ceil(math.log10(max([1, *(ratio for _, ratio in bars)]))))
    x = lambda ratio: LEFT + (math.log10(ratio) - low) / (high - low) * (WIDTH - LEFT - 50)
    bottom = ROW * (len(bars) + 1)
    marks = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 30}" role="img">',
        f"<title>How many times as long as nigh others take</title><style>{STYLE}</style>",
    ]
    for power in range(low, high + 1):
        at = x(10.0**power)
        marks.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{ROW / 2}" y2="{bottom}"/>')
        marks.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{10.0**power:g} ×</text>')
    for number, (name, ratio) in enumerate(bars):
        y, left, right = ROW * number + ROW / 2, min(x(1), x(ratio)), max(x(1), x(ratio))
        marks.append(f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>')
        marks.append(f'<rect x="{left:.1f}" y="{y + 3}" width="{right - left:.1f}" height="{ROW - 6}" rx="2"/>')
        marks.append(f'<text x="{right + 5:.1f}" y="{y + 15}">{ratio:.3g}</text>')
    return "\n".join([*marks, "</svg>", ""])


def main():
    record = json.loads((ROOT / "benches" / "results" / "speed.json").read_text())
    before, _, rest = PAGE.read_text().partition(START)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{START}\n{tables(record)}\n{END}{after}")
    CHART_FILE.write_text(chart(record))


if __name__ == "__main__":
    main()
