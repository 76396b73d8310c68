/* One trial in a dialog, or two beside each other: outcome, checks, steps, facts, files. */

class Detail {
  constructor(dialog, store, state) {
    this.dialog = dialog;
    this.store = store;
    this.state = state;
    this.order = () => [];
    dialog.addEventListener("close", () => this.closed());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("keydown", (event) => this.key(event));
  }

  /** Called some time after the dialog has closed: another trial may be shown by now, or its link followed. */
  closed() {
    const open = this.state.get("open");
    if (open && !this.dialog.open && this.state.read()?.open === open) this.state.set({ open: "", step: "", with: "" });
  }

  address(row) {
    const { trials, tasks } = this.store;
    return JSON.stringify([this.store.runIds[trials.run[row]], tasks.id[trials.task[row]], trials.trial[row]]);
  }

  /** The address of a trial to be compared with another of its task. */
  pairAddress(row) {
    return JSON.stringify([this.store.runIds[this.store.trials.run[row]], this.store.trials.trial[row]]);
  }

  /** The trial of `row`'s task that the address names for comparison, or null. */
  partner(row, given) {
    try {
      const [run, trial] = JSON.parse(given);
      const found = this.store.find(run, this.store.tasks.id[this.store.trials.task[row]], trial);
      return found < 0 || found === row ? null : found;
    } catch {
      return null;
    }
  }

  /** Show the trial or the pair named in the address, or close. */
  async follow() {
    const row = this.named(this.state.get("open"));
    const other = row === null ? null : this.partner(row, this.state.get("with"));
    if (row === this.row && other === this.other) { this.toStep(); return; }
    [this.row, this.other] = [row, other];
    this.film?.stop?.();
    if (row === null) { if (this.dialog.open) this.dialog.close(); return; }
    this.draw(row, other, null);
    if (!this.dialog.open) this.dialog.showModal();
    const rows = other === null ? [row] : [row, other];
    const read = (each) => this.store.evidence(each).catch((error) => ({ missing: error.message }));
    const evidence = await Promise.all(rows.map(read));
    if (this.row === row && this.other === other) this.draw(row, other, evidence);
  }

  /** The address may have changed to another step of the trial that is shown. */
  toStep() {
    const step = Number(this.state.get("step"));
    if (step && this.film?.showStep) this.film.showStep(step);
  }

  named(open) {
    try {
      const row = this.store.find(...JSON.parse(open));
      return row < 0 ? null : row;
    } catch {
      return null;
    }
  }

  go(row) {
    this.state.set({ open: this.address(row), step: "", with: "" });
  }

  compare(row) {
    this.state.set({ with: row === null ? "" : this.pairAddress(row), step: "" });
  }

  /** The trial that shows most beside this one: another outcome, of the same run if there is one. */
  contrast(row) {
    const { store } = this;
    const others = store.byTask[store.trials.task[row]].filter((each) => each !== row);
    const worth = (each) => 2 * (store.outcome[each] !== store.outcome[row] && store.outcome[each] !== VOID) + (store.trials.run[each] === store.trials.run[row]);
    return others.sort((a, b) => worth(b) - worth(a))[0] ?? null;
  }

  /** The trials before and after this one in the table as it is filtered and sorted. */
  neighbour(by) {
    const order = this.order();
    const at = order.indexOf(this.row);
    return at < 0 ? undefined : order[at + by];
  }

  key(event) {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "c" && this.row !== null) this.compare(this.other === null ? this.contrast(this.row) : null);
    else if (this.other === null && this.notes.key(event)) event.preventDefault();
    else if (this.film?.key(event)) event.preventDefault();
    else {
      const next = { j: 1, k: -1 }[event.key];
      if (next && this.neighbour(next) !== undefined) this.go(this.neighbour(next));
    }
  }

  draw(row, other, evidence) {
    this.film = null;
    const waiting = h("p", { class: "quiet" }, "Reading the evidence …");
    const content = other === null
      ? [this.heading(row), this.siblings(row), ...(evidence === null ? [waiting] : [this.evidence(row, evidence[0]), this.more(row, evidence[0])])]
      : [this.heading(row, true), this.siblings(row), evidence === null ? waiting : this.pair([row, other], evidence)];
    this.dialog.replaceChildren(this.bar(row, other), h("div", { class: "detail-body" }, content, other === null ? this.notes.draw(this, row, evidence?.[0].checks) : null));
    this.dialog.scrollTop = 0;
    this.dialog.focus({ preventScroll: true });
    this.film?.show(this.film.at, false); // now that widths are known
  }

  pair(rows, evidence) {
    const { store } = this;
    const title = (row) => `${store.runs.length > 1 ? `${store.runs[store.trials.run[row]]}, ` : ""}trial ${store.trials.trial[row]}`;
    const sides = rows.map((row, n) => ({ title: title(row), outcome: store.outcome[row], evidence: evidence[n] }));
    const missing = evidence.map((each) => each.missing).filter(Boolean);
    if (missing.length) return h("p", { class: "problem" }, missing.join("; "));
    const at = Number(this.state.get("step")) - 1;
    this.film = new SideBySide(sides, { moved: (step) => this.state.soon({ step: String(step) }), at: at >= 0 ? at : null });
    return this.film.element;
  }

  /** On paper every step of an open trial is there. */
  print(on) {
    this.dialog.querySelector(".printed")?.remove();
    if (on && this.film?.printed) this.dialog.querySelector(".detail-body").append(h("div", { class: "printed" }, h("h3", {}, "Steps"), this.film.printed(PRINTED_STEPS)));
  }

  /** A trial for paper: what it came to, its checks and its steps. */
  async onPaper(row) {
    const { store } = this;
    const evidence = await store.evidence(row).catch((error) => ({ missing: error.message }));
    const { missing, error, checks, steps, note } = evidence;
    return h("section", { class: "print-trial" },
      h("h2", {}, `Task ${store.tasks.id[store.trials.task[row]]}, trial ${store.trials.trial[row]}`), store.runs.length > 1 ? h("p", { class: "quiet" }, store.runs[store.trials.run[row]]) : null,
      this.heading(row, true), missing ? h("p", { class: "problem" }, missing) : null, error ? h("p", { class: "problem" }, `${error.kind}: ${error.message}`) : null,
      checks?.length ? checkLists(checks) : null, this.facts(row), steps?.length ? printedSteps(steps, PRINTED_STEPS) : null, note ? h("p", { class: "quiet" }, note) : null);
  }

  bar(row, other) {
    const { store } = this;
    const step = (by, text, label) => {
      const to = this.neighbour(by);
      return h("button", { type: "button", class: "plain", "aria-label": label, title: label, disabled: to === undefined, onclick: () => this.go(to) }, text);
    };
    return h("header", { class: "dialog-bar" }, ...[
      h("strong", { class: "dialog-title" }, `Task ${store.tasks.id[store.trials.task[row]]}`),
      h("span", { class: "quiet" }, `trial ${store.trials.trial[row]}${other === null ? "" : " beside another"}`),
      h("span", { class: "grow" }),
      other === null ? null : h("button", { type: "button", class: "link", onclick: () => this.compare(null) }, "one trial (c)"),
      h("details", { class: "keys-list" }, h("summary", {}, "Keys"), h("dl", {}, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what))))),
      step(-1, "↑", "Previous trial (k)"), step(1, "↓", "Next trial (j)"),
      h("button", { type: "button", class: "plain close", "aria-label": "Close (Esc)", title: "Close (Esc)", onclick: () => this.dialog.close() }, "✕")].filter(Boolean));
  }

  heading(row, small = false) {
    const { store } = this;
    const outcome = store.outcome[row];
    const score = store.trials.score[row];
    const reason = store.reason(row);
    return h("div", { class: "verdict" },
      h("p", { class: `badge ${OUTCOMES[outcome]}` }, OUTCOME_WORDS[outcome],
        score === null ? null : h("span", { class: "score" }, `score ${scoreText(score)}`)),
      reason ? h("p", { class: "reason" }, reason.replaceAll("_", " ")) : null,
      h("h2", { class: small ? "goal small" : "goal" }, store.tasks.goal[store.trials.task[row]]));
  }

  /** The other trials of this task, in all runs. */
  siblings(row) {
    const { store } = this;
    const rows = store.byTask[store.trials.task[row]];
    if (rows.length < 2) return null;
    const runs = store.runs.map((label, run) => {
      const own = rows.filter((each) => store.trials.run[each] === run);
      return own.length ? h("span", { class: "sibling" }, store.runs.length > 1 ? h("span", { class: "quiet" }, label) : null,
        own.map((each) => this.sibling(each, each === row))) : null;
    });
    return h("nav", { class: "siblings", "aria-label": "Trials of this task" }, runs, this.choice(row, rows));
  }

  /** What to put beside this trial. */
  choice(row, rows) {
    const { store } = this;
    const words = (each) => `${store.runs.length > 1 ? `${store.runs[store.trials.run[each]]}, ` : ""}trial ${store.trials.trial[each]}, ${OUTCOME_WORDS[store.outcome[each]].toLowerCase()}`;
    const others = rows.filter((each) => each !== row).slice(0, MOST_OFFERED);
    const chosen = this.other === null ? "" : String(this.other);
    const select = h("select", { class: "beside", onchange: () => this.compare(select.value === "" ? null : Number(select.value)) },
      h("option", { value: "" }, "nothing"), others.map((each) => h("option", { value: each, selected: String(each) === chosen }, words(each))));
    return h("label", { class: "facet" }, h("span", {}, "Side by side with (c)"), select);
  }

  sibling(row, current) {
    const outcome = this.store.outcome[row];
    const words = `Trial ${this.store.trials.trial[row]}, ${OUTCOME_WORDS[outcome].toLowerCase()}`;
    return h("button", { type: "button", class: `sibling-trial ${OUTCOMES[outcome]}`, "aria-current": current ? "true" : null, "aria-label": words, title: words, onclick: () => this.go(row) },
      String(this.store.trials.trial[row]));
  }

  facts(row) {
    const { store } = this;
    const { trials } = store;
    const task = trials.task[row];
    const groups = Object.keys(store.tasks.groups).map((name) => [name.replaceAll("_", " "), store.group(name, task).join(", ")]);
    const known = [
      ...(store.runs.length > 1 ? [["Run", store.runs[trials.run[row]]]] : []),
      ["Status", store.word("status", row).replaceAll("_", " ")], ["Evaluated by", store.word("method", row)],
      ["Confidence", trials.confidence[row] === null ? null : percent(trials.confidence[row])],
      ["Steps", count(trials.steps[row])],
      ["Tokens", `${short(trials.input[row])} in, ${short(trials.output[row])} out`],
      ["Cost", dollars(trials.cost[row])], ["Time", duration(trials.seconds[row])],
      ["Attempts", trials.attempts[row] > 1 ? String(trials.attempts[row]) : null],
      ["Template", store.template(task)], ...groups, ["Flags", store.word("flags", row)],
    ];
    return h("dl", { class: "facts" }, known.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  }

  /** The picture first, with what decided the score beside it. */
  evidence(row, evidence) {
    const { missing, error, checks, steps, note } = evidence;
    const step = Number(this.state.get("step")) || null;
    const decided = [
      error ? section("Error", h("p", { class: "problem" }, error.what ? [h("strong", {}, capital(error.what)), h("br")] : null, h("strong", {}, error.kind), error.phase ? ` while ${error.phase}` : "", h("br"), error.message)) : null,
      checks?.length ? section("Checks", ...checkLists(checks)) : null,
    ].filter(Boolean);
    if (steps?.length) {
      const beside = decided.length ? h("div", { class: "decided", tabindex: 0, role: "group", "aria-label": "What decided the score" }, decided) : null;
      this.film = new Film(steps, { at: step, decided: beside, moved: (number) => this.state.soon({ step: String(number) }) });
    }
    return h("div", { class: "evidence" },
      missing ? h("p", { class: "problem" }, missing) : null,
      this.film ? this.film.element : decided,
      note ? h("p", { class: "quiet trajectory-note" }, note) : null);
  }

  /** What is looked at last: folded where there are pictures or steps to look at, as the reader left it. */
  more(row, evidence) {
    const fold = h("details", { class: "more-facts", open: this.unfolded || !this.film }, h("summary", { onclick: () => { this.unfolded = !fold.open; } }, "Facts, times, network and files"), this.facts(row), rest(evidence));
    return fold;
  }
}

/** Every key of this dialog. */
const KEYS = [["← →", "step back, step on"], ["Home End", "first, last step"], ["space", "play"], ["b", "picture before, after, both"], ["f", "picture in full size"], ["+ − 0", "larger, smaller, whole"],
  ["m", "messages of the model"], ["j k", "next, previous trial"], ["c", "beside another trial"], ["d n", "first, next difference of two"], ["u", "next unlabelled failure, where notes are taken"], ["t y", "a sentence, what it is about"], ["Esc", "close"]];
const PRINTED_STEPS = 60;
const MOST_OFFERED = 60;

function rest({ phases, attempts, files, details, network }) {
  return h("div", { class: "evidence" },
    network ? section("Network", ...networkSummary(network)) : null,
    phases ? section("Time by phase", phaseList(phases)) : null,
    attempts?.length > 1 ? section("Attempts", attemptList(attempts)) : null,
    files?.length ? section("Files", fileList(files)) : null,
    details ? h("details", { class: "raw" }, h("summary", {}, "The benchmark's own record"), h("pre", {}, details)) : null);
}

const section = (title, ...content) => h("section", {}, h("h3", {}, title), content);

const VERDICTS = { true: [PASS, "passed"], false: [FAIL, "failed"], null: [VOID, "not decided"] };

/** Failed checks first; those that passed are folded where others did not. */
function checkLists(checks) {
  const passed = checks.filter((check) => check.passed === true);
  const others = checks.filter((check) => check.passed !== true);
  if (!others.length || !passed.length) return [checkList(checks)];
  return [checkList(others), h("details", {}, h("summary", {}, `${count(passed.length)} ${passed.length === 1 ? "check" : "checks"} passed`), checkList(passed))];
}

function checkList(checks) {
  return h("ul", { class: "checks" }, checks.map((check) => {
    const [outcome, word] = VERDICTS[String(check.passed)];
    const compared = check.expected !== null || check.actual !== null;
    return h("li", { class: OUTCOMES[outcome] },
      h("p", { class: "criterion" }, h("span", { class: `outcome-icon ${OUTCOMES[outcome]}` }, h("span", { class: "spoken" }, word)), h("span", {}, check.criterion),
        check.by ? h("span", { class: "quiet" }, `by ${check.by}`) : null),
      check.reason ? h("p", { class: "check-reason" }, check.reason) : null,
      compared ? comparison(check) : null);
  }));
}

/** Expected and found, with what only one of them has marked: struck through what is missing, underlined what is too much. */
function comparison({ expected, actual, passed }) {
  const parts = expected !== null && actual !== null && passed !== true && expected !== actual ? textDifference(expected, actual) : null;
  return h("div", { class: "compared" }, compare("Expected", expected, parts && marked(parts[0], "del")), compare("Found", actual, parts && marked(parts[1], "ins")));
}

const compare = (title, value, parts) => h("div", {}, h("h4", {}, title), h("pre", { tabindex: 0 }, parts ?? value ?? NONE));

const phaseList = (phases) =>
  h("dl", { class: "facts" }, phases.map(([name, seconds]) => h("div", {}, h("dt", {}, name), h("dd", {}, duration(seconds)))));

const size = (bytes) => (bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${trimmed(bytes / 1e6, 1)} MB`);

function networkSummary({ note, requests, failed, bytes, methods, hosts, failures }) {
  if (note) return [h("p", { class: "quiet" }, note)];
  const facts = [["Requests", count(requests)], ["Failed", count(failed)], ["Received", size(bytes)],
    ["Methods", Object.entries(methods).map(([name, number]) => `${name} ${count(number)}`).join(", ")]];
  const rows = hosts.map(([host, number, bad]) => h("tr", {}, h("th", { scope: "row" }, host), h("td", { class: "num" }, count(number)), h("td", { class: "num" }, bad ? count(bad) : NONE)));
  return [
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Hosts" }, h("table", { class: "plain-table compact hosts" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Host"), h("th", { scope: "col", class: "num" }, "Requests"), h("th", { scope: "col", class: "num" }, "Failed"))), h("tbody", {}, rows))),
    failures.length ? h("details", {}, h("summary", {}, `Failed requests (${count(failed)})`), h("ul", { class: "failed-requests" },
      failures.map(([status, method, url]) => h("li", {}, h("strong", {}, status ? String(status) : "no answer"), ` ${method} `, h("span", { class: "url" }, url))))) : null,
  ];
}

const attemptList = (attempts) =>
  h("ol", { class: "attempts" }, attempts.map(([status, seconds, error]) =>
    h("li", {}, h("strong", {}, status.replaceAll("_", " ")), ` after ${duration(seconds)}`, error ? `: ${error}` : "")));

const fileList = (files) =>
  h("ul", { class: "files" }, files.map(([name, href]) => h("li", {}, href ? h("a", { href, download: /\.(x?html?|svg|xml)$/i.test(name) }, name) : name)));
