/* What two texts share and what they do not: expected against found, one trial's steps against another's. */

const MOST_PAIRS = 250_000;

/** Pairs of places that an optimal alignment puts together; `[i, null]` and `[null, j]` where one has nothing.

    `score(i, j)` is how well two places fit, null where they must not meet; a place without partner costs 1. */
function align(left, right, score) {
  const width = right + 1;
  const best = new Float32Array((left + 1) * width);
  for (let i = left; i >= 0; i -= 1) {
    for (let j = right; j >= 0; j -= 1) {
      if (i === left || j === right) { best[i * width + j] = -(left - i + right - j); continue; }
      const both = score(i, j);
      const apart = Math.max(best[(i + 1) * width + j], best[i * width + j + 1]) - 1;
      best[i * width + j] = both === null ? apart : Math.max(apart, both + best[(i + 1) * width + j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < left || j < right;) {
    const both = i < left && j < right ? score(i, j) : null;
    if (both !== null && best[i * width + j] === both + best[(i + 1) * width + j + 1]) pairs.push([i++, j++]);
    else if (i < left && (j === right || best[i * width + j] === best[(i + 1) * width + j] - 1)) pairs.push([i++, null]);
    else pairs.push([null, j++]);
  }
  return pairs;
}

const words = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
const lines = (text) => text.match(/[^\n]*\n|[^\n]+/g) ?? [];

/** Both texts as lists of `[part, shared]`. Words where they are few, else lines, else one part in the middle. */
function textDifference(one, other) {
  for (const cut of [words, lines]) {
    const [a, b] = [cut(one), cut(other)];
    let start = 0;
    while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
    let end = 0;
    while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
    const [n, m] = [a.length - start - end, b.length - start - end];
    if (n * m > MOST_PAIRS && cut === words) continue;
    const flags = [a, b].map((parts) => parts.map((_, at) => at < start || at >= parts.length - end));
    if (n * m <= MOST_PAIRS) {
      for (const [i, j] of align(n, m, (i, j) => (a[start + i] === b[start + j] ? 1 : null))) {
        if (i !== null && j !== null) flags[0][start + i] = flags[1][start + j] = true;
      }
    }
    return [a, b].map((parts, side) => joined(parts, flags[side]));
  }
  return null;
}

function joined(parts, flags) {
  const found = [];
  parts.forEach((part, at) => {
    const last = found[found.length - 1];
    if (last && (last[1] === flags[at])) last[0] += part;
    else found.push([part, flags[at]]);
  });
  return found;
}

/** A text with what the other one lacks marked; `tag` is ins or del. */
const marked = (parts, tag) => parts.map(([text, shared]) => (shared ? text : h(tag, {}, text)));
