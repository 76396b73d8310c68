/* Ties the page together: theme, table, filters, dialog, keys. */

function themeButton(button) {
  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const choose = (theme) => {
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("proctor-theme", theme); } catch { /* pages from disk may have no storage */ }
  };
  try {
    const kept = localStorage.getItem("proctor-theme");
    if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
  } catch { /* see above */ }
  button.addEventListener("click", () => choose(dark() ? "light" : "dark"));
  button.hidden = false;
}

class Explorer {
  constructor(store) {
    this.store = store;
    this.groups = Object.keys(store.tasks.groups);
    this.state = new State(this.groups);
    this.open = (row) => this.state.set({ open: this.detail.address(row) });
    this.grid = new Grid(byId("grid"), {
      open: (item) => this.open(item.row ?? item.rows[0]),
      sorted: (sort) => this.state.set({ sort }),
    });
    this.detail = new Detail(byId("trial"), store, this.state);
    const served = document.documentElement.dataset.notes;
    this.detail.notes = new Notes(store, served ? JSON.parse(served) : null);
    this.detail.order = () => this.items.flatMap((item) => item.rows ?? [item.row]);
    this.chooser = new Chooser(this.state, () => ({ all: this.columns, shown: this.shown, items: this.items }));
    byId("shown").parentElement.after(this.chooser.element);
    this.chooser.element.addEventListener("toggle", () => this.readDetails());
    this.controls();
    this.state.listeners.push(() => this.update());
    this.update();
    NARROW.addEventListener("change", () => this.refresh());
    addEventListener("beforeprint", () => { this.print(PRINTED_ROWS); this.detail.print(true); });
    addEventListener("afterprint", () => { this.print(0); this.detail.print(false); });
    addEventListener("keydown", (event) => this.key(event));
  }

  controls() {
    const { state } = this;
    const search = byId("search");
    search.addEventListener("input", () => state.set({ q: search.value }));
    search.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault(); // which would empty it: what was searched for stays, the keyboard goes to what was found
      if (this.items.length) this.grid.focus(true);
      else search.blur();
    });
    byId("clear").addEventListener("click", () => state.clear());
    byId("print-trials").addEventListener("click", () => this.printTrials());
    for (const button of document.querySelectorAll("[data-view]")) {
      button.addEventListener("click", () => state.set({ view: button.dataset.view, sort: "", cols: "" }));
    }
    for (const button of document.querySelectorAll("[data-outcome]")) {
      const { outcome } = button.dataset;
      button.addEventListener("click", () => state.set({ outcome: state.get("outcome") === outcome ? "" : outcome }));
      button.querySelector(".n").textContent = count(this.countOutcome(outcome));
    }
    this.selects = [...this.facets()].map(([name, label, options]) => this.select(name, label, options));
    byId("facets").replaceChildren(...this.selects);
  }

  countOutcome(outcome) {
    const { store } = this;
    if (outcome === "mixed") return store.byTask.filter((rows) => disagree(store, rows)).length;
    const wanted = OUTCOMES.indexOf(outcome);
    let found = 0;
    for (const each of store.outcome) if (each === wanted) found += 1;
    return found;
  }

  *facets() {
    const { store } = this;
    if (store.runs.length > 1) yield ["run", "Run", store.runs.map((label, index) => [store.runIds[index], label])];
    for (const name of this.groups) {
      const values = [...new Set(store.tasks.groups[name].values.flat())].sort();
      if (values.length > 1) yield [`in.${name}`, name.replaceAll("_", " "), values.map((value) => [value, value])];
    }
    const modes = store.trials.mode.values;
    const statuses = store.trials.status.values.filter((status) => status !== "completed");
    const whys = [...new Set([...modes, ...statuses, "unclassified"])].map((why) => [why, why.replaceAll("_", " ")]);
    if (whys.length) yield ["why", "Ended by", whys];
    const flags = [...new Set(store.trials.flags.values.flatMap((each) => each.split(", ")))].sort().slice(0, MOST_FLAGS);
    const { labels } = store;
    if (labels.length) yield ["label", "Label", [...labels.sort(), UNLABELLED].map((label) => [label, label])];
    if (flags.length) yield ["flag", "Flag", flags.map((flag) => [flag, flag.replaceAll("_", " ")])];
  }

  select(name, label, options) {
    const choice = h("select", { "data-name": name, onchange: () => this.state.set({ [name]: choice.value }) },
      h("option", { value: "" }, "all"), options.map(([value, text]) => h("option", { value }, text)));
    return h("label", { class: "facet" }, h("span", {}, label), choice);
  }

  update() {
    this.reflect();
    const asked = JSON.stringify({ ...this.state.values, open: "", step: "", with: "" });
    if (asked !== this.asked) { this.asked = asked; this.refresh(); }
    this.detail.follow();
  }

  /** Set the controls to the state. */
  reflect() {
    const { state } = this;
    const search = byId("search");
    if (search.value !== state.get("q")) search.value = state.get("q");
    for (const button of document.querySelectorAll("[data-view]")) button.setAttribute("aria-pressed", button.dataset.view === state.get("view"));
    for (const button of document.querySelectorAll("[data-outcome]")) button.setAttribute("aria-pressed", button.dataset.outcome === state.get("outcome"));
    for (const choice of document.querySelectorAll("[data-name]")) choice.value = state.get(choice.dataset.name);
    byId("clear").hidden = !state.filtered;
  }

  refresh() {
    const { store, state } = this;
    const passes = trialFilter(store, state);
    const trials = state.get("view") === "trials";
    const columns = trials ? trialColumns(store) : taskColumns(store, this.open);
    const items = trials ? this.trialItems(passes) : this.taskItems(passes);
    this.columns = columns;
    if (state.get("cols").includes("detail.")) this.readDetails();
    this.shown = chosenColumns(columns, state.get("cols"));
    this.items = sortItems(items, [...columns, ...this.shown], state.get("sort"));
    this.grid.box.scrollTop = 0;
    this.grid.current = 0;
    this.grid.show(state.get("cols") ? this.shown : fitting(this.shown), this.items, state.get("sort"));
    this.chooser.draw();
    const all = trials ? store.size : store.tasks.id.length;
    const noun = trials ? "trials" : "tasks";
    byId("shown").textContent = items.length === all ? `${count(all)} ${noun}` : `${count(items.length)} of ${count(all)} ${noun}`;
    byId("nothing").hidden = items.length > 0;
  }

  /** The evidence is read for columns of details only once somebody asks for columns. */
  async readDetails() {
    if (this.details) return;
    this.details = this.store.readDetails().catch((error) => { byId("shown").textContent += `; no columns of details: ${error.message}`; });
    await this.details;
    this.refresh();
  }

  trialItems(passes) {
    const items = [];
    for (let row = 0; row < this.store.size; row += 1) if (passes(row)) items.push({ row });
    return items;
  }

  taskItems(passes) {
    const { store } = this;
    const run = this.state.get("run");
    const items = [];
    store.byTask.forEach((every, task) => {
      if (!every.some(passes)) return;
      // All trials of a task that has a match, so that its rate stays its rate.
      const rows = run === "" ? every : every.filter((row) => store.trials.run[row] === store.runIndex(run));
      items.push({ task, rows, outcome: taskOutcome(store, rows), rate: successRate(store, rows) });
    });
    return items;
  }

  print(rows) {
    this.grid.printing = rows;
    byId("print-note").hidden = !rows || this.items.length <= rows;
    this.grid.drawn = null;
    this.grid.draw();
  }

  /** Print the trials that are listed, each from a page of its own on. */
  async printTrials() {
    const rows = this.items.flatMap((item) => item.rows ?? [item.row]);
    const place = h("div", { class: "print-trials" }, rows.length > PRINTED_TRIALS ? h("p", {}, `The first ${PRINTED_TRIALS} of ${count(rows.length)} trials.`) : null);
    for (const row of rows.slice(0, PRINTED_TRIALS)) place.append(await this.detail.onPaper(row)); // one after the other: each may unpack megabytes
    document.body.append(place);
    await Promise.all([...place.querySelectorAll("img")].map((image) => image.decode().catch(() => null)));
    addEventListener("afterprint", () => place.remove(), { once: true });
    print();
  }

  key(event) {
    if (event.target.closest("input, select, textarea, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") byId("search").focus();
    else if (event.key === "j" && !event.target.closest("#grid")) { byId("grid").scrollIntoView({ block: "nearest" }); this.grid.move(0); }
    else return;
    event.preventDefault();
  }
}

const MOST_FLAGS = 100;
const PRINTED_ROWS = 1000;
const PRINTED_TRIALS = 40;

async function start() {
  themeButton(byId("theme"));
  offerCopies();
  const embedded = byId("table-data");
  if (!embedded) return;
  const explorer = new Explorer(new Store(await unpack(embedded.textContent)));
  byId("explorer").classList.add("ready");
  if (explorer.state.read() && !explorer.state.get("open")) byId("tasks").scrollIntoView();
  addEventListener("hashchange", () => explorer.state.read() && !explorer.state.get("open") && byId("tasks").scrollIntoView({ block: "start" }));
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  byId("nothing").hidden = false;
  byId("nothing").textContent = `The table could not be read: ${error.message}`;
});
