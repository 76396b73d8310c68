/* The steps of a trial: a strip of pictures, the step that is looked at with where its actions went, and what
   the agent said, saw and sent beside it. */

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, props, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(props ?? {})) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** An image beside the page or one embedded in it; nothing else is ever loaded. */
function picture(source, alt) {
  const embedded = source.startsWith("#") ? byId(source.slice(1)) : null;
  const src = embedded ? `data:${embedded.dataset.type};base64,${embedded.textContent}` : source;
  const image = h("img", { alt, loading: "lazy", decoding: "async", src });
  image.addEventListener("error", () => image.replaceWith(h("span", { class: "no-picture" }, "picture not found")));
  return image;
}

const MARK_WORDS = { click: "click", drag: "drag", scroll: "scroll", type: "typing", move: "pointer" };

/** Shapes, not colours alone: a ring for a click, an arrow for a drag, chevrons for a scroll, a beam for typing. */
function drawMark(mark, width, height) {
  const unit = Math.max(width, height) / 100;
  const px = ([x, y]) => (mark.relative ? [x * width, y * height] : [x, y]);
  const group = svg("g", { class: `mark ${mark.kind}` });
  const line = (points) => {
    const d = `M${points.map((each) => each.map((n) => n.toFixed(1)).join(" ")).join("L")}`;
    group.append(svg("path", { class: "halo", d, "stroke-width": unit * 0.9 }), svg("path", { class: "stroke", d, "stroke-width": unit * 0.4 }));
  };
  const ring = (x, y, r) => group.append(
    svg("circle", { class: "halo", cx: x, cy: y, r, "stroke-width": unit * 0.9 }), svg("circle", { class: "stroke", cx: x, cy: y, r, "stroke-width": unit * 0.4 }));
  if (mark.box) {
    const [x, y, w, hgt] = mark.box;
    group.append(svg("rect", { class: "box", x, y, width: Math.max(w, 0), height: Math.max(hgt, 0), "stroke-width": unit * 0.3 }));
  }
  const [x, y] = px(mark.at);
  if (mark.kind === "click") {
    ring(x, y, unit * 1.6);
    group.append(svg("circle", { class: "core", cx: x, cy: y, r: unit * 0.45 }));
  } else if (mark.kind === "drag" && mark.to) {
    const [tx, ty] = px(mark.to);
    const [dx, dy] = [tx - x, ty - y];
    const length = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / length * unit * 1.8, dy / length * unit * 1.8];
    ring(x, y, unit);
    line([[x, y], [tx, ty]]);
    line([[tx - ux - uy * 0.6, ty - uy + ux * 0.6], [tx, ty], [tx - ux + uy * 0.6, ty - uy - ux * 0.6]]);
  } else if (mark.kind === "scroll") {
    const [across, down] = mark.to ?? [0, 1];
    const vertical = Math.abs(down) >= Math.abs(across);
    const way = Math.sign(vertical ? down : across) || 1;
    for (const shift of [-1, 1]) {
      const tip = shift * unit * 1.2 + way * unit;
      const base = tip - way * unit * 1.1;
      const side = unit * 1.5;
      line(vertical ? [[x - side, y + base], [x, y + tip], [x + side, y + base]] : [[x + base, y - side], [x + tip, y], [x + base, y + side]]);
    }
  } else if (mark.kind === "type") {
    line([[x, y - unit * 2], [x, y + unit * 2]]);
    line([[x - unit, y - unit * 2], [x + unit, y - unit * 2]]);
    line([[x - unit, y + unit * 2], [x + unit, y + unit * 2]]);
  } else ring(x, y, unit * 0.8);
  return group;
}

/** The picture of a step, with the marks of its actions once its size is known. */
function stepPicture(step, alt, marks = []) {
  if (!step?.screenshot) return null;
  const image = picture(step.screenshot, alt);
  image.loading = "eager";
  const frame = h("div", { class: "picture" }, image);
  const draw = () => {
    if (!image.naturalWidth || !marks.length) return;
    const [width, height] = step.size ?? [image.naturalWidth, image.naturalHeight];
    frame.append(svg("svg", { class: "marks", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      ...marks.map((mark) => drawMark(mark, width, height))));
  };
  if (image.complete) draw();
  else image.addEventListener("load", draw);
  return frame;
}

const FILLED = new WeakMap();

/** Thumbnails are made when they come into sight: a long trajectory has hundreds. */
function whenSeen(root, element, fill) {
  if (!FILLED.has(root)) {
    FILLED.set(root, new IntersectionObserver((entries, observer) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        observer.unobserve(entry.target);
        entry.target.fill();
      }
    }, { root, rootMargin: "0px 600px" }));
  }
  element.fill = fill;
  FILLED.get(root).observe(element);
}

const ZOOMS = [1, 1.5, 2, 3, 4];
const PLAY_MS = 1100;
const SIGHTS = ["before", "after", "both"];

class Film {
  /** `moved(step)` is called with the number of the step that is shown; `decided` says what the score rests on. */
  constructor(steps, { moved, at = null, decided = null }) {
    this.steps = steps;
    this.moved = moved;
    this.sight = "both";
    this.zoom = 0;
    this.unfolded = new Set(["Observation", "Requests of this step", "State changes so far"]);
    const pictures = steps.some((step) => step.screenshot);
    this.strip = h("div", { class: `film${pictures ? "" : " bare"}`, role: "group", "aria-label": "Steps (left and right arrow keys)" });
    this.frames = steps.map((step, index) => this.frame(step, index));
    this.strip.append(...this.frames);
    this.pictures = h("div", { class: "pictures", tabindex: 0, role: "group", "aria-label": "Pictures of this step" });
    this.side = h("div", { class: "step-side", "aria-live": "polite" });
    this.full = h("dialog", { class: "full-size", "aria-label": "Picture in full size", onclick: () => this.full.close(),
      onclose: () => this.pictures.focus({ preventScroll: true }) }); // what had the focus may be another step's
    this.element = h("div", { class: "viewer" }, this.strip, h("div", { class: `stage${pictures ? "" : " bare"}` },
      h("div", { class: "seen" }, pictures ? this.pictures : null, this.controls(pictures)), h("div", { class: "beside-picture" }, decided, this.side)), this.full);
    const start = at === null ? -1 : steps.findIndex((step) => step.step === at);
    this.show(Math.max(0, start), false);
  }

  frame(step, index) {
    const before = index > 0 && this.steps[index - 1].passed === true;
    const change = step.passed === true && !before ? "passes from here" : step.passed === false && before ? "destroyed again" : "";
    const sign = step.error ? "✕ " : change && (step.passed ? "✓ " : "↶ ");
    const number = h("span", { class: "frame-number" }, `${sign}${step.step}`);
    const words = `Step ${step.step}${change ? ` (${change})` : ""}${step.did.length ? `: ${step.did.join(", ")}` : ""}`;
    const frame = h("button", { type: "button", class: `frame${step.error ? " failed" : ""}${step.passed ? " passes" : ""}`, "aria-label": words, title: words.slice(0, 300), onclick: () => this.show(index) }, number);
    if (step.screenshot) whenSeen(this.strip, frame, () => frame.prepend(picture(step.screenshot, "")));
    return frame;
  }

  controls(pictures) {
    const button = (text, label, act) => h("button", { type: "button", class: "plain", "aria-label": label, title: label, onclick: act }, text);
    this.slider = h("input", { type: "range", min: 1, max: this.steps.length, value: 1, "aria-label": "Step", oninput: () => this.show(Number(this.slider.value) - 1) });
    this.player = button("Play", "Play (space)", () => this.play());
    this.sights = SIGHTS.map((sight) => h("button", { type: "button", "data-sight": sight, "aria-pressed": "false", onclick: () => this.look(sight) }, capital(sight)));
    return h("div", { class: "controls" },
      button("|◀", "First step (Home)", () => this.show(0)), button("◀", "Step back (left arrow)", () => this.move(-1)), this.player,
      button("▶", "Step on (right arrow)", () => this.move(1)), button("▶|", "Last step (End)", () => this.show(this.steps.length - 1)), this.slider,
      pictures ? h("div", { class: "segmented small", role: "group", "aria-label": "Picture before or after the step (b)" }, this.sights) : null,
      pictures ? button("−", "Smaller (−)", () => this.magnify(-1)) : null, pictures ? button("+", "Larger (+)", () => this.magnify(1)) : null);
  }

  play() {
    if (this.playing) { this.stop(); return; }
    if (this.at === this.steps.length - 1) this.show(0);
    this.player.textContent = "Pause";
    this.player.setAttribute("aria-label", "Pause (space)");
    this.playing = setInterval(() => {
      if (!this.element.isConnected || this.at >= this.steps.length - 1) this.stop();
      else this.show(this.at + 1);
    }, PLAY_MS);
  }

  stop() {
    clearInterval(this.playing);
    this.playing = null;
    this.player.textContent = "Play";
    this.player.setAttribute("aria-label", "Play (space)");
  }

  look(sight) {
    this.sight = sight;
    this.draw();
  }

  magnify(by) {
    this.zoom = Math.max(0, Math.min(ZOOMS.length - 1, this.zoom + by));
    this.enlarge();
  }

  /** Show a picture of this step as large as it was taken; the arrow keys go on from step to step. */
  fullSize(side) {
    this.fullSide = side;
    const { steps, at } = this;
    const after = side === "after";
    const frame = stepPicture(steps[after ? at + 1 : at], `${capital(side)} step ${steps[at].step}`, after ? [] : steps[at].marks ?? []);
    this.full.replaceChildren(frame ?? h("p", { class: "empty" }, "No picture was taken here."));
    if (!this.full.open) this.full.showModal();
  }

  /** Unfold what the model was sent and replied, or fold it again. */
  messages() {
    const fold = this.side.querySelector(".messages");
    if (!fold) return;
    fold.querySelector("summary").click();
    fold.querySelector(fold.open ? "input" : "summary").focus({ preventScroll: true });
    fold.scrollIntoView({ block: "nearest" });
  }

  enlarge() {
    for (const frame of this.pictures.querySelectorAll(".picture")) frame.style.width = `${ZOOMS[this.zoom] * 100}%`;
  }

  /** Returns whether the key was one of ours. */
  key(event) {
    const acts = {
      ArrowRight: () => this.move(1), ArrowLeft: () => this.move(-1), Home: () => this.show(0), End: () => this.show(this.steps.length - 1),
      " ": () => this.play(), b: () => this.look(SIGHTS[(SIGHTS.indexOf(this.sight) + 1) % SIGHTS.length]),
      "+": () => this.magnify(1), "-": () => this.magnify(-1), 0: () => this.magnify(-ZOOMS.length),
      f: () => (this.full.open ? this.full.close() : this.fullSize("before")), m: () => this.messages(),
    };
    if (!(event.key in acts) || (event.key === " " && event.target.closest("button, summary, a"))) return false;
    acts[event.key]();
    return true;
  }

  move(by) {
    this.show(Math.max(0, Math.min(this.steps.length - 1, this.at + by)));
  }

  showStep(number) {
    const index = this.steps.findIndex((step) => step.step === number);
    if (index >= 0 && index !== this.at) this.show(index, false);
  }

  show(index, report = true) {
    const before = this.frames[this.at];
    this.at = index;
    before?.removeAttribute("aria-current");
    const frame = this.frames[index];
    frame.setAttribute("aria-current", "true");
    this.slider.value = index + 1;
    this.strip.scrollTo({ left: frame.offsetLeft - this.strip.clientWidth / 2 + frame.clientWidth / 2 });
    this.draw();
    if (!report) return;
    this.moved(this.steps[index].step);
    if (this.full.open) this.fullSize(this.fullSide);
    else if (this.strip.getBoundingClientRect().top < 0) this.strip.scrollIntoView({ block: "start" }); // below the bar, by its scroll margin
  }

  draw() {
    const step = this.steps[this.at];
    for (const button of this.sights) button.setAttribute("aria-pressed", button.dataset.sight === this.sight);
    this.pictures.replaceChildren(...this.shots(step, this.steps[this.at + 1]));
    this.enlarge();
    this.side.replaceChildren(...stepParts(step, this.steps, this.at, this.unfolded).filter(Boolean));
    const asked = this.side.querySelector(".messages");
    if (asked) this.search(asked);
  }

  /** Search the messages: of this step those that match stay, Enter goes to the next step that has one. */
  search(fold) {
    const has = (text) => text.toLowerCase().includes(this.sought ?? "");
    const keep = () => { for (const turn of fold.querySelectorAll(".turn")) turn.hidden = !has(turn.textContent); };
    const next = () => {
      const found = this.steps.findIndex((step, n) => n > this.at && (step.model ?? []).some((call) => [...call.sent, ...call.reply].flat().some(has)));
      if (found < 0) return;
      this.show(found);
      this.side.querySelector(".messages input")?.focus({ preventScroll: true });
    };
    const input = h("input", { type: "search", placeholder: "Search messages, Enter: next step", "aria-label": "Search the messages", value: this.sought ?? "",
      oninput: () => { this.sought = input.value.toLowerCase(); keep(); }, onkeydown: (event) => { if (event.key === "Enter") next(); } });
    fold.querySelector("summary").after(input);
    keep();
  }

  /** What was on the screen when the agent decided, with where it then acted, and what the next step began with. */
  shots(step, next) {
    const before = this.sight === "after" ? null : stepPicture(step, `Before step ${step.step}`, step.marks ?? []);
    const after = this.sight === "before" ? null : stepPicture(next, `After step ${step.step}`);
    const kinds = [...new Set((step.marks ?? []).map((mark) => mark.kind))];
    return [
      before ? h("figure", {}, h("figcaption", {}, h("strong", {}, "Before"), kinds.length ? h("span", { class: "quiet" }, ` marked: ${kinds.map((kind) => MARK_WORDS[kind]).join(", ")}`) : null, elsewhere(step)), this.zoomable(before, "before")) : null,
      after ? h("figure", {}, h("figcaption", {}, h("strong", {}, "After"), h("span", { class: "quiet" }, " as the next step began")), this.zoomable(after, "after")) : null,
      !before && !after ? h("p", { class: "empty" }, step.screenshot ? "No picture was taken after the last step." : "No picture was taken here.") : null,
    ].filter(Boolean);
  }

  zoomable(frame, side) {
    const open = () => this.fullSize(side);
    return h("div", { class: "zoomable", tabindex: 0, role: "button", "aria-label": `${capital(side)}: full size`, title: "Full size (f)", onclick: open, onkeydown: (event) => event.key === "Enter" && open() }, frame);
  }

  /** Every step below the other, for paper. */
  printed(most) {
    return printedSteps(this.steps, most);
  }
}

const printedSteps = (steps, most) => steps.slice(0, most).map((step, at) => h("section", { class: "printed-step" },
  stepPicture(step, `Before step ${step.step}`, step.marks ?? []), ...stepParts(step, steps, at, new Set()).filter(Boolean)));

/** Acts on a page that came in front during the step are on no picture. */
const elsewhere = (step) => (step.elsewhere ? h("span", { class: "quiet" }, ` ${step.elsewhere} not marked: on a page that this step put in front`) : null);

/** What is beside the picture of a step. */
function stepParts(step, steps, at, unfolded) {
  const fold = (title, number, ...content) => {
    // a click is handled before the next key; "toggle" may come after the next step is shown
    const remember = () => unfolded[element.open ? "delete" : "add"](title);
    const element = h("details", { class: "fold" }, h("summary", { onclick: remember }, title, number === null ? null : h("span", { class: "quiet" }, ` ${count(number)}`)), ...content);
    element.open = unfolded.has(title);
    return element;
  };
  const changes = steps.slice(0, at + 1).flatMap((each) => (each.requests ?? []).filter(([, method]) => !SAFE.has(method)).map((call) => [each.step, call]));
  const changed = steps.slice(0, at + 1).flatMap((each) => (each.changed ?? []).map((change) => [each.step, change]));
  const first = steps[0];
  return [
    h("p", { class: "step-head" }, h("strong", {}, `Step ${step.step} of ${first.of ?? steps.length}`), step.seconds === null ? null : h("span", { class: "quiet" }, duration(step.seconds))),
    step.url ? h("p", { class: "url" }, step.url) : null,
    inFront(step),
    step.did.length ? h("ol", { class: "did" }, step.did.map((text, n) => h("li", {}, h("strong", {}, text), step.results[n] ? h("span", { class: "quiet" }, ` → ${step.results[n]}`) : null))) : h("p", { class: "quiet" }, "No action."),
    step.results.length > step.did.length ? h("ul", { class: "step-results" }, step.results.slice(step.did.length).map((text) => h("li", {}, text))) : null,
    step.error ? h("p", { class: "problem" }, step.error) : null,
    step.thought ? h("p", { class: "thought", tabindex: 0 }, step.thought) : null,
    step.tabs?.length > 1 ? h("p", { class: "quiet" }, `${step.url ? "Tabs" : "Windows"}: ${step.tabs.join(" | ")}`) : null,
    step.elements?.length || step.text ? fold("Observation", step.elements?.length ?? null, step.elements?.length ? h("ol", { class: "elements", tabindex: 0 }, step.elements.map(elementLine)) : null, step.text ? h("pre", { tabindex: 0 }, step.text) : null) : null,
    step.model?.length ? messages(fold, step.model) : null,
    step.requests?.length ? fold("Requests of this step", step.requests.length, requestList(step.requests.map((call) => [null, call]))) : null,
    changes.length ? fold("Changes sent so far", changes.length, requestList(changes)) : null,
    changed.length ? fold("State changes so far", changed.length, changeList(changed, step.step)) : null,
    step.difference?.length ? fold("Difference at the end", null, ...step.difference.map(([app, text]) => h("div", { class: "difference" }, h("h4", {}, app), h("pre", { tabindex: 0 }, text)))) : null,
    step.actions.length ? fold("Actions as recorded", null, h("pre", { class: "actions", tabindex: 0 }, step.actions.join("\n"))) : null,
  ];
}

/** The page's title, or of a desktop the window in front. */
function inFront({ url, title, front }) {
  if (url) return title ? h("p", { class: "quiet" }, title) : null;
  const window = title ?? front;
  return window ? h("p", { class: "front" }, h("span", { class: "quiet" }, "In front: "), window) : null;
}

/** What the model was sent and what it replied, call by call. */
function messages(fold, calls) {
  const element = fold(MESSAGES, calls.length, ...calls.flatMap((call) => [...sentParts(call), ...replyParts(call)]));
  element.classList.add("messages");
  return element;
}

const MESSAGES = "Messages of the model";

const quiet = (text) => h("p", { class: "quiet" }, text);

const spoken = ([who, text]) => h("div", { class: who.endsWith("failed") ? "turn failed" : "turn" }, h("h4", {}, who), h("pre", { tabindex: 0 }, text));

/** The turns of a call that are new since the one before. */
const sentParts = (call) => [
  quiet(`Call ${call.call}${call.kept ? `: after ${call.kept} earlier ${call.kept === 1 ? "turn" : "turns"}, as sent before` : ""}`),
  ...call.sent.map(spoken),
  call.cut ? quiet("The texts of this call are not shown here.") : null,
].filter(Boolean);

const replyParts = (call) => [
  quiet(`Reply${call.facts ? `: ${call.facts}` : ""}`), ...call.reply.map(spoken), call.error ? h("p", { class: "problem" }, call.error) : null,
].filter(Boolean);

/** What the apps noted of their own state, the newest first; that of this step stands out. */
const changeList = (changes, now) =>
  h("ul", { class: "requests changes", tabindex: 0 }, [...changes].reverse().map(([step, [app, kind, payload]]) =>
    h("li", { class: step === now ? "now" : null }, h("span", { class: "quiet" }, `step ${step} `), h("strong", {}, `${app} ${kind}`), payload ? ` ${payload}` : null)));

const SAFE = new Set(["GET", "HEAD", "OPTIONS"]);

const elementLine = ([id, role, name, value]) =>
  h("li", {}, h("span", { class: "quiet" }, `${id} ${role} `), name, value ? h("span", { class: "quiet" }, ` = ${value}`) : null);

const requestList = (calls) =>
  h("ul", { class: "requests", tabindex: 0 }, calls.map(([step, [status, method, url, ms]]) =>
    h("li", { class: status === 0 || status >= 400 ? "bad" : null }, step === null ? null : h("span", { class: "quiet" }, `step ${step} `),
      h("strong", {}, status ? String(status) : "no answer"), ` ${method} `, h("span", { class: "url" }, url), ms === null ? null : h("span", { class: "quiet" }, ` ${Math.round(ms)} ms`))));
