"""How much work something is, without a clock: the calls of Python functions it makes in this thread."""

import sys


def counted_calls(work):
    """How many functions `work` calls. A first run fills caches."""
    work()
    count = 0

    def count_call(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def growth(work, small):
    """How many times as much `work(n)` adds from twice to four times `small` as from `small` to twice: 2 if linear."""
    one, two, four = (counted_calls(lambda n=n: work(n)) for n in (small, 2 * small, 4 * small))
    return (four - two) / (two - one)
