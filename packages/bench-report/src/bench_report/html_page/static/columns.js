/* What the table shows: one list of columns for tasks, one for trials.

   A column has a key (for sorting and the address), a title, a CSS class, a width in rem (the goal
   takes what is left), `cell(item)` for what is shown and `sort(item)` for its place; null sorts last
   both ways. */

const mean = (values) => {
  const known = values.filter((value) => value !== null);
  return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};

const scored = (store, rows) => rows.filter((row) => store.outcome[row] !== VOID);

function successRate(store, rows) {
  return mean(scored(store, rows).map((row) => Number(store.outcome[row] === PASS)));
}

const GROUP_COLUMNS = 2;

const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/** The first groups that distinguish tasks; the others can still be searched and filtered by. */
function groupColumns(store, task, most = GROUP_COLUMNS) {
  const distinguishing = Object.keys(store.tasks.groups).filter((name) => store.tasks.groups[name].values.length > 1);
  return distinguishing.slice(0, most).map((name) => ({
    key: name,
    title: capital(name.replaceAll("_", " ")),
    css: "c-group",
    width: 8,
    cell: (item) => store.group(name, task(item)).join(", "),
    sort: (item) => store.group(name, task(item)).join(", ").toLowerCase() || null,
  }));
}

const effort = [
  ["steps", "Steps", 4.4, (store, row) => store.trials.steps[row], (value) => trimmed(value, 1)],
  ["tokens", "Tokens", 5, (store, row) => store.tokens(row), short],
  ["cost", "Cost", 4.7, (store, row) => store.trials.cost[row], dollars],
  ["time", "Time", 6.4, (store, row) => store.trials.seconds[row], duration],
];

const effortColumns = (store, rows) =>
  effort.map(([key, title, width, read, write]) => {
    const value = (item) => mean(rows(item).map((row) => read(store, row)));
    const cell = (item) => {
      const known = value(item);
      return known === null ? NONE : write(known);
    };
    return { key, title, width, css: `c-number c-${key}`, cell, sort: value };
  });

const outcomeIcon = (outcome) =>
  h("span", { class: `outcome-icon ${OUTCOMES[outcome]}`, title: OUTCOME_WORDS[outcome] },
    h("span", { class: "spoken" }, OUTCOME_WORDS[outcome]));

/** Numerals in the order of their value, text by the alphabet. */
const natural = (text) => text.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0"));

function taskOutcome(store, rows) {
  const known = scored(store, rows);
  if (!known.length) return VOID;
  return disagree(store, known) ? MIXED : store.outcome[known[0]];
}

const markColumn = (outcome, order) => ({
  key: "outcome", title: "", label: "Outcome", css: "c-outcome", width: 2.4,
  cell: (item) => outcomeIcon(outcome(item)), sort: (item) => order[outcome(item)],
});

const LONGEST_ID = 22;

/** Cut in the middle what is too long: ids of one task set differ at their ends. */
const cutInside = (text, most) => (text.length <= most ? text : `${text.slice(0, Math.floor((most - 1) / 2))}…${text.slice(text.length - Math.ceil((most - 1) / 2))}`);

/** What all texts begin with, up to a mark that separates their parts. */
function commonPrefix(texts) {
  let [prefix = ""] = texts;
  for (const text of texts) while (!text.startsWith(prefix)) prefix = prefix.slice(0, -1);
  return texts.length > 1 ? prefix.replace(/[^/.:_-]*$/, "") : "";
}

const reversed = (text) => [...text].reverse().join("");

function idColumn(store, task) {
  store.prefix ??= commonPrefix(store.tasks.id);
  store.suffix ??= reversed(commonPrefix(store.tasks.id.map((id) => reversed(id.slice(store.prefix.length)))));
  store.shownIds ??= store.tasks.id.map((id) => cutInside(id.slice(store.prefix.length, id.length - store.suffix.length), NARROW.matches ? 9 : LONGEST_ID));
  const longest = store.shownIds.reduce((most, id) => Math.max(most, id.length), store.prefix ? 5 + store.prefix.length : 0);
  return {
    key: "task", title: store.prefix || store.suffix ? `Task ${store.prefix}…${store.suffix}` : "Task", css: "c-task", width: NARROW.matches ? 4.6 : Math.max(5.5, 1.3 + 0.56 * Math.min(longest, LONGEST_ID)),
    cell: (item) => h("span", { class: "text", title: store.tasks.id[task(item)] }, store.shownIds[task(item)]), sort: (item) => natural(store.tasks.id[task(item)]),
  };
}

const goalColumn = (store, task) => ({
  key: "goal", title: "Goal", css: "c-goal", least: NARROW.matches ? 8 : 10,
  cell: (item) => store.tasks.goal[task(item)], sort: (item) => store.tasks.goal[task(item)].toLowerCase(),
});

/** The trials of each run, and the rate of a single run. */
function taskColumns(store, open) {
  const task = (item) => item.task;
  const several = store.runs.length > 1;
  const of = (item, run) => item.rows.filter((row) => store.trials.run[row] === run);
  const strips = store.runs.map((label, run) => ({
    key: `run${run}`,
    title: several ? label : "Trials",
    css: "c-strip",
    width: Math.max(several ? (NARROW.matches ? 3.2 : 6) : 4.9, 1.3 + 1.15 * Math.min(store.mostTrials, STRIP_LIMIT)),
    cell: (item) => strip(store, of(item, run), open),
    sort: (item) => successRate(store, of(item, run)),
  }));
  const rate = { key: "rate", title: "Rate", css: "c-number c-rate", width: 4.7, cell: (item) => percent(item.rate), sort: (item) => item.rate };
  return [
    markColumn((item) => item.outcome, [1, 3, 0, 2]), idColumn(store, task), goalColumn(store, task), ...groupColumns(store, task),
    ...strips, ...hiddenAtFirst(several, [rate, ...effortColumns(store, (item) => item.rows)]), ...moreColumns(store, task),
    ...hiddenAtFirst(true, [wordColumn("labels", "Labels", (item) => [...new Set(item.rows.flatMap((row) => [...store.labelsOf(row)]))].join(", "))]),
  ];
}

const STRIP_LIMIT = 10;

/** One square per trial; each opens its trial. */
function strip(store, rows, open) {
  const squares = rows.slice(0, STRIP_LIMIT).map((row) => {
    const outcome = store.outcome[row];
    const words = `Trial ${store.trials.trial[row]}: ${OUTCOME_WORDS[outcome].toLowerCase()}`;
    const click = (event) => { event.stopPropagation(); open(row); };
    return h("button", { class: `square ${OUTCOMES[outcome]}`, type: "button", tabindex: -1, title: words, "aria-label": words, onclick: click });
  });
  const more = rows.length - STRIP_LIMIT;
  return h("span", { class: "strip" }, squares, more > 0 ? h("span", { class: "more" }, `+${more}`) : null);
}

function trialColumns(store) {
  const task = (item) => store.trials.task[item.row];
  const groups = store.runs.length > 1 ? 1 : GROUP_COLUMNS;
  const run = { key: "run", title: "Run", css: "c-run", width: 9, cell: (item) => store.runs[store.trials.run[item.row]], sort: (item) => store.trials.run[item.row] };
  return [
    markColumn((item) => store.outcome[item.row], [0, 1, 2]), idColumn(store, task),
    { key: "trial", title: "Trial", css: "c-number c-trial", width: 4, cell: (item) => String(store.trials.trial[item.row]), sort: (item) => store.trials.trial[item.row] },
    ...(store.runs.length > 1 ? [run] : []),
    goalColumn(store, task), ...groupColumns(store, task, groups),
    { key: "why", title: "Ended by", css: "c-why", width: 8.5, cell: (item) => (store.reason(item.row) ?? "").replaceAll("_", " "), sort: (item) => store.reason(item.row) },
    { key: "score", title: "Score", css: "c-number c-rate", width: 4.7, cell: (item) => scoreText(store.trials.score[item.row]), sort: (item) => store.trials.score[item.row] },
    ...effortColumns(store, (item) => [item.row]), ...moreColumns(store, task, groups),
    ...hiddenAtFirst(true, [
      wordColumn("status", "Status", (item) => store.word("status", item.row)?.replaceAll("_", " ")), wordColumn("method", "Evaluated by", (item) => store.word("method", item.row)),
      wordColumn("flags", "Flags", (item) => store.word("flags", item.row)), wordColumn("labels", "Labels", (item) => [...store.labelsOf(item.row)].join(", ")),
      figureColumn("confidence", "Confidence", (item) => store.trials.confidence[item.row], percent), figureColumn("attempts", "Attempts", (item) => store.trials.attempts[item.row], count),
      figureColumn("input", "Tokens in", (item) => store.trials.input[item.row], short), figureColumn("output", "Tokens out", (item) => store.trials.output[item.row], short),
      ...Object.entries(store.settings).map(([name, values]) => wordColumn(`setting.${name}`, capital(name.replaceAll("_", " ")), (item) => values[store.trials.run[item.row]])),
      ...(store.details ?? []).map(([name, values]) => detailColumn(`detail.${name}`, capital(name.replaceAll("_", " ")), (item) => values[item.row], values)),
    ]),
  ];
}

/** Of numbers alone one that is sorted and subtracted as such. */
function detailColumn(key, title, read, values) {
  return values.every((value) => value === null || typeof value === "number") ? figureColumn(key, title, read, (value) => (value === null ? NONE : String(Number(value.toPrecision(6)))))
    : wordColumn(key, title, (item) => (read(item) === null ? null : String(read(item))));
}

const hiddenAtFirst = (hidden, columns) => columns.map((column) => ({ ...column, hidden }));

const wordColumn = (key, title, read) => ({ key, title, css: "c-group", width: 9, cell: (item) => read(item) || "", sort: (item) => read(item)?.toLowerCase() || null });

const figureColumn = (key, title, read, write) => ({ key, title, css: "c-number", width: 6, cell: (item) => write(read(item)), sort: read });

/** Every group that has no column yet, and the template. */
function moreColumns(store, task, shown = GROUP_COLUMNS) {
  const groups = groupColumns(store, task, Infinity).slice(shown);
  return hiddenAtFirst(true, [...groups, wordColumn("template", "Template", (item) => store.template(task(item)))]);
}

const scoreText = (score) => (score === null ? NONE : String(Number(score.toFixed(4))));

const NARROW = matchMedia("(max-width: 46rem)");
const NARROW_COLUMNS = ["c-outcome", "c-task", "c-goal", "c-strip", "c-number c-trial"];

/** The columns there is room for. */
const fitting = (columns) => (NARROW.matches ? columns.filter((column) => NARROW_COLUMNS.includes(column.css)) : columns);
