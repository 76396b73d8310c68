/* A served page shows how far its runs are, asks whether they have moved on, and shows the results that came unless
   the reader has a trial open or types. */

const LOOK_MS = 2000;

async function asked(what) {
  const answer = await fetch(what, { cache: "no-store" });
  return answer.ok ? answer.json() : null;
}

/** Who goes through the links by keyboard would lose the place. */
const busy = () =>
  Boolean(document.querySelector("dialog[open], #progress :focus-visible") || document.activeElement?.closest("input, select, textarea"));

function follow(since) {
  const button = byId("news");
  button.addEventListener("click", () => location.reload());
  const look = async () => {
    showProgress(await asked("progress").catch(() => null));
    const now = await asked("state").catch(() => null);
    if (now === null || now.state === since) return;
    button.hidden = false;
    if (!busy()) location.reload();
  };
  look();
  setInterval(look, LOOK_MS);
}

/** Null is no answer: the server has ended, and what it said last would grow old. */
function showProgress(runs) {
  const place = byId("progress");
  if (place.querySelector("a:active")) return; // pressed just now: a link that is replaced gets no click
  place.hidden = !runs?.length;
  const focused = document.activeElement?.closest("#progress a")?.hash;
  place.replaceChildren(...(runs ?? []).map(runProgress));
  if (focused) [...place.querySelectorAll("a")].find((link) => link.hash === focused)?.focus({ preventScroll: true });
}

function runProgress({ title, share, facts, interval, failures, running, more }) {
  return h("section", { class: "run-progress" }, h("h2", {}, title),
    h("progress", { max: 1, value: share, "aria-label": "Trials that have ended" }),
    h("dl", { class: "facts" }, facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("p", { class: "quiet" }, interval),
    failures.length ? h("div", {}, h("h3", {}, "Failed last"), h("ul", { class: "live-failures" }, failures.map(liveFailure))) : null,
    running.length ? h("p", { class: "quiet" }, `Running: ${running.join(", ")}${more ? ` and ${count(more)} more` : ""}`) : null);
}

const liveFailure = ({ text, why, scored, href }) =>
  h("li", {}, h("span", { class: `outcome-icon ${scored === "yes" ? "fail" : "void"}` }, h("span", { class: "spoken" }, scored === "yes" ? "failed" : "not scored")), " ", h("a", { href }, text), ` ${why}`);

if (document.documentElement.dataset.live) follow(document.documentElement.dataset.live);
