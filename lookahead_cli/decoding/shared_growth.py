"""Growing the trees of one pass, be it for one text or for many: the guess that promises most comes first, whichever
tree it belongs to, as long as one more is worth its time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from lookahead_cli.decoding.growth import Grower


def grow_while_it_pays(
    growers: Sequence[Grower], confidence: Sequence[float], seconds: Sequence[float], width: int, tokens: float
) -> list[int]:
    """Grow the trees beyond their best sizes and return those: the sizes with most expected tokens per second.

    `seconds[n]` is what a pass of width n takes, `width` that of the pass without any guess, `tokens` what it brings
    then. What a tree promises is multiplied by its `confidence`.
    """
    best_rate = tokens / seconds[width]
    grown: list[int] = []
    best = 0
    waiting = [(-confidence[tree] * grower.promise, tree) for tree, grower in enumerate(growers) if grower.queue]
    heapify(waiting)
    while waiting and width + 1 < len(seconds):
        # However many guesses are added, none of them promises more than the next.
        gain = -waiting[0][0]
        if all((tokens + more * gain) / seconds[width + more] <= best_rate for more in steps_from(width, seconds)):
            break
        _, tree = heappop(waiting)
        growers[tree].grow()
        grown.append(tree)
        tokens += gain
        width += 1
        if tokens / seconds[width] > best_rate:
            best, best_rate = len(grown), tokens / seconds[width]
        if growers[tree].queue:
            heappush(waiting, (-confidence[tree] * growers[tree].promise, tree))
    sizes = Counter(grown[:best])
    return [sizes[tree] for tree in range(len(growers))]


def steps_from(width: int, seconds: Sequence[float]) -> list[int]:
    """Numbers of guesses to look ahead by, doubling, up to the widest pass."""
    steps, step = [], 1
    while width + step < len(seconds):
        steps.append(step)
        step *= 2
    return steps
