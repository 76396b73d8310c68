/* One trial in a dialog: outcome, checks, trajectory with its screenshots, files. */

class Detail {
  constructor(dialog, store, state) {
    this.dialog = dialog;
    this.store = store;
    this.state = state;
    this.order = () => [];
    dialog.addEventListener("close", () => state.get("open") && state.set({ open: "" }));
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("keydown", (event) => this.key(event));
  }

  address(row) {
    const { trials, tasks } = this.store;
    return JSON.stringify([trials.run[row], tasks.id[trials.task[row]], trials.trial[row]]);
  }

  /** Show the trial named in the address, or close. */
  async follow() {
    const row = this.named(this.state.get("open"));
    if (row === this.row) return;
    this.row = row;
    if (row === null) { if (this.dialog.open) this.dialog.close(); return; }
    this.draw(row, null);
    if (!this.dialog.open) this.dialog.showModal();
    const evidence = await this.store.evidence(row).catch((error) => ({ missing: error.message }));
    if (this.row === row) this.draw(row, evidence);
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
    this.state.set({ open: this.address(row) });
  }

  /** The trials before and after this one in the table as it is filtered and sorted. */
  neighbour(by) {
    const order = this.order();
    const at = order.indexOf(this.row);
    return at < 0 ? undefined : order[at + by];
  }

  key(event) {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = { j: 1, k: -1 }[event.key];
    if (next && this.neighbour(next) !== undefined) this.go(this.neighbour(next));
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step && this.film) { this.film.move(step); event.preventDefault(); }
  }

  draw(row, evidence) {
    this.film = null;
    this.dialog.replaceChildren(this.bar(row), h("div", { class: "detail-body" },
      this.heading(row), this.siblings(row), this.facts(row),
      evidence === null ? h("p", { class: "quiet" }, "Reading the evidence …") : this.evidence(row, evidence)));
    this.dialog.scrollTop = 0;
    this.dialog.focus({ preventScroll: true });
  }

  bar(row) {
    const { store } = this;
    const step = (by, text, label) => {
      const to = this.neighbour(by);
      return h("button", { type: "button", class: "plain", "aria-label": label, title: label, disabled: to === undefined, onclick: () => this.go(to) }, text);
    };
    return h("header", { class: "dialog-bar" },
      h("strong", { class: "dialog-title" }, `Task ${store.tasks.id[store.trials.task[row]]}`),
      h("span", { class: "quiet" }, `trial ${store.trials.trial[row]}`),
      h("span", { class: "grow" }),
      step(-1, "↑", "Previous trial (k)"), step(1, "↓", "Next trial (j)"),
      h("button", { type: "button", class: "plain close", "aria-label": "Close (Esc)", title: "Close (Esc)", onclick: () => this.dialog.close() }, "✕"));
  }

  heading(row) {
    const { store } = this;
    const outcome = store.outcome[row];
    const score = store.trials.score[row];
    const reason = store.reason(row);
    return h("div", { class: "verdict" },
      h("p", { class: `badge ${OUTCOMES[outcome]}` }, OUTCOME_WORDS[outcome],
        score === null ? null : h("span", { class: "score" }, `score ${scoreText(score)}`)),
      reason ? h("p", { class: "reason" }, reason.replaceAll("_", " ")) : null,
      h("h2", { class: "goal" }, store.tasks.goal[store.trials.task[row]]));
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
    return h("nav", { class: "siblings", "aria-label": "Trials of this task" }, runs);
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

  evidence(row, evidence) {
    const { missing, error, checks, steps, phases, attempts, files, details, note, network } = evidence;
    return h("div", { class: "evidence" },
      missing ? h("p", { class: "problem" }, missing) : null,
      error ? section("Error", h("p", { class: "problem" }, h("strong", {}, error.kind), error.phase ? ` while ${error.phase}` : "", h("br"), error.message)) : null,
      checks?.length ? section("Checks", checkTable(checks)) : null,
      steps?.length ? section("Trajectory", (this.film = new Film(steps)).element) : null,
      note ? h("p", { class: "quiet trajectory-note" }, note) : null,
      network ? section("Network", ...networkSummary(network)) : null,
      phases ? section("Time by phase", phaseList(phases)) : null,
      attempts?.length > 1 ? section("Attempts", attemptList(attempts)) : null,
      files?.length ? section("Files", fileList(files)) : null,
      details ? h("details", { class: "raw" }, h("summary", {}, "The benchmark's own record"), h("pre", {}, details)) : null);
  }
}

const section = (title, ...content) => h("section", {}, h("h3", {}, title), content);

const VERDICTS = { true: [PASS, "passed"], false: [FAIL, "failed"], null: [VOID, "not decided"] };

function checkTable(checks) {
  return h("ul", { class: "checks" }, checks.map((check) => {
    const [outcome, word] = VERDICTS[String(check.passed)];
    const compared = check.expected !== null || check.actual !== null;
    return h("li", { class: OUTCOMES[outcome] },
      h("p", { class: "criterion" }, h("span", { class: `outcome-icon ${OUTCOMES[outcome]}` }, h("span", { class: "spoken" }, word)), h("span", {}, check.criterion),
        check.by ? h("span", { class: "quiet" }, `by ${check.by}`) : null),
      check.reason ? h("p", { class: "check-reason" }, check.reason) : null,
      compared ? h("div", { class: "compared" }, compare("Expected", check.expected), compare("Found", check.actual)) : null);
  }));
}

const compare = (title, value) => h("div", {}, h("h4", {}, title), h("pre", {}, value ?? NONE));

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

/** An image beside the page or one embedded in it; nothing else is ever loaded. */
function picture(source, alt) {
  const embedded = source.startsWith("#") ? byId(source.slice(1)) : null;
  const src = embedded ? `data:${embedded.dataset.type};base64,${embedded.textContent}` : source;
  const image = h("img", { alt, loading: "lazy", decoding: "async", src });
  image.addEventListener("error", () => image.replaceWith(h("span", { class: "no-picture" }, "picture not found")));
  return image;
}

/* The trajectory: a strip of thumbnails (or numbers) and the step that is looked at. */
class Film {
  constructor(steps) {
    this.steps = steps;
    this.stage = h("div", { class: "stage", "aria-live": "polite" });
    this.frames = steps.map((step, index) => this.frame(step, index));
    const pictures = steps.some((step) => step.screenshot);
    this.strip = h("div", { class: `film${pictures ? "" : " bare"}`, role: "group", "aria-label": "Steps (left and right arrow keys)" }, this.frames);
    this.element = h("div", {}, this.strip, this.stage);
    this.show(0);
  }

  frame(step, index) {
    return h("button", { type: "button", class: step.error ? "frame failed" : "frame", "aria-label": `Step ${step.step}`, onclick: () => this.show(index) },
      step.screenshot ? picture(step.screenshot, "") : null, h("span", { class: "frame-number" }, String(step.step)));
  }

  move(by) {
    this.show(Math.max(0, Math.min(this.steps.length - 1, this.at + by)));
  }

  show(index) {
    this.at = index;
    this.frames.forEach((frame, each) => frame.toggleAttribute("aria-current", each === index));
    const frame = this.frames[index];
    this.strip?.scrollTo({ left: frame.offsetLeft - this.strip.clientWidth / 2 + frame.clientWidth / 2 });
    this.stage.replaceChildren(...this.parts(this.steps[index]).filter(Boolean));
  }

  parts(step) {
    return [
      h("p", { class: "step-head" }, h("strong", {}, `Step ${step.step} of ${this.steps.length}`),
        step.seconds === null ? null : h("span", { class: "quiet" }, duration(step.seconds)), step.url ? h("span", { class: "url" }, step.url) : null),
      step.title ? h("p", { class: "quiet" }, step.title) : null,
      step.thought ? h("p", { class: "thought" }, step.thought) : null,
      step.actions.length ? h("pre", { class: "actions" }, step.actions.join("\n")) : null,
      step.results.length ? h("ul", { class: "step-results" }, step.results.map((text) => h("li", {}, text))) : null,
      step.error ? h("p", { class: "problem" }, step.error) : null,
      step.screenshot ? h("a", { class: "shot", href: step.screenshot.startsWith("#") ? null : step.screenshot }, picture(step.screenshot, `Screenshot of step ${step.step}${step.title ? `: ${step.title}` : ""}`)) : null,
    ];
  }
}
