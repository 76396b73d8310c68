/* A served page asks whether the run has moved on, and shows it unless the reader has a trial open or types. */

const LOOK_MS = 2000;

async function moved(since) {
  const answer = await fetch("state", { cache: "no-store" });
  return answer.ok && (await answer.json()).state !== since;
}

const busy = () =>
  Boolean(document.querySelector("dialog[open]") || document.activeElement?.closest("input, select, textarea"));

function follow(since) {
  const button = byId("news");
  button.addEventListener("click", () => location.reload());
  setInterval(async () => {
    if (!(await moved(since).catch(() => false))) return;
    button.hidden = false;
    if (!busy()) location.reload();
  }, LOOK_MS);
}

if (document.documentElement.dataset.live) follow(document.documentElement.dataset.live);
