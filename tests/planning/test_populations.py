"""The synthetic populations follow section 5, and their sampler and logs follow their laws."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import InvalidParameter
from hybriddp.planning.populations import Population, study_rng
from hybriddp.planning.profiles import POPULATIONS, aol_like, head_and_tail, yandex_like
from hybriddp.studies.synthetic import log as synthetic_log
from hybriddp.studies.synthetic.log import ROWS_PER_BATCH, SPAN_SECONDS, sample_log
from tests.stats import ALPHA, law_p_value

TOP_NINE = [0.0211, 0.0067, 0.0066, 0.0055, 0.0055, 0.0048, 0.0044, 0.0034, 0.0030]


@pytest.fixture(scope="module")
def aol() -> Population:
    return aol_like(rng=study_rng(1))


@pytest.fixture(scope="module")
def small() -> Population:
    return head_and_tail("small", n_users=100, n_queries=60, n_urls=60, rng=study_rng(1))


def test_aol_like_has_the_published_size_and_query_probabilities(aol):
    law = aol.query_probabilities
    assert (aol.n_users, aol.n_queries, aol.n_urls) == (519_371, 4_811_646, 1_620_064)
    assert law.shape == (aol.n_queries,)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert law[:9] == pytest.approx(TOP_NINE, rel=1e-9)
    assert law[:50].sum() == pytest.approx(0.0879, rel=1e-9)
    middle, tail = np.arange(10, 51.0), np.arange(51, aol.n_queries + 1.0)
    assert law[9:50] == pytest.approx(law[9] * (middle / 10) ** -1.25, rel=1e-9)
    np.testing.assert_allclose(law[50:], law[50] * (tail / 51) ** -0.75, rtol=1e-6)


def test_yandex_like_has_the_published_size_and_the_same_head():
    yandex = yandex_like(rng=study_rng(1))
    assert (yandex.n_users, yandex.n_queries, yandex.n_urls) == (4_970_073, 13_171_961, 12_702_350)
    # From the cdf's ends only: the whole law takes a second and 400 MB.
    last_records = np.cumsum(np.bincount(yandex.choice_query_ids)) - 1
    head = np.diff(yandex.record_cdf[last_records], prepend=0.0)
    assert head[:9] == pytest.approx(TOP_NINE, rel=1e-9)
    assert head[:50].sum() == pytest.approx(0.0879, rel=1e-9)
    ratio = (1 - yandex.record_cdf[-2]) / head[999]
    assert ratio == pytest.approx((yandex.n_queries / 1_000) ** -0.75, rel=1e-6)


def test_every_population_is_listed_under_its_own_name(aol):
    assert list(POPULATIONS) == ["aol-like", "yandex-like", "zipf-like"]
    assert aol.name == "aol-like"


def test_only_the_first_five_thousand_queries_have_a_choice_of_urls(aol):
    queries, urls = aol.record_query_ids, aol.record_url_ids
    assert np.array_equal(queries[urls == 0], np.arange(aol.n_queries))
    assert queries[urls > 0].max() < 5_000


def test_urls_are_numbered_by_falling_share(aol):
    shares, starts = aol.record_probabilities[: len(aol.choice_url_ids)], aol.choice_url_ids == 0
    assert np.all((np.diff(shares) <= 1e-15) | starts[1:])
    assert np.array_equal(np.diff(aol.choice_url_ids) == 1, ~starts[1:])


def test_number_of_urls_is_one_plus_poisson_three(aol):
    """5,000 queries; a mean of 2.5 instead of 3 extra urls must be rejected."""
    extra = np.minimum(np.bincount(aol.choice_query_ids) - 1, 9)
    observed = np.bincount(extra, minlength=10)

    def p_value(mean: float) -> float:
        law = stats.poisson.pmf(np.arange(10), mean)
        law[9] += stats.poisson.sf(9, mean)
        return law_p_value(observed, law)

    assert p_value(3.0) > ALPHA
    assert p_value(2.5) < ALPHA


def test_url_shares_are_dirichlet(aol, rng):
    """About 1,100 queries with four urls; equal weights of 2 must be rejected."""
    counts = np.bincount(aol.choice_query_ids)
    first_records = (np.cumsum(counts) - counts)[counts == 4]
    cumulative = np.append(0.0, aol.record_cdf)
    from_first = cumulative[first_records]
    largest = cumulative[first_records + 1] - from_first
    largest /= cumulative[first_records + 4] - from_first

    def p_value(weights: list[float]) -> float:
        expected = rng.dirichlet(weights, 20_000).max(axis=1)
        return stats.ks_2samp(largest, expected, method="asymp").pvalue

    assert p_value([6, 0.6, 0.6, 0.6]) > ALPHA
    assert p_value([2, 2, 2, 2]) < ALPHA


def test_indexed_search_equals_binary_search_at_and_around_every_kind_of_edge(aol, rng):
    cells = rng.integers(0, len(aol.guide), 20_000) / len(aol.guide)
    jumps = aol.record_cdf[rng.integers(0, len(aol.record_cdf) - 1, 20_000)]
    uniforms = np.concatenate(
        [rng.random(50_000), cells, jumps, np.nextafter(jumps, 0), [0, 1 - 2.0**-53]]
    )
    expected = np.searchsorted(aol.record_cdf, uniforms, side="right")
    assert np.array_equal(aol.records_at(uniforms), expected)


def planted(population: Population, guide: np.ndarray, **others: np.ndarray) -> Population:
    """Return a population that is led by another guide table than its own."""
    spoilt = replace(population, **others)
    vars(spoilt)["guide"] = guide
    return spoilt


def head_and_tail_p_value(population: Population, drawn: Population, rng) -> float:
    """Chi-square of 1,000,000 records: 200 head records, and the tail in 100 ranges."""
    n = 1_000_000
    edges = np.unique(
        np.concatenate(
            [np.arange(200), np.linspace(200, len(population.record_cdf), 101).astype(int)]
        )
    )
    mass = np.diff(population.record_cdf[edges[1:] - 1], prepend=0.0)
    observed = np.histogram(drawn.records_at(rng.random(n)), bins=edges)[0]
    return float(stats.chisquare(observed, n * mass).pvalue)


@pytest.mark.statistical
def test_sampler_follows_the_law_in_head_and_tail(aol, rng):
    """A guide table shifted by 0.4 % of its cells must be rejected."""
    guide = np.roll(aol.guide, -(2**15)).clip(max=len(aol.record_cdf) - 1)
    guide[-(2**15) :] = len(aol.record_cdf) - 1
    shifted = planted(aol, guide)
    assert head_and_tail_p_value(aol, aol, rng) > ALPHA
    assert head_and_tail_p_value(aol, shifted, rng) < ALPHA


@pytest.mark.statistical
def test_sampler_follows_the_law_of_every_record(small, rng):
    """1,000,000 records; one cell too far, or no step from the guide, must be rejected."""
    law = small.record_probabilities
    code = small.record_query_ids * 100 + small.record_url_ids
    one_cell_too_far = np.append(small.guide[1:], small.guide[-1])
    never_steps = np.full_like(small.record_cdf, 2.0)

    def p_value(drawn: Population) -> float:
        queries, urls = drawn.sample_records(1_000_000, rng=rng)
        found = np.searchsorted(code, queries * 100 + urls)
        return law_p_value(np.bincount(found, minlength=len(law)), law)

    assert p_value(small) > ALPHA
    assert p_value(planted(small, one_cell_too_far)) < ALPHA
    assert p_value(planted(small, small.guide, record_cdf=never_steps)) < ALPHA


def test_population_from_shares_by_hand():
    tiny = Population.from_shares(
        "tiny",
        n_users=4,
        n_urls=3,
        query_probabilities=np.array([2.0, 1.0, 1.0]),
        url_counts=np.array([2]),
        url_shares=np.array([0.75, 0.25]),
    )
    assert tiny.record_query_ids.tolist() == [0, 0, 1, 2]
    assert tiny.record_url_ids.tolist() == [0, 1, 0, 0]
    assert tiny.record_probabilities.tolist() == [0.375, 0.125, 0.25, 0.25]
    assert tiny.query_probabilities.tolist() == [0.5, 0.25, 0.25]
    assert tiny.guide.tolist() == [0, 0, 2, 3]
    assert tiny.records_at(np.array([0.0, 0.374, 0.375, 0.5, 0.99])).tolist() == [0, 0, 1, 2, 3]


def test_tables_cannot_be_changed_by_accident(small):
    with pytest.raises(ValueError, match="read-only"):
        small.record_cdf[0] = 0.5


def record_count_law(sigma: float) -> np.ndarray:
    """P(1), ..., P(10,000) records of a user: the ceiling of a log-normal, capped."""
    with np.errstate(divide="ignore"):
        beyond = stats.norm.sf(np.log(np.arange(10_000) / 6.3) / sigma)
    return beyond - np.append(beyond[1:], 0.0)


def test_records_per_user_have_mean_twenty_and_median_seven():
    law = record_count_law(1.5)
    assert law @ np.arange(1, 10_001) == pytest.approx(19.9, abs=0.05)
    assert np.searchsorted(np.cumsum(law), 0.5) + 1 == 7


@pytest.mark.statistical
def test_records_per_user_follow_the_heavy_tailed_law(small, rng):
    """100,000 users; a sigma of 1.4 instead of 1.5 must be rejected."""
    batches = sample_log(small, 100_000, rng=rng, records_per_user="many")
    counts = np.concatenate([np.unique(b.user_index, return_counts=True)[1] for b in batches])
    ends = [*range(1, 31), 50, 100, 200, 500, 10_000]

    def p_value(sigma: float) -> float:
        up_to = np.cumsum(record_count_law(sigma))[np.array(ends) - 1]
        observed = np.diff(np.searchsorted(np.sort(counts), ends, side="right"), prepend=0)
        return law_p_value(observed, np.diff(up_to, prepend=0))

    assert len(counts) == 100_000
    assert p_value(1.5) > ALPHA
    assert p_value(1.4) < ALPHA


def test_one_record_per_user_means_one_click_each(small, rng):
    batches = list(sample_log(small, 300_000, rng=rng))
    assert np.array_equal(np.concatenate([b.user_index for b in batches]), np.arange(300_000))
    assert all(b.url_id.min() >= 0 for b in batches)


@pytest.mark.statistical
def test_times_cover_the_span_evenly(small, rng):
    """1,000,000 rows over 91 days; a span of 90 days must be rejected."""
    seconds = np.concatenate([b.seconds for b in sample_log(small, 1_000_000, rng=rng)])
    assert seconds.min() >= 0
    assert seconds.max() < SPAN_SECONDS
    days = np.bincount(seconds // 86_400, minlength=91)
    assert law_p_value(days, np.full(91, 1 / 91)) > ALPHA
    squeezed = np.bincount(seconds * 90 // 91 // 86_400, minlength=91)
    assert law_p_value(squeezed, np.full(91, 1 / 91)) < ALPHA


@pytest.mark.parametrize("rows_per_batch", [1, 7, 1_000, ROWS_PER_BATCH])
@pytest.mark.parametrize("no_click_share", [0.0, 0.5])
def test_rows_are_sorted_and_no_user_is_split(small, rng, rows_per_batch, no_click_share):
    batches = list(
        sample_log(
            small,
            500,
            rng=rng,
            records_per_user="many",
            no_click_share=no_click_share,
            rows_per_batch=rows_per_batch,
        )
    )
    users = np.concatenate([b.user_index for b in batches])
    seconds = np.concatenate([b.seconds for b in batches])
    assert np.array_equal(np.unique(users), np.arange(500))
    assert np.array_equal(np.lexsort((seconds, users)), np.arange(len(users)))
    for batch, following in pairwise(batches):
        assert batch.user_index[-1] < following.user_index[0]
    for batch in batches:
        assert len(batch) <= rows_per_batch or len(np.unique(batch.user_index)) == 1


def test_users_keep_their_numbers_beyond_the_first_block(small, rng, monkeypatch):
    monkeypatch.setattr(synthetic_log, "ROWS_PER_BATCH", 64)
    batches = sample_log(small, 1_000, rng=rng, records_per_user="many", rows_per_batch=100)
    users = np.concatenate([b.user_index for b in batches])
    assert np.array_equal(np.unique(users), np.arange(1_000))


def test_batches_stay_small_for_users_with_many_records(small, rng):
    sizes = [len(b) for b in sample_log(small, 60_000, rng=rng, records_per_user="many")]
    assert max(sizes) <= ROWS_PER_BATCH
    assert np.mean(sizes[:-1]) > 0.9 * ROWS_PER_BATCH


@pytest.mark.statistical
@pytest.mark.parametrize("records_per_user", ["one", "many"])
def test_rows_without_a_click_have_their_share_and_are_never_a_users_only_row(
    small, rng, records_per_user
):
    """The number of such rows is Poisson given the clicks: an exact two-sided test."""
    batches = list(
        sample_log(small, 30_000, rng=rng, records_per_user=records_per_user, no_click_share=0.47)
    )
    users = np.concatenate([b.user_index for b in batches])
    urls = np.concatenate([b.url_id for b in batches])
    ranks = np.concatenate([b.item_rank for b in batches])
    n_clicks, n_misses = int((urls >= 0).sum()), int((urls == -1).sum())

    def p_value(share: float) -> float:
        law = stats.poisson(n_clicks * share / (1 - share))
        return 2 * min(law.cdf(n_misses), law.sf(n_misses - 1))

    assert p_value(0.47) > ALPHA
    assert p_value(0.44) < ALPHA
    assert np.array_equal(np.unique(users[urls >= 0]), np.arange(30_000))
    assert np.array_equal(ranks == 0, urls == -1)
    assert ranks.min() == 0


def test_same_seed_same_draws_and_another_seed_other_draws(aol):
    first, again, other = (
        aol.sample_records(1_000, rng=study_rng(seed))[0].tolist() for seed in (7, 7, 8)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_users": 0}, "n_users must be >= 1, got 0; ask for at least one user."),
        ({"records_per_user": "two"}, "records_per_user must be one of one, many, got 'two'"),
        ({"no_click_share": 1.0}, "no_click_share must be at least 0 and below 1, got 1.0"),
        ({"no_click_share": -0.1}, "no_click_share must be at least 0 and below 1, got -0.1"),
        ({"no_click_share": float("nan")}, "no_click_share must be .* got nan"),
        ({"rows_per_batch": 0}, "rows_per_batch must be >= 1, got 0"),
    ],
)
def test_bad_argument_is_refused_before_the_first_batch(small, rng, arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        sample_log(small, **({"n_users": 5, "rng": rng} | arguments))


def test_bad_sizes_and_seeds_are_refused(small, rng):
    with pytest.raises(InvalidParameter, match="n must be >= 0, got -1"):
        small.sample_records(-1, rng=rng)
    with pytest.raises(InvalidParameter, match="seed must be >= 0, got -1"):
        study_rng(-1)
    with pytest.raises(InvalidParameter, match="n_queries must be > 50, got 50"):
        head_and_tail("too small", n_users=1, n_queries=50, n_urls=1, rng=rng)
