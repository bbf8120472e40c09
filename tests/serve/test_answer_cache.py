"""Answers are kept while the runs stay as they are, as many as fit."""

from runfold._serve.answer_cache import Cache


def test_answer_is_made_once_in_a_generation():
    cache, made = Cache(), []

    def ask(generation, asked):
        return cache.get(generation, asked, lambda: made.append(asked) or b"answer")

    assert [ask(1, "a"), ask(1, "a"), ask(1, "b"), ask(2, "a")] == [b"answer"] * 4
    assert made == ["a", "b", "a"]


def test_those_asked_for_last_stay_and_a_large_one_is_not_kept():
    cache, made = Cache(most=30, largest=12), []

    def ask(name, size=10):
        cache.get(1, name, lambda: made.append(name) or bytes(size))

    for name in ("a", "b", "c", "a", "d", "a", "b"):
        ask(name)
    assert made == ["a", "b", "c", "d", "b"]
    ask("large", 13)
    ask("large", 13)
    assert made[5:] == ["large", "large"]
