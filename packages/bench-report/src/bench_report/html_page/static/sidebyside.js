/* Two trials of one task: steps aligned by what they did, the first difference marked. */

/** What a step did, without what differs between runs that do the same: ports, and a few pixels. */
const signature = (step) =>
  step.did.join("; ").replace(/\/\/[^/\s]*/g, "//").replace(/(-?\d+(?:\.\d+)?), (-?\d+(?:\.\d+)?)/g, (_, x, y) => `${Math.round(x / 24)}, ${Math.round(y / 24)}`);

const kindOf = (text) => text.split(" ", 1)[0];

/** Aligned rows `{left, right, same}`, each side the index of a step or null. */
function alignSteps(left, right) {
  const [a, b] = [left.map(signature), right.map(signature)];
  const fit = (i, j) => (a[i] === b[j] ? 3 : kindOf(a[i]) === kindOf(b[j]) ? 0 : -1);
  return align(a.length, b.length, fit).map(([i, j]) => ({ left: i, right: j, same: i !== null && j !== null && a[i] === b[j] }));
}

class SideBySide {
  /** `sides` are two of `{title, outcome, evidence}`; `moved(row)` receives which aligned row is shown. */
  constructor(sides, { moved, at = null }) {
    this.sides = sides;
    this.moved = moved;
    this.steps = sides.map((side) => side.evidence.steps ?? []);
    this.rows = alignSteps(...this.steps);
    this.first = this.rows.findIndex((row) => !row.same);
    this.stages = sides.map(() => h("div", { class: "pair-stage" }));
    this.lines = this.rows.map((row, index) => this.line(row, index));
    this.list = h("div", { class: "pair-list", tabindex: 0, role: "group", "aria-label": "Aligned steps" }, h("table", {}, h("tbody", {}, this.lines)));
    this.element = h("div", { class: "side-by-side" }, this.summary(),
      h("div", { class: "pair" }, sides.map((side, n) => h("section", { "aria-label": side.title }, h("h3", {}, h("span", { class: `outcome-icon ${OUTCOMES[side.outcome]}` }), ` ${n ? "B" : "A"} `, side.title, h("span", { class: "quiet" }, ` ${OUTCOME_WORDS[side.outcome].toLowerCase()}, ${count(this.steps[n].length)} steps`)), this.stages[n]))),
      this.rows.length ? this.list : h("p", { class: "empty" }, "Neither trial has a trajectory."), checksApart(sides));
    if (this.rows.length) this.show(at ?? Math.max(this.first, 0), false);
  }

  summary() {
    const same = this.rows.filter((row) => row.same).length;
    const where = this.first < 0 ? null : this.rows[this.first];
    const words = this.first < 0 ? `Both did the same in all ${count(this.rows.length)} steps.`
      : `${count(same)} of ${count(this.rows.length)} aligned steps are the same; the first difference is at ${[["A", where.left, 0], ["B", where.right, 1]].filter(([, index]) => index !== null).map(([name, index, side]) => `step ${this.steps[side][index].step} of ${name}`).join(", ")}.`;
    return h("div", { class: "pair-summary" }, h("p", { role: "status" }, words),
      h("button", { type: "button", class: "jump", disabled: this.first < 0, onclick: () => this.show(this.first) }, "First difference (d)"),
      h("button", { type: "button", class: "jump", onclick: () => this.nextDifference() }, "Next difference (n)"));
  }

  line(row, index) {
    const cell = (side, at) => h("td", {}, at === null ? h("span", { class: "quiet" }, "–") : [h("span", { class: "quiet" }, `${this.steps[side][at].step} `), this.steps[side][at].did.join(", ") || "no action"]);
    const sign = row.same ? "=" : row.left === null ? "+" : row.right === null ? "−" : "≠";
    const word = { "=": "the same", "+": "only B", "−": "only A", "≠": "different" }[sign];
    const first = index === this.first;
    return h("tr", { class: [row.same ? null : "differs", first ? "first" : null].filter(Boolean).join(" ") || null, onclick: () => this.show(index) },
      cell(0, row.left), h("td", { class: "sign" }, h("button", { type: "button", class: "sign-button", tabindex: -1, "aria-label": `Aligned step ${index + 1}: ${word}`, title: word }, sign)), cell(1, row.right));
  }

  nextDifference() {
    const next = this.rows.findIndex((row, index) => index > this.at && !row.same);
    this.show(next < 0 ? Math.max(this.first, 0) : next);
  }

  key(event) {
    const last = this.rows.length - 1;
    const acts = {
      ArrowRight: () => this.show(Math.min(last, this.at + 1)), ArrowLeft: () => this.show(Math.max(0, this.at - 1)),
      ArrowDown: () => this.show(Math.min(last, this.at + 1)), ArrowUp: () => this.show(Math.max(0, this.at - 1)),
      Home: () => this.show(0), End: () => this.show(last), d: () => this.first >= 0 && this.show(this.first), n: () => this.nextDifference(),
    };
    if (!(event.key in acts) || last < 0) return false;
    acts[event.key]();
    return true;
  }

  show(index, report = true) {
    if (index < 0 || index >= this.rows.length) return;
    this.lines[this.at]?.removeAttribute("aria-current");
    this.at = index;
    const line = this.lines[index];
    line.setAttribute("aria-current", "true");
    this.list.scrollTo({ top: line.offsetTop - this.list.clientHeight / 2 });
    const row = this.rows[index];
    [row.left, row.right].forEach((at, side) => this.stages[side].replaceChildren(...this.stage(side, at)));
    if (report) this.moved(index + 1);
  }

  stage(side, at) {
    if (at === null) return [h("p", { class: "empty" }, "Nothing of this kind here.")];
    const step = this.steps[side][at];
    return [stepPicture(step, `Before step ${step.step}`, step.marks ?? []), ...stepParts(step, this.steps[side], at, new Set())].filter(Boolean);
  }
}

/** The checks that came out differently. */
function checksApart(sides) {
  const [a, b] = sides.map((side) => new Map((side.evidence.checks ?? []).map((check) => [check.criterion, check])));
  const names = [...new Set([...a.keys(), ...b.keys()])].filter((name) => String(a.get(name)?.passed) !== String(b.get(name)?.passed));
  if (!names.length) return null;
  const mark = (check) => (check ? h("span", { class: `outcome-icon ${OUTCOMES[VERDICTS[String(check.passed)][0]]}` }, h("span", { class: "spoken" }, VERDICTS[String(check.passed)][1])) : NONE);
  return section("Checks that came out differently", h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Checks" }, h("table", { class: "plain-table compact" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Check"), h("th", { scope: "col" }, "A"), h("th", { scope: "col" }, "B"))),
    h("tbody", {}, names.slice(0, 60).map((name) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, mark(a.get(name))), h("td", {}, mark(b.get(name)))))))));
}
