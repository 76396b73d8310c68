"""Normal, Student t and beta distributions in pure Python.

`scipy.stats` costs more than a second to import, which no command line can afford. These agree
with it to 1e-10 over the range intervals and tests use (see the tests).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from statistics import NormalDist

_EPSILON = 1e-16
_TINY = 1e-300
_MAX_ITERATIONS = 100_000
_STIRLING_FROM = 10.0
_STIRLING_COEFFICIENTS = (-691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_STANDARD_NORMAL = NormalDist()


def normal_cdf(x: float) -> float:
    """Return P(Z <= x) for a standard normal Z.

    >>> round(normal_cdf(1.96), 4)
    0.975
    """
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def normal_quantile(probability: float) -> float:
    """Return the standard normal quantile; minus and plus infinity at 0 and 1.

    Wichura's algorithm AS 241, from the standard library.

    >>> round(normal_quantile(0.975), 6)
    1.959964
    """
    _require_probability(probability)
    if probability in (0.0, 1.0):
        return math.copysign(math.inf, probability - 0.5)
    return _STANDARD_NORMAL.inv_cdf(probability)


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), the CDF of Beta(a, b).

    Continued fraction by Lentz's method (Press et al., Numerical Recipes, section 6.4).

    >>> round(beta_cdf(0.5, 2, 2), 12)
    0.5
    """
    _require_positive(a, b)
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    return _beta_cdf_inside(x, 1.0 - x, a, b)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Return the quantile of Beta(a, b).

    >>> round(beta_quantile(0.5, 3, 3), 12)
    0.5
    """
    _require_probability(probability)
    _require_positive(a, b)
    if probability in (0.0, 1.0):
        return probability
    return _invert(
        lambda x: beta_cdf(x, a, b),
        lambda x: math.exp(_log_beta_kernel(x, 1.0 - x, a, b)) / (x * (1.0 - x)),
        probability,
        (0.0, 1.0),
        start=a / (a + b),
    )


def t_cdf(x: float, df: float) -> float:
    """Return P(T <= x) for Student's t with `df` degrees of freedom.

    >>> round(t_cdf(2.0, 10), 6)
    0.963306
    """
    _require_positive(df, df)
    if x == 0.0:
        return 0.5
    if math.isinf(x):
        return 0.5 + math.copysign(0.5, x)
    # Of the two complementary beta arguments each is formed without cancellation.
    total = df + x * x
    tail = 0.5 * _beta_cdf_inside(df / total, x * x / total, df / 2.0, 0.5)
    return tail if x < 0.0 else 1.0 - tail


@functools.lru_cache(maxsize=4096)
def t_quantile(probability: float, df: float) -> float:
    """Return the quantile of Student's t with `df` degrees of freedom.

    >>> round(t_quantile(0.975, 6), 6)
    2.446912
    """
    _require_probability(probability)
    _require_positive(df, df)
    start = normal_quantile(probability)
    if start == 0.0 or math.isinf(start):
        return start
    if start > 0.0:
        return -t_quantile(1.0 - probability, df)
    low = 2.0 * start
    while t_cdf(low, df) > probability:
        low *= 2.0
    return _invert(
        lambda x: t_cdf(x, df), lambda x: _t_density(x, df), probability, (low, 0.0), start=start
    )


def chi_square_tail(x: float, df: int) -> float:
    """Return P(X > x) for a chi-square variable with `df` degrees of freedom, by its finite sum.

    Abramowitz and Stegun (1964), 26.4.4 and 26.4.5.

    >>> round(chi_square_tail(5.991465, 2), 6)
    0.05
    """
    if x <= 0.0:
        return 1.0
    half = x / 2.0
    odd = df % 2
    total = math.erfc(math.sqrt(half)) if odd else 0.0
    for step in range(df // 2):
        place = step + 0.5 if odd else float(step)
        total += math.exp(place * math.log(half) - half - math.lgamma(place + 1.0))
    return min(1.0, total)


def binomial_pmf(successes: int, n: int, p: float) -> float:
    """Return the probability of exactly `successes` in `n` independent trials.

    >>> round(binomial_pmf(1, 2, 0.5), 12)
    0.5
    """
    if p in (0.0, 1.0):
        return float(successes == round(n * p))
    log_choose = math.lgamma(n + 1) - math.lgamma(successes + 1) - math.lgamma(n - successes + 1)
    return math.exp(log_choose + successes * math.log(p) + (n - successes) * math.log1p(-p))


def binomial_cdf(successes: int, n: int, p: float) -> float:
    """Return the probability of at most `successes` in `n` independent trials.

    >>> round(binomial_cdf(1, 2, 0.5), 12)
    0.75
    """
    if successes < 0:
        return 0.0
    if successes >= n:
        return 1.0
    return beta_cdf(1.0 - p, n - successes, successes + 1)


def _t_density(x: float, df: float) -> float:
    log_density = (
        math.lgamma((df + 1.0) / 2.0)
        - math.lgamma(df / 2.0)
        - 0.5 * math.log(df * math.pi)
        - (df + 1.0) / 2.0 * math.log1p(x * x / df)
    )
    return math.exp(log_density)


def _log_beta_kernel(x: float, y: float, a: float, b: float) -> float:
    """Return log(x^a y^b / B(a, b)), with y = 1 - x."""
    if a > b:
        return _log_beta_kernel(y, x, b, a)
    total = a + b
    if a >= _STIRLING_FROM:
        series = _stirling_rest(a) + _stirling_rest(b) - _stirling_rest(total)
        main = a * math.log(x * total / a) + b * math.log(y * total / b)
        return main + 0.5 * math.log(a * b / (2.0 * math.pi * total)) - series
    if b >= _STIRLING_FROM:
        log_gamma_ratio = (
            _stirling_rest(b)
            - _stirling_rest(total)
            + a
            - a * math.log(total)
            + (b - 0.5) * math.log1p(-a / total)
        )
        return a * math.log(x) + b * math.log(y) - math.lgamma(a) - log_gamma_ratio
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(total)
    return a * math.log(x) + b * math.log(y) - log_beta


def _stirling_rest(x: float) -> float:
    """Return the remainder of Stirling's formula for log gamma(x), for x >= 10.

    Differences of large `lgamma` values would lose the digits that this keeps.
    """
    inverse_square = 1.0 / (x * x)
    total = 0.0
    for coefficient in _STIRLING_COEFFICIENTS:
        total = total * inverse_square + coefficient
    return total / x


def _beta_cdf_inside(x: float, y: float, a: float, b: float) -> float:
    """I_x(a, b) for 0 < x < 1 with y = 1 - x given apart, so that neither loses digits."""
    if x <= 0.0 or y <= 0.0:
        return float(x > y)
    front = math.exp(_log_beta_kernel(x, y, a, b))
    # The fraction converges fast on this side of the mean; the other side is its complement.
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(x, a, b) / a
    return 1.0 - front * _beta_fraction(y, b, a) / b


def _beta_fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, _MAX_ITERATIONS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        change = 1.0
        for coefficient in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + coefficient * d)
            c = _away_from_zero(1.0 + coefficient / c)
            change = c * d
            value *= change
        if abs(change - 1.0) < _EPSILON * 4:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _invert(
    cdf: Callable[[float], float],
    density: Callable[[float], float],
    probability: float,
    bracket: tuple[float, float],
    *,
    start: float,
) -> float:
    """Solve cdf(x) = probability by Newton steps that never leave a shrinking bracket."""
    low, high = bracket
    x = start
    for _ in range(200):
        excess = cdf(x) - probability
        if excess == 0.0:
            return x
        low, high = (low, x) if excess > 0.0 else (x, high)
        slope = density(x)
        step = x - excess / slope if slope > 0.0 else math.nan
        # A NaN compares false, so a flat density falls back to bisection as well.
        following = step if low < step < high else 0.5 * (low + high)
        if abs(following - x) <= 4 * _EPSILON * abs(following) or following in (low, high):
            return following
        x = following
    return x


def _require_probability(probability: float) -> None:
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"{probability!r} is not a probability between 0 and 1")


def _require_positive(*parameters: float) -> None:
    if not all(parameter > 0.0 for parameter in parameters):
        raise ValueError(f"shape parameters must be positive, got {parameters!r}")
