/* A table that holds any number of rows and draws only those in sight. */

const OVERSCAN = 12;

class Grid {
  /** `open(item)` is called for the row a reader picks. */
  constructor(box, { open, sorted }) {
    this.box = box;
    this.open = open;
    this.sorted = sorted;
    this.items = [];
    this.current = 0;
    this.colgroup = h("colgroup");
    this.head = h("thead");
    this.body = h("tbody");
    this.table = h("table", { class: "grid", "aria-label": "Results" }, this.colgroup, this.head, this.body);
    box.replaceChildren(this.table);
    box.addEventListener("scroll", () => this.schedule(), { passive: true });
    box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.schedule()).observe(box);
  }

  show(columns, items, sort) {
    this.columns = columns;
    this.items = items;
    this.current = Math.min(this.current, Math.max(items.length - 1, 0));
    this.layOut(columns);
    this.head.replaceChildren(h("tr", {}, columns.map((column) => this.heading(column, sort))));
    this.table.setAttribute("aria-rowcount", items.length + 1);
    const focused = this.body.contains(document.activeElement);
    this.body.replaceChildren(this.spacer(items.length)); // gives the box its height: rows are drawn once
    this.drawn = null;
    this.draw();
    if (focused) this.focus(false);
  }

  /** Give every column its width; the table scrolls sideways where they do not fit. */
  layOut(columns) {
    const cols = columns.map((column) => {
      const col = h("col");
      if (column.width) col.style.width = `${column.width}rem`;
      return col;
    });
    this.colgroup.replaceChildren(...cols);
    const least = columns.reduce((sum, column) => sum + (column.width ?? column.least), 0);
    this.table.style.minWidth = `${least}rem`;
  }

  heading(column, sort) {
    const direction = sort === column.key ? "ascending" : sort === `-${column.key}` ? "descending" : null;
    const next = direction === "ascending" ? `-${column.key}` : column.key;
    const button = h("button", { type: "button", onclick: () => this.sorted(next) },
      column.title, h("span", { class: "spoken" }, column.label ?? ""), h("span", { class: "arrow", "aria-hidden": "true" }));
    return h("th", { class: column.css, scope: "col", "aria-sort": direction }, button);
  }

  get rowHeight() {
    const height = Number.parseFloat(getComputedStyle(this.box).getPropertyValue("--row"));
    return height || 40;
  }

  schedule() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.draw(); });
  }

  /** First and last row in sight; everything when the page is printed. */
  range() {
    if (this.printing) return [0, Math.min(this.items.length, this.printing)];
    const height = this.rowHeight;
    const first = Math.max(0, Math.floor(this.box.scrollTop / height) - OVERSCAN);
    const seen = Math.ceil(this.box.clientHeight / height) + 2 * OVERSCAN;
    return [first, Math.min(this.items.length, first + seen)];
  }

  draw() {
    if (!this.columns) return;
    const [first, last] = this.range();
    const key = `${first}:${last}:${this.rowHeight}`;
    if (this.drawn === key) return;
    this.drawn = key;
    const rows = [this.spacer(first)];
    for (let index = first; index < last; index += 1) rows.push(this.row(index));
    rows.push(this.printing ? "" : this.spacer(this.items.length - last));
    const focused = this.body.contains(document.activeElement);
    this.body.replaceChildren(...rows);
    if (focused) this.focus(false);
  }

  spacer(count) {
    const cell = h("td", { colspan: this.columns.length });
    const row = h("tr", { class: "spacer", "aria-hidden": "true" }, cell);
    cell.style.height = `${count * this.rowHeight}px`;
    row.hidden = count === 0;
    return row;
  }

  row(index) {
    const item = this.items[index];
    const cells = this.columns.map((column) => {
      const content = column.cell(item);
      const title = typeof content === "string" && content.length > 12 ? content.slice(0, 400) : null;
      return h("td", { class: column.css, title }, typeof content === "string" ? h("span", { class: "text" }, content) : content);
    });
    return h("tr", {
      tabindex: index === this.current ? 0 : -1,
      "aria-rowindex": index + 2,
      "data-index": index,
      onclick: () => { this.current = index; this.open(item); },
    }, cells);
  }

  key(event) {
    const moves = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity };
    if (event.target.closest("thead") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in moves) this.move(moves[event.key]);
    else if (event.key === "Enter" && event.target.closest("tbody") && this.items.length) this.open(this.items[this.current]);
    else return;
    event.preventDefault();
  }

  move(by) {
    this.current = Math.max(0, Math.min(this.items.length - 1, this.current + by));
    this.focus(true);
  }

  /** Put the keyboard on the current row, scrolled into sight below the sticky head. */
  focus(scroll) {
    if (scroll) this.reveal();
    const row = this.body.querySelector(`[data-index="${this.current}"]`);
    this.body.querySelector('tr[tabindex="0"]')?.setAttribute("tabindex", "-1");
    row?.setAttribute("tabindex", "0");
    row?.focus({ preventScroll: true });
  }

  reveal() {
    const height = this.rowHeight;
    const head = this.head.offsetHeight;
    const top = this.current * height;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    else if (top + height + head > scrollTop + clientHeight) this.box.scrollTop = top + height + head - clientHeight;
    this.draw();
  }
}

/** Sort items by a column; what has no value comes last in both directions. */
function sortItems(items, columns, sort) {
  const down = sort.startsWith("-");
  const column = columns.find((each) => each.key === (down ? sort.slice(1) : sort));
  if (!column) return items;
  const keyed = items.map((item, index) => [column.sort(item), index, item]);
  keyed.sort(([a, i], [b, j]) => {
    if (a === b) return i - j;
    if (a === null || b === null) return a === null ? 1 : -1;
    return (a < b ? -1 : 1) * (down ? -1 : 1);
  });
  return keyed.map(([, , item]) => item);
}
