/* Tables to take along: as LaTeX, Markdown or CSV, with the figures that are seen. */

const COPIED_TABLES = "#result table, #differences table, #failures table, #slices table, #templates table, #integrity table, #evaluation table";

/** Rows of texts; a cell over several rows stands in each of them, and drawings are left out. */
function tableTexts(table) {
  const plots = new Set();
  const rows = [];
  const above = [];
  for (const row of table.rows) {
    const texts = [];
    let column = 0;
    const take = () => { while (above[column]?.left > 0) { above[column].left -= 1; texts.push(above[column].text); column += 1; } };
    for (const cell of row.cells) {
      take();
      const text = (cell.cloneNode(true).textContent ?? "").replace(/\s+/g, " ").trim();
      if (cell.matches(".plot-col, .difference-col")) plots.add(column);
      if (cell.rowSpan > 1) above[column] = { left: cell.rowSpan - 1, text };
      texts.push(text);
      column += 1;
    }
    take();
    rows.push(texts);
  }
  return rows.map((row) => row.filter((_, column) => !plots.has(column)));
}

const LATEX = { "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "$": "\\$", "&": "\\&", "#": "\\#", "%": "\\%", "_": "\\_", "^": "\\^{}", "~": "\\~{}", "–": "--", "−": "$-$" };

const WRITERS = {
  LaTeX: ([head, ...rows]) => {
    const line = (row) => `${row.map((text) => text.replace(/[\\{}$&#%_^~–−]/g, (each) => LATEX[each])).join(" & ")} \\\\`;
    return ["\\begin{tabular}{" + `l${"r".repeat(head.length - 1)}}`, "\\hline", line(head), "\\hline", ...rows.map(line), "\\hline", "\\end{tabular}"].join("\n");
  },
  Markdown: ([head, ...rows]) => {
    const line = (row) => `| ${row.map((text) => text.replace(/[\\|`*_<>[\]]/g, "\\$&")).join(" | ")} |`;
    return [line(head), `| ${head.map((_, at) => (at ? "---:" : "---")).join(" | ")} |`, ...rows.map(line)].join("\n");
  },
  // A cell that begins like a formula would be one in a spreadsheet.
  CSV: (rows) => rows.map((row) => row.map((text) => `"${(/^[=+@\t\r]/.test(text) && !/^\+[\d.]/.test(text) ? "'" : "") + text.replaceAll('"', '""')}"`).join(",")).join("\r\n"),
};

async function putOnClipboard(text) {
  try {
    await navigator.clipboard.writeText(text);
    return;
  } catch { /* not allowed here: the older way */ }
  const before = document.activeElement;
  const box = h("textarea", { class: "spoken" });
  box.value = text;
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
  before?.focus({ preventScroll: true }); // who came by keyboard goes on from there
}

function offerCopies() {
  for (const table of document.querySelectorAll(COPIED_TABLES)) {
    const said = h("span", { class: "quiet", role: "status" });
    const button = (form) => h("button", { type: "button", class: "link copy", onclick: async () => {
      await putOnClipboard(WRITERS[form](tableTexts(table)));
      said.textContent = `copied as ${form}`;
    } }, form);
    const place = table.closest(".scroll") ?? table;
    place.after(h("p", { class: "copies" }, h("span", { class: "quiet" }, "Copy as"), Object.keys(WRITERS).map(button), said));
  }
}
