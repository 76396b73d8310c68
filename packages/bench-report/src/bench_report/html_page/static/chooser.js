/* Columns of one's own: which, in what order, and the difference of two; kept in the address. */

const MINUS = "\u2212";

/** The columns that the address names, in its order; those shown at first where it names none of this table. */
function chosenColumns(columns, cols) {
  const keys = cols.split(",").filter(Boolean);
  const found = keys.map((key) => columns.find((each) => encodeURIComponent(each.key) === key) ?? differenceColumn(columns, key)).filter(Boolean);
  return found.length ? found : columns.filter((column) => !column.hidden);
}

/** `a~b`: what `a` has more than `b`, where both are numbers; of success rates in points. */
function differenceColumn(columns, key) {
  const parts = key.split("~").map((each) => columns.find((column) => column.key === each));
  if (parts.length !== 2 || parts.includes(undefined)) return null;
  const [a, b] = parts;
  const rates = parts.every((each) => each.css.includes("c-strip") || each.key === "rate");
  const sort = (item) => {
    const [x, y] = [a.sort(item), b.sort(item)];
    return typeof x === "number" && typeof y === "number" ? x - y : null;
  };
  const write = (value) => `${value < 0 ? MINUS : "+"}${rates ? `${(Math.abs(value) * 100).toFixed(1)} pp` : Number(Math.abs(value).toPrecision(4))}`;
  return { key, title: `${a.title} ${MINUS} ${b.title}`, css: "c-number", width: 9, sort, cell: (item) => (sort(item) === null ? NONE : write(sort(item))) };
}

const isNumber = (column) => /c-number|c-strip/.test(column.css);

class Chooser {
  /** `table()` returns `{all, shown, items}`: the columns there are and those shown, and what is listed. */
  constructor(state, table) {
    this.state = state;
    this.table = table;
    this.list = h("ul");
    this.pair = ["First column", "Second column"].map((label) => h("select", { "aria-label": label }));
    const button = (text, act) => h("button", { type: "button", class: "plain", onclick: act }, text);
    this.element = h("details", { class: "chooser" }, h("summary", {}, "Columns"), h("div", { class: "chooser-body" }, this.list,
      h("p", {}, this.pair[0], ` ${MINUS} `, this.pair[1], " ", button("Add difference", () => this.add(this.pair.map((each) => each.value).join("~")))),
      h("p", {}, button("As at first", () => this.state.set({ cols: "" })), " ", button("Save table as CSV", () => this.save()))));
    this.element.addEventListener("toggle", () => this.draw());
  }

  get keys() {
    return this.table().shown.map((column) => column.key);
  }

  choose(keys) {
    this.state.set({ cols: keys.map((key) => (key.includes("~") ? key : encodeURIComponent(key))).join(",") });
  }

  add(key) {
    if (!this.keys.includes(key)) this.choose([...this.keys, key]);
  }

  draw() {
    if (!this.element.open) return;
    const { all, shown } = this.table();
    const rest = all.filter((column) => !this.keys.includes(column.key));
    const focused = this.list.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
    this.list.replaceChildren(...[...shown, ...rest].map((column, at) => this.line(column, at, shown.length)));
    if (focused) this.list.querySelector(`[aria-label="${CSS.escape(focused)}"]`)?.focus();
    this.pair.forEach((select, n) => {
      const kept = select.value;
      const numbers = all.filter(isNumber);
      select.replaceChildren(...numbers.map((column) => h("option", { value: column.key }, column.title)));
      select.value = numbers.some((column) => column.key === kept) ? kept : numbers[n]?.key ?? "";
    });
  }

  line(column, at, shown) {
    const name = column.title || column.label;
    const move = (by) => {
      const keys = this.keys;
      keys.splice(at + by, 0, ...keys.splice(at, 1));
      this.choose(keys);
    };
    const arrow = (text, label, by) => h("button", { type: "button", class: "plain", "aria-label": `${name}: ${label}`, disabled: at + by < 0 || at + by >= shown, onclick: () => move(by) }, text);
    const box = h("input", { type: "checkbox", checked: at < shown, "aria-label": `Show ${name}`, onchange: () => this.choose(box.checked ? [...this.keys, column.key] : this.keys.filter((key) => key !== column.key)) });
    return h("li", {}, h("label", {}, box, " ", name), at < shown ? [arrow("↑", "further left", -1), arrow("↓", "further right", 1)] : null);
  }

  /** Write the listed rows as CSV: numbers as they are, else what is shown. What begins as a formula gets an apostrophe. */
  save() {
    const { shown, items } = this.table();
    const text = (value) => (/^[=+@\t\r-]/.test(value) && Number.isNaN(Number(value)) ? `'${value}` : value);
    const quoted = (value) => `"${text(String(value ?? "")).replaceAll('"', '""')}"`;
    const cell = (column, item) => {
      const content = isNumber(column) ? column.sort(item) : column.cell(item);
      return content instanceof Element ? content.title || content.textContent : content;
    };
    const lines = [shown.map((column) => quoted(column.title || column.label)), ...items.map((item) => shown.map((column) => quoted(cell(column, item))))];
    const href = URL.createObjectURL(new Blob([`${lines.map((line) => line.join(",")).join("\r\n")}\r\n`], { type: "text/csv" }));
    h("a", { href, download: "table.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  }
}
