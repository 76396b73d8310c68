/* Elements without innerHTML, and figures written as bench_report.text.numbers writes them. */

const NONE = "–";

/** Create an element; strings become text, `on*` functions become listeners, null is left out. */
function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const trimmed = (value, digits) => value.toFixed(digits).replace(/\.0$/, "");

const percent = (value) => {
  if (value === null) return NONE;
  if (value === 0 || value === 1) return `${value * 100}%`;
  const text = `${(value * 100).toFixed(1)}%`;
  return { "0.0%": "<0.1%", "100.0%": ">99.9%" }[text] ?? text;
};

const count = (value) => (value === null ? NONE : Math.round(value).toLocaleString("en-US"));

const short = (value) => {
  if (value === null) return NONE;
  for (const [unit, size] of [["B", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (Math.abs(value) >= size * 0.9995) return trimmed(value / size, 1) + unit;
  }
  return trimmed(value, 1);
};

const dollars = (value) => {
  if (value === null) return NONE;
  if (value === 0) return "$0";
  if (value < 0.01) return `$${value.toFixed(Math.min(20, 1 - Math.floor(Math.log10(value)))).replace(/0+$/, "")}`;
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
};

const twoDigits = (value) => String(value).padStart(2, "0");

const duration = (value) => {
  if (value === null) return NONE;
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 59.95) return `${value.toFixed(1)} s`;
  const whole = Math.round(value);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${twoDigits(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${twoDigits(Math.floor((whole % 3600) / 60))} min`;
};

const byId = (id) => document.getElementById(id);
