/* The embedded data: columns of trials and tasks, and evidence that is unpacked when it is read. */

async function unpack(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/** The table is shown while the evidence behind it in the page is still being read. */
const wholePage = new Promise((resolve) => {
  if (document.readyState !== "loading") resolve();
  else document.addEventListener("DOMContentLoaded", resolve, { once: true });
});

const PASS = 0, FAIL = 1, VOID = 2, MIXED = 3;
const OUTCOMES = ["pass", "fail", "void", "mixed"];
const OUTCOME_WORDS = ["Passed", "Failed", "Not scored", "Mixed"];

class Store {
  constructor(table) {
    this.runs = table.runs;
    this.runIds = table.run_ids;
    this.settings = table.settings;
    this.tasks = table.tasks;
    this.size = table.size;
    this.trials = this.columns(table.trials);
    this.chunks = table.chunks;
    this.notes = new Map(table.notes);
    this.outcome = Uint8Array.from({ length: this.size }, (_, row) => this.outcomeOf(row));
    this.byTask = this.groupByTask();
    this.mostTrials = this.trials.trial.reduce((most, trial) => Math.max(most, trial), 1);
    this.loaded = new Map();
  }

  /** Columns in which all rows have the same value come with just that. */
  columns(packed) {
    const list = (column) => (Array.isArray(column) ? column : new Array(this.size).fill(column.same));
    const column = (each) => ("index" in each ? { values: each.values, index: list(each.index) } : list(each));
    return Object.fromEntries(Object.entries(packed).map(([name, each]) => [name, column(each)]));
  }

  outcomeOf(row) {
    const score = this.trials.score[row];
    if (score === null) return VOID;
    return score >= 1 ? PASS : FAIL;
  }

  /** Trial rows of each task, in order of run and trial. */
  groupByTask() {
    const rows = this.tasks.id.map(() => []);
    for (let row = 0; row < this.size; row += 1) rows[this.trials.task[row]].push(row);
    return rows;
  }

  /** The word of a dictionary-coded column in a row, or null. */
  word(column, row) {
    const index = this.trials[column].index[row];
    return index < 0 ? null : this.trials[column].values[index];
  }

  /** The labels of a trial, without those of a result that was replaced. */
  labelsOf(row) {
    return new Set((this.notes.get(row) ?? []).filter((note) => note.label && !note.earlier).map((note) => note.label));
  }

  /** Every label that was given. */
  get labels() {
    return [...new Set([...this.notes.values()].flat().map((note) => note.label).filter(Boolean))];
  }

  setNotes(row, notes) {
    if (notes.length) this.notes.set(row, notes);
    else this.notes.delete(row);
  }

  group(name, task) {
    const column = this.tasks.groups[name];
    return column.values[column.index[task]] ?? [];
  }

  template(task) {
    const index = this.tasks.template.index[task];
    return index < 0 ? null : this.tasks.template.values[index];
  }

  tokens(row) {
    return this.trials.input[row] + this.trials.output[row];
  }

  /** Why a trial ended as it did: its failure mode, else its status. */
  reason(row) {
    if (this.outcome[row] === PASS) return null;
    const status = this.word("status", row);
    return this.word("mode", row) ?? (status === "completed" ? null : status.replaceAll("_", " "));
  }

  /** The place of a run by its id; older links have the place itself. */
  runIndex(run) {
    const found = this.runIds.indexOf(run);
    return found < 0 && /^\d+$/.test(String(run)) ? Number(run) : found;
  }

  find(run, taskId, trial) {
    const index = this.runIndex(run);
    for (let task = this.tasks.id.indexOf(taskId); task >= 0; task = this.tasks.id.indexOf(taskId, task + 1)) {
      const row = this.byTask[task].find((each) => this.trials.run[each] === index && this.trials.trial[each] === trial);
      if (row !== undefined) return row;
    }
    return -1;
  }

  async evidence(row) {
    await wholePage;
    let chunk = this.chunks.length - 1;
    while (chunk >= 0 && this.chunks[chunk] > row) chunk -= 1;
    if (chunk < 0) return {};
    if (!this.loaded.has(chunk)) this.loaded.set(chunk, this.chunkText(chunk).then(unpack));
    return (await this.loaded.get(chunk))[row - this.chunks[chunk]] ?? {};
  }

  /** Read the benchmark's own words and numbers on each trial, name by name, from all of the evidence. */
  async readDetails() {
    await wholePage;
    const found = new Map();
    for (const [chunk, first] of this.chunks.entries()) {
      for (const [n, { details }] of (await this.chunkText(chunk).then(unpack)).entries()) {
        for (const [name, value] of Object.entries(flat(details))) {
          if (!found.has(name)) found.set(name, new Array(this.size).fill(null));
          found.get(name)[first + n] = value;
        }
      }
    }
    this.details = [...found].filter(([, values]) => values.some((value) => value !== values[0])).sort(([a], [b]) => (a < b ? -1 : 1));
  }

  async chunkText(chunk) {
    const inline = byId(`evidence-${chunk}`);
    return inline ? inline.textContent : sideFile(chunk);
  }
}

/** What of a record fits in a cell: numbers as they are, short texts, yes and no. */
function flat(details) {
  let record = null;
  try { record = JSON.parse(details ?? "{}"); } catch { /* cut, since it is long */ }
  const known = Object.entries(record ?? {}).filter(([, value]) => value !== null && typeof value !== "object" && String(value).length <= 200);
  return Object.fromEntries(known.map(([name, value]) => [name, typeof value === "boolean" ? (value ? "yes" : "no") : value]));
}

/* Pages opened from disk cannot fetch, but they can load scripts: each side file holds one call. */
const sideFiles = new Map();
globalThis.proctorEvidence = (chunk, base64) => sideFiles.get(chunk)?.(base64);

function sideFile(chunk) {
  return new Promise((resolve, reject) => {
    sideFiles.set(chunk, resolve);
    const script = document.createElement("script");
    script.src = `evidence/${chunk}.js`;
    script.onerror = () => reject(new Error(`evidence/${chunk}.js is missing beside this page`));
    document.head.append(script);
  });
}
