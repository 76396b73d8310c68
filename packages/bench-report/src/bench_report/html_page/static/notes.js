/* Notes of people on trials: what is there, and in a served page a key for each label, a sentence, and a queue. */

/** Keys that the page uses itself; a label may have any other. */
const OWN_KEYS = new Set([..."jkbfmcdnuty+-0/?", " ", "Enter", "Escape", "Tab"]);
const storage = { get: (name) => { try { return localStorage.getItem(name); } catch { return null; } }, set: (name, value) => { try { localStorage.setItem(name, value); } catch { /* kept for this page alone */ } } };

class Notes {
  /** `served` has the labels with their keys and who writes; null on a page that nothing can be written to. */
  constructor(store, served) {
    this.store = store;
    this.served = served;
    this.about = "trial";
    this.seed = Number(storage.get("proctor-seed") ?? 1) || 1;
    if (!served) return;
    this.by = storage.get("proctor-by") || served.by;
    const given = new Set([...served.labels.map(([, label]) => label), ...store.labels]);
    const chosen = JSON.parse(storage.get("proctor-keys") ?? "{}");
    this.keys = new Map();
    for (const label of [...given, ...Object.keys(chosen).filter((each) => !given.has(each))]) {
      const key = [chosen[label], served.labels.find(([, each]) => each === label)?.[0], ..."123456789"].find((each) => each && !this.keys.has(each));
      if (key) this.keys.set(key, label);
    }
  }

  /** All notes of a trial, and in a served page the bar to write with. */
  draw(detail, row, checks = []) {
    if (row !== this.row) this.about = "trial";
    [this.detail, this.row, this.checks] = [detail, row, (checks ?? []).map((check) => check.criterion)];
    this.list = h("section", { class: "notes", "aria-label": "Notes" });
    this.bar = this.served ? h("section", { class: "notes-bar", "aria-label": "Labels" }) : null;
    this.refresh();
    return [this.list, this.bar].filter(Boolean);
  }

  refresh() {
    const notes = this.store.notes.get(this.row) ?? [];
    this.list.hidden = !notes.length;
    this.list.replaceChildren(h("h3", {}, "Notes"), h("ul", {}, notes.map((note) => h("li", { class: note.earlier ? "quiet" : null },
      note.label ? h("strong", {}, note.label) : null, note.text ? ` ${note.text}` : null,
      h("span", { class: "quiet" }, ` ${placeWords(note)}${note.by}, ${note.at}${note.earlier ? ", of an earlier result" : ""}`)))));
    if (!this.bar) return;
    const about = this.about;
    const mine = new Set(notes.filter((note) => note.by === this.by && this.here(note)).map((note) => note.label));
    const labels = [...this.keys].map(([key, label]) => h("button", { type: "button", class: "note-label", "aria-pressed": String(mine.has(label)), "data-label": label, onclick: () => this.toggle(label) }, h("kbd", {}, key), ` ${label}`));
    this.place = h("select", { "aria-label": "What the note is about", onchange: () => { this.about = this.place.value; this.refresh(); } },
      this.places().map(([value, words]) => h("option", { value, selected: value === about }, words)));
    this.sentence = h("input", { type: "text", maxlength: 10000, placeholder: "A sentence (t)", "aria-label": "A sentence beside the label", onkeydown: (event) => this.typed(event) });
    const labelled = this.queue().length;
    this.said = h("span", { class: "quiet", role: "status" }, labelled ? `${count(labelled)} unlabelled` : "No unlabelled failure is left");
    this.bar.replaceChildren(h("label", { class: "quiet" }, "On (y) ", this.place), ...labels, this.sentence,
      h("button", { type: "button", class: "note-next", onclick: () => this.next() }, "Next failure (u)"), this.said, this.settings());
  }

  /** The trial, the step that is shown, and each check. */
  places() {
    return [["trial", "the trial"], ["step", `step ${this.step()}`], ...this.checks.map((check, n) => [`check ${n}`, `check: ${check.slice(0, 60)}`])];
  }

  step() {
    return Number(this.detail.state.get("step")) || 1;
  }

  target() {
    if (this.about === "step") return { step: this.step(), check: null };
    return { step: null, check: this.about.startsWith("check") ? this.checks[Number(this.about.slice(6))] ?? null : null };
  }

  here(note) {
    const { step, check } = this.target();
    return note.step === step && note.check === check;
  }

  settings() {
    const field = (label, value, changed, props = {}) => {
      const input = h("input", { type: "text", value, ...props, onchange: () => changed(input.value.trim()) });
      return h("label", {}, h("span", {}, label), input);
    };
    return h("details", { class: "note-settings" }, h("summary", {}, "Keys"),
      [...this.keys].map(([key, label]) => field(label, key, (to) => this.setKey(label, to), { maxlength: 1, size: 2 })),
      field("New label", "", (label) => this.addLabel(label), { maxlength: 100 }),
      field("Your name", this.by, (by) => { this.by = by || this.served.by; storage.set("proctor-by", this.by); this.refresh(); }, { maxlength: 100 }),
      field("Seed of the queue", this.seed, (seed) => { this.seed = Number.parseInt(seed, 10) || 1; storage.set("proctor-seed", this.seed); this.refresh(); }, { inputmode: "numeric" }));
  }

  setKey(label, to) {
    if (to.length !== 1 || OWN_KEYS.has(to) || this.keys.has(to)) { this.refresh(); this.said.textContent = `The key ${to || "(none)"} is taken: choose another`; return; }
    this.keys = new Map([...this.keys].map(([key, each]) => [each === label ? to : key, each]));
    this.keep();
  }

  addLabel(label) {
    const key = [..."123456789aeghilopqrsvwxz"].find((each) => !this.keys.has(each));
    if (!label || !key || [...this.keys.values()].includes(label)) { this.refresh(); return; }
    this.keys.set(key, label);
    this.keep();
  }

  keep() {
    storage.set("proctor-keys", JSON.stringify(Object.fromEntries([...this.keys].map(([key, label]) => [label, key]))));
    this.refresh();
  }

  /** Whether the key was one of ours. */
  key(event) {
    if (!this.bar || event.ctrlKey || event.metaKey || event.altKey) return false;
    if (this.keys.has(event.key)) this.toggle(this.keys.get(event.key));
    else if (event.key === "t") this.sentence.focus();
    else if (event.key === "u") this.next();
    else if (event.key === "y") {
      const values = this.places().map(([value]) => value);
      this.about = values[(values.indexOf(this.about) + 1) % values.length];
      this.refresh();
    } else return false;
    return true;
  }

  typed(event) {
    event.stopPropagation();
    if (event.key === "Escape") { event.preventDefault(); this.detail.dialog.focus(); }
    if (event.key !== "Enter") return;
    const mine = (this.store.notes.get(this.row) ?? []).filter((note) => note.by === this.by && this.here(note) && note.label);
    this.write(mine.at(-1)?.label ?? null, this.sentence.value, !this.sentence.value.trim());
  }

  toggle(label) {
    const given = (this.store.notes.get(this.row) ?? []).some((note) => note.by === this.by && note.label === label && !note.earlier && this.here(note));
    this.write(label, this.sentence.value, given);
  }

  async write(label, text, removed) {
    const { row } = this;
    const { store, detail } = this;
    const seed = this.drawn === row ? this.seed : null;
    const body = JSON.stringify({ state: document.documentElement.dataset.live, run: store.runIds[store.trials.run[row]], task: store.tasks.id[store.trials.task[row]], trial: store.trials.trial[row], by: this.by, label, text, removed, seed, ...this.target() });
    const answer = await fetch("notes", { method: "POST", headers: { "Content-Type": "application/json" }, body }).catch(() => null);
    if (!answer?.ok) { this.said.textContent = `Not written: ${answer ? await answer.text() : "the server has ended"}`; return; }
    store.setNotes(row, await answer.json());
    if (this.row !== row) return;
    this.refresh();
    detail.dialog.focus({ preventScroll: true });
  }

  /** Failures without a label of this person, in an order that only the seed and their names decide. */
  queue() {
    const { store } = this;
    const own = (row) => (store.notes.get(row) ?? []).some((note) => note.by === this.by && note.label && !note.earlier);
    const rows = [];
    for (let row = 0; row < store.size; row += 1) if (store.outcome[row] === FAIL && !own(row)) rows.push(row);
    const place = new Map(rows.map((row) => [row, mixed(`${this.seed} ${this.store.runIds[store.trials.run[row]]} ${store.tasks.id[store.trials.task[row]]} ${store.trials.trial[row]}`)]));
    return rows.sort((a, b) => place.get(a) - place.get(b) || a - b);
  }

  next() {
    const to = this.queue().find((row) => row !== this.row);
    if (to === undefined) { this.said.textContent = "No unlabelled failure is left"; return; }
    this.drawn = to;
    this.about = "trial";
    this.detail.go(to);
  }
}

/** A number from a text, spread over 32 bits (FNV-1a, and the last mixing of MurmurHash3). */
function mixed(text) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const placeWords = (note) => (note.check ? `on the check “${note.check}”, ` : note.step === null ? "" : `on step ${note.step}, `);
