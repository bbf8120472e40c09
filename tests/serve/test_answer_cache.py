"""As many responses as fit are cached while the runs do not change."""

from runfold._serve.answer_cache import Cache


def test_response_is_made_once_per_generation():
    cache, made = Cache(), []

    def fetch(generation, key):
        return cache.get(generation, key, lambda: made.append(key) or b"answer")

    assert [fetch(1, "a"), fetch(1, "a"), fetch(1, "b"), fetch(2, "a")] == [b"answer"] * 4
    assert made == ["a", "b", "a"]


def test_recently_used_responses_stay_and_large_ones_are_not_cached():
    cache, made = Cache(most=30, largest=12), []

    def fetch(name, size=10):
        cache.get(1, name, lambda: made.append(name) or bytes(size))

    for name in ("a", "b", "c", "a", "d", "a", "b"):
        fetch(name)
    assert made == ["a", "b", "c", "d", "b"]
    fetch("large", 13)
    fetch("large", 13)
    assert made[5:] == ["large", "large"]
