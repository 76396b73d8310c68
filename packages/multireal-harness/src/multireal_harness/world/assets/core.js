// What all apps share: a store kept in localStorage, /config, /finish and /submit, small pages.
"use strict";
const clone = (value) => JSON.parse(JSON.stringify(value));
const Core = { apps: {}, now: "2024-07-18T15:00:00.000Z" };
const NAME = document.documentElement.dataset.app;
const KEY = `persist:${NAME}`;
const KNOBS = { run_id: "", task_id: "", latency: 800, removePopup: false, hide_aria_labels: false,
  error_saving: false, padding_mb: 0 };

Core.boot = (app) => {
  Core.app = app;
  const kept = localStorage.getItem(KEY);
  Core.store = kept ? JSON.parse(kept) : fresh(app);
  Core.form = {};
  const path = location.pathname;
  if (path === "/config") return configure();
  if (path === "/finish") return finish();
  if (path === "/submit") return submit();
  dispatch("router/locationChange", { location: { pathname: path }, action: "POP" });
  addEventListener("popstate", () => go(location.pathname, "POP"));
  render();
};

function fresh(app) {
  const state = { ...app.seed(), config: { [NAME]: { ...KNOBS } },
    router: { location: { pathname: "/", search: "", hash: "" }, action: "POP" },
    _persist: { version: 1, rehydrated: true } };
  return { initial: clone(state), state, actions: [], serial: 0 };
}

function save() { localStorage.setItem(KEY, JSON.stringify(Core.store)); }

function dispatch(type, payload, change) {
  const { store } = Core;
  if (change) change(store.state);
  if (type === "router/locationChange") Object.assign(store.state.router, payload);
  const index = store.actions.length, at = new Date();
  // a copy: what the state keeps of it changes later, and the history is replayed
  store.actions.push({ type, payload: clone(payload), timestamp: at.getTime(), id: `${NAME}-${index}`, index,
    description: `Action ${index + 1}: ${type}`, formattedTime: at.toLocaleString("en-US") });
  save();
}

function go(path, action = "PUSH") {
  if (action === "PUSH") history.pushState({}, "", path);
  Core.form = {};
  dispatch("router/locationChange", { location: { pathname: path, search: "", hash: "" }, action });
  render();
}

// A change that takes as long as the app is configured to take, and fails when configured to.
async function act(type, payload, change, then) {
  const config = Core.store.state.config[NAME];
  if (config.latency) { busy(true); await new Promise((done) => setTimeout(done, config.latency)); busy(false); }
  if (config.error_saving) { dispatch(`${type}/rejected`, payload); return notify("Something went wrong. Nothing was saved."); }
  dispatch(type, payload, change);
  if (then) go(then); else render();
}

function busy(on) { document.body.classList.toggle("busy", on); }

function notify(text) {
  const note = h("div", { class: "toast", role: "status" }, text);
  document.body.append(note);
  setTimeout(() => note.remove(), 4000);
}

function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((each) => each != null && each !== false));
  return node;
}

function button(text, onclick, kind = "") { return h("button", { type: "button", class: kind, onclick }, text); }

// Fields and the button that Enter in one of them presses.
function asking(fields, text, onclick, kind = "") {
  return h("form", { class: "row", onsubmit: (event) => event.preventDefault() }, fields, h("button", { type: "submit", class: kind, onclick }, text));
}

function field(name, label, { rows, hint, value } = {}) {
  if (!(name in Core.form)) Core.form[name] = value ?? "";
  const silent = Core.store.state.config[NAME].hide_aria_labels;
  const attributes = { name, id: `f-${name}`, placeholder: hint, autocomplete: "off",
    oninput: (event) => { Core.form[name] = event.target.value; } };
  const input = rows ? h("textarea", { ...attributes, rows }) : h("input", { ...attributes, type: "text" });
  input.value = Core.form[name];
  return h("div", { class: "field" }, silent ? h("span", {}, label) : h("label", { for: `f-${name}` }, label), input);
}

function render() {
  const { state } = Core.store;
  const path = location.pathname;
  const links = Core.app.links(state).map(([text, target]) =>
    h("button", { type: "button", class: path === target ? "link here" : "link", onclick: () => go(target) }, text));
  const page = Core.app.page(path, state);
  document.getElementById("app").replaceChildren(
    h("header", {}, h("strong", {}, Core.app.title), h("nav", {}, links)),
    h("main", {}, page),
    popup(state));
}

function popup(state) {
  const config = state.config[NAME];
  if (config.removePopup) return "";
  return h("div", { class: "veil" }, h("div", { class: "popup", role: "dialog" },
    h("h2", {}, `Welcome to ${Core.app.title}`), h("p", {}, "We use cookies to remember what you do here."),
    button("Got it", () => { dispatch("config/closePopup", {}, (s) => { s.config[NAME].removePopup = true; }); render(); }, "main")));
}

function configure() {
  const given = Object.fromEntries(new URLSearchParams(location.search));
  dispatch("config/set", given, (state) => {
    const config = state.config[NAME];
    for (const [key, text] of Object.entries(given)) {
      config[key] = typeof KNOBS[key] === "number" ? Number(text) : typeof KNOBS[key] === "boolean" ? text === "true" : text;
    }
  });
  show("Configured", JSON.stringify(Core.store.state.config, null, 2), "config");
}

function submit() {
  const answer = new URLSearchParams(location.search).get("retrieved_answer");
  dispatch("submit", { answer });
  show("Submitted", JSON.stringify({ answer }), "submit");
}

function finish() {
  const { initial, state, actions } = Core.store;
  const final = clone(state);
  const padding = state.config[NAME].padding_mb;
  if (padding) final.padding = Array.from({ length: Math.ceil(padding * 1024) }, (_, i) => `${i}`.padStart(8, "0").repeat(127));
  const report = { actionhistory: actions, initialstate: initial, finalstate: final, state: final,
    initialfinaldiff: difference(initial, state), ...Core.app.differences(initial, state) };
  if (padding) report.state = state;
  let text = JSON.stringify(report, null, 2);
  if (document.documentElement.dataset.fault === "invalid_json") text = text.slice(0, text.length / 2);
  if (document.documentElement.dataset.fault === "no_pre") return document.getElementById("app").replaceChildren("Nothing here");
  show("Finish", text, "finish");
}

function show(title, text, id) {
  document.getElementById("app").replaceChildren(h("h1", {}, title), h("pre", { id }, text));
}

// What was added, deleted and updated between two trees; lists count as objects with positions.
function difference(before, after) {
  const found = { added: {}, deleted: {}, updated: {} };
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (["router", "_persist"].includes(key)) continue;
    if (!(key in before)) found.added[key] = after[key];
    else if (!(key in after)) found.deleted[key] = before[key];
    else if (isTree(before[key]) && isTree(after[key])) {
      const inner = difference(before[key], after[key]);
      for (const part of Object.keys(found)) if (Object.keys(inner[part]).length) found[part][key] = inner[part];
    } else if (before[key] !== after[key]) found.updated[key] = after[key];
  }
  return found;
}

function isTree(value) { return typeof value === "object" && value !== null; }

// What happened to a collection whose things have ids: as a list, or as an object by `by`.
function changes(before, after, by = null) {
  const old = new Map(before.map((each) => [each.id, each])), young = new Map(after.map((each) => [each.id, each]));
  const packed = (things) => by === null ? things
    : Object.fromEntries(things.map((each, index) => [by === "index" ? String(index) : each[by], each]));
  return { added: packed(after.filter((each) => !old.has(each.id))),
    deleted: packed(before.filter((each) => !young.has(each.id))),
    updated: packed(after.filter((each) => old.has(each.id) && JSON.stringify(old.get(each.id)) !== JSON.stringify(each))) };
}

function serial(prefix) { Core.store.serial += 1; return `${prefix}${1000 + Core.store.serial}`; }
function table(rows) { return h("table", {}, rows.map((cells) => h("tr", {}, cells.map((each) => h("td", {}, each))))); }
function list(text) { return text.split(/[,;]/).map((each) => each.trim()).filter(Boolean); }
function named(path, prefix) { return path.startsWith(prefix) ? decodeURIComponent(path.slice(prefix.length)) : null; }
