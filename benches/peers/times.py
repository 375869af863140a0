"""How times are put together and written down."""

import statistics


def duration(seconds):
    for factor, unit in [(1, "s"), (1e3, "ms"), (1e6, "µs")]:
        if seconds * factor >= 1:
            break
    return f"{seconds * factor:.3g} {unit}" if seconds * factor < 1000 else f"{seconds * factor:.0f} {unit}"


def ratios(theirs, ours):
    """Round by round: median, least and greatest."""
    each = [their / our for their, our in zip(theirs, ours)]
    return statistics.median(each), min(each), max(each)


def middle_of(answers):
    return sorted(answers, key=lambda answer: answer["seconds"])[len(answers) // 2]


def per_edge(answer):
    """Nanoseconds of a hop, and bytes at the peak."""
    return 1e9 * answer["seconds"] / answer["edges"], answer["peak_bytes"] / answer["edges"]
