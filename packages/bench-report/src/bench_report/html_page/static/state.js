/* What the reader looks at, stored in the address so that it can be shared. */

const DEFAULTS = { view: "tasks", q: "", outcome: "", run: "", why: "", flag: "", template: "", label: "", sort: "", cols: "", open: "", step: "", with: "" };
const OF_TRIAL = ["open", "step", "with"];

class State {
  constructor(groups) {
    this.groups = groups;
    this.listeners = [];
    this.values = this.read() ?? { ...DEFAULTS };
    addEventListener("hashchange", () => this.follow());
  }

  /** Values in the address; null where it names a section or nothing. */
  read() {
    if (!location.hash.includes("=")) return null;
    const given = new URLSearchParams(location.hash.slice(1));
    const values = { ...DEFAULTS };
    for (const [name, value] of given) {
      const known = name in DEFAULTS || (name.startsWith("in.") && this.groups.includes(name.slice(3)));
      if (known) values[name] = value;
    }
    return values;
  }

  /** The address has changed: a link was followed, or the back button pressed. */
  follow() {
    const values = this.read() ?? (this.values.open ? { ...this.values, open: "", step: "", with: "" } : null);
    if (!values) return;
    clearTimeout(this.later);
    this.values = values;
    this.notify();
  }

  get(name) {
    return this.values[name] ?? "";
  }

  /** Opening a trial is a step that the back button undoes; everything else replaces the address. */
  set(changes) {
    const step = Boolean(changes.open) && !this.values.open;
    this.values = { ...this.values, ...changes };
    clearTimeout(this.later);
    history[step ? "pushState" : "replaceState"](null, "", this.address());
    this.notify();
  }

  /** As `set`, for what changes many times a second: browsers refuse more than a few new addresses a second. */
  soon(changes) {
    this.values = { ...this.values, ...changes };
    clearTimeout(this.later);
    this.later = setTimeout(() => history.replaceState(null, "", this.address()), 250);
  }

  address() {
    const kept = Object.entries(this.values).filter(([name, value]) => value !== (DEFAULTS[name] ?? ""));
    return kept.length ? `#${new URLSearchParams(kept)}` : location.pathname + location.search;
  }

  clear() {
    const { view, sort, cols } = this.values;
    this.values = { ...DEFAULTS, view, sort, cols };
    this.set({});
  }

  get filtered() {
    return Object.entries(this.values).some(
      ([name, value]) => !["view", "sort", "cols", ...OF_TRIAL].includes(name) && value !== (DEFAULTS[name] ?? ""),
    );
  }

  notify() {
    for (const listener of this.listeners) listener(this);
  }
}

const UNLABELLED = "(no label)";

/** A test of trial rows for what the state asks. */
function trialFilter(store, state) {
  const tests = [];
  const words = state.get("q").toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) {
    const matching = store.tasks.id.map((id, task) => {
      const text = searchText(store, id, task);
      return words.every((word) => text.includes(word));
    });
    tests.push((row) => matching[store.trials.task[row]]);
  }
  const outcome = OUTCOMES.indexOf(state.get("outcome"));
  if (outcome === MIXED) {
    const mixed = store.byTask.map((rows) => disagree(store, rows));
    tests.push((row) => mixed[store.trials.task[row]]);
  } else if (outcome >= 0) tests.push((row) => store.outcome[row] === outcome);
  if (state.get("run") !== "") tests.push((row) => store.trials.run[row] === store.runIndex(state.get("run")));
  if (state.get("why")) tests.push((row) => matchesWhy(store, row, state.get("why")));
  if (state.get("flag")) tests.push((row) => (store.word("flags", row) ?? "").split(", ").includes(state.get("flag")));
  if (state.get("template")) tests.push((row) => store.template(store.trials.task[row]) === state.get("template"));
  const label = state.get("label");
  if (label) tests.push((row) => (label === UNLABELLED ? !store.labelsOf(row).size : store.labelsOf(row).has(label)));
  for (const name of state.groups) {
    const wanted = state.get(`in.${name}`);
    if (wanted) tests.push((row) => store.group(name, store.trials.task[row]).includes(wanted));
  }
  return tests.length ? (row) => tests.every((test) => test(row)) : () => true;
}

function searchText(store, id, task) {
  const groups = Object.keys(store.tasks.groups).flatMap((name) => store.group(name, task));
  return [id, store.tasks.goal[task], store.template(task) ?? "", ...groups].join(" ").toLowerCase();
}

/** Whether a failure mode (`unclassified` for none) or a status is the one asked for. */
function matchesWhy(store, row, why) {
  const mode = store.word("mode", row);
  return store.word("status", row) === why || mode === why || (mode === null && store.outcome[row] === FAIL && why === "unclassified");
}

/** Whether scored trials of one task ended differently. */
function disagree(store, rows) {
  let seen = VOID;
  for (const row of rows) {
    const outcome = store.outcome[row];
    if (outcome === VOID) continue;
    if (seen !== VOID && outcome !== seen) return true;
    seen = outcome;
  }
  return false;
}
