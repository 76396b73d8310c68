// What is done to one node of a page: where it is, what got a press, whether it took a text. `refs` is the document's
// registry. Nothing here waits: a page may have replaced its timers.

const name = node => {
  const first = ids => (ids || '').split(/\s+/).map(id => id && node.getRootNode().getElementById(id))
    .map(each => each ? each.innerText : '').join(' ').trim();
  const words = first(node.getAttribute('aria-labelledby')) || node.getAttribute('aria-label')
    || node.labels && node.labels[0] && node.labels[0].innerText
    || node.tagName === 'INPUT' && (/^(button|submit|reset)$/.test(node.type) && node.value || node.alt)
    || (/^(SELECT|TEXTAREA)$/.test(node.tagName) ? '' : node.innerText) || node.alt || node.placeholder || node.title
    || node.textContent && node instanceof SVGElement && node.textContent || node.name;
  return typeof words === 'string' ? words.replace(/\s+/g, ' ').trim() : '';
};
const WIDGETS = 'a[href],button,input,select,textarea,summary,option,label,[onclick],[contenteditable=""],'
  + '[contenteditable=true],' + ('button link checkbox radio switch tab menuitem menuitemcheckbox '
  + 'menuitemradio option treeitem slider spinbutton textbox searchbox combobox').split(' ')
    .map(each => '[role=' + each + ']').join();
const MARKS = WIDGETS + ',dialog,iframe,header,nav,footer,img,canvas,[role=dialog],[role=alert],'
  + '[role=alertdialog],[role=banner],[role=status],[role=tooltip],[role=menu]';
// the element that holds another one, as it is drawn: through slots and out of shadow roots
const up = node => node.assignedSlot || node.parentElement
  || (node.getRootNode() instanceof ShadowRoot ? node.getRootNode().host : null);
const at = (x, y) => {
  let hit = document.elementFromPoint(x, y);
  while (hit && hit.shadowRoot) {
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit || !hit.shadowRoot.contains(inner)) break;
    hit = inner;
  }
  return hit;
};
// What takes a press on `hit` that is meant for `node`: the node, a control within it, or null: another one.
const taker = (node, hit) => {
  let inner = null;
  for (let each = hit; each; each = up(each)) {
    if (each === node || each.tagName === 'LABEL' && each.control === node) return inner || node;
    if (node.tagName === 'LABEL' && node.control === each) return node;
    if (!inner && each.matches(WIDGETS)) inner = each;
  }
  return null;
};
const called = node => {
  let best = node;
  for (let each = node, far = 0; each && each !== document.body && far < 6; each = up(each), far++) {
    if (each.matches(MARKS)) { best = each; break; }
  }
  const kind = role(best);
  const full = name(best);
  const words = full.length > 60 ? full.slice(0, 59) + '\u2026' : full;
  return (kind === 'generic' ? 'something' : kind) + (words ? " '" + words + "'" : '');
};
const labelled = node => called(node) + ' (id ' + refs.number(node) + ')';
const meant = hit => {
  for (let each = hit, far = 0; each && far < 6; each = up(each), far++) if (each.matches(MARKS)) return each;
  return hit;
};
const focused = () => {
  let node = document.activeElement;
  while (node && node.shadowRoot && node.shadowRoot.activeElement) node = node.shadowRoot.activeElement;
  return node;
};
const holds = (node, inner) => {
  for (let each = inner; each; each = up(each)) if (each === node) return true;
  return node.tagName === 'LABEL' && node.control === inner;
};
const TEXTLESS = /^(button|submit|reset|image|file|checkbox|radio|hidden)$/;
const CHOSEN = /^(date|time|datetime-local|month|week|color|range)$/;
// how a node takes a value: typed, chosen, or not at all
const takes = node => {
  if (node.tagName === 'SELECT') return 'chosen';
  if (node.tagName === 'INPUT') return TEXTLESS.test(node.type) ? '' : CHOSEN.test(node.type) ? 'chosen' : 'typed';
  return node.tagName === 'TEXTAREA' || node.isContentEditable ? 'typed' : '';
};
const content = node => 'value' in node && node.tagName !== 'LI' ? String(node.value) : node.innerText || '';

// Brings a node into view and returns a spot of its that the mouse would hit, or what is wrong.
const aim = (refs, [number, asked]) => {
  const node = refs.node(number);
  if (!node) return null;
  if (asked.press && node.matches(':disabled')) return {wrong: 'is disabled'};
  const list = node.tagName === 'OPTION' && node.closest('select');
  if (list && !list.multiple && list.size < 2) return {wrong: 'is an option of ' + labelled(list) + ': set its value'};
  const big = box => box.width > 0 && box.height > 0;
  const boxes = () => {
    const within = document.createRange();
    within.selectNodeContents(node);
    const labels = [...(node.labels || [])].flatMap(each => [...each.getClientRects()]);
    return [...node.getClientRects(), ...labels, ...within.getClientRects()].filter(big).slice(0, 12);
  };
  const SPOTS = [[.5, .5], [.5, .25], [.5, .75], [.25, .5], [.75, .5], [.1, .1], [.9, .1], [.1, .9], [.9, .9]];
  let over = null;
  const seek = () => {
    over = null;
    const inner = new Map();
    const [left, top, right, bottom] = asked.view
      || [0, 0, innerWidth, innerHeight];
    for (const box of boxes()) {
      const x = Math.max(box.left, left), y = Math.max(box.top, top);
      const width = Math.min(box.right, right) - x, height = Math.min(box.bottom, bottom) - y;
      if (width <= 0 || height <= 0) continue;
      for (const [across, down] of SPOTS) {
        const spot = [x + width * across, y + height * down];
        const hit = at(...spot);
        if (!hit) continue;
        const taken = taker(node, hit);
        if (taken === node) return spot;
        if (taken) inner.set(taken, inner.get(taken) || spot);
        else over = over || hit;
      }
    }
    // one control that fills what is named is what is meant by it; of several, none is
    if (inner.size === 1) return [...inner.values()][0];
    if (inner.size) over = [...inner.keys()][0];
    return null;
  };
  let spot = seek();
  for (const block of ['center', 'end', 'start']) {
    if (spot || !asked.scroll) break;
    node.scrollIntoView({block, inline: 'center', behavior: 'instant'});
    spot = seek();
  }
  const box = node.getBoundingClientRect();
  if (spot) return {spot, box: [box.x, box.y, box.width, box.height]};
  const style = getComputedStyle(node);
  if (!boxes().length || style.visibility !== 'visible') return {wrong: 'is not visible'};
  if (!over) return {wrong: 'cannot be scrolled into view'};
  if (style.pointerEvents === 'none') return {wrong: 'lets the mouse through to ' + labelled(meant(over))};
  return {wrong: 'is covered by ' + labelled(meant(over))};
};

// Scrolls until a node is in view.
const bring = (refs, [number]) => {
  const node = refs.node(number);
  if (!node) return null;
  const inside = box => box.top >= 0 && box.left >= 0 && box.bottom <= innerHeight && box.right <= innerWidth;
  if (!node.getClientRects().length) return {wrong: 'is not visible'};
  if (!inside(node.getBoundingClientRect())) {
    node.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  }
  const box = node.getBoundingClientRect();
  const seen = box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
  return seen ? {} : {wrong: 'cannot be scrolled into view'};
};

// Says whether the mouse would hit a node at a point.
const hit = (refs, [number, [x, y]]) => {
  const node = refs.node(number);
  if (!node) return null;
  const hit = at(x, y);
  if (hit && taker(node, hit)) return {};
  return {wrong: hit ? 'is covered by ' + labelled(meant(hit)) : 'is not in view'};
};

// Watches what gets the next presses of the mouse, and keeps them from everything but one node.
const guard = (refs, [number, asked]) => {
  const node = refs.node(number);
  const hit = node && at(...asked.spot);
  const chosen = hit && taker(node, hit);
  if (!chosen) return {wrong: 'covered or gone'};
  const seen = {down: 0, clicks: 0, inner: chosen.tagName === 'IFRAME'};
  let elsewhere = null;
  const ours = target => {
    // what is meant for a frame does not come up here
    if (asked.frame || target.nodeType !== 1) return false;
    const inner = taker(node, target);
    return inner === chosen || inner === node || !!inner && holds(chosen, inner)
      || chosen.tagName === 'LABEL' && chosen.control === target;
  };
  const look = event => {
    // a label passes its click on by itself
    if (!event.isTrusted) return;
    const target = event.composedPath()[0];
    if (ours(target)) {
      if (event.type === 'mousedown') seen.down++;
      if (event.type === 'click' || event.type === 'auxclick') seen.clicks++;
      return;
    }
    // a click goes to what holds both the place of the press and that of the release
    event.preventDefault();
    event.stopImmediatePropagation();
    elsewhere = elsewhere || (target.nodeType === 1 ? target : document.documentElement);
    if (seen.down && (event.type === 'mouseup' || event.type === 'pointerup')) {
      // the page must not wait for the end of a press that it saw begin
      const kind = event.type === 'mouseup' ? MouseEvent : PointerEvent;
      const {clientX, clientY, button, pointerId} = event;
      document.dispatchEvent(new kind(event.type, {bubbles: true, clientX, clientY, button, pointerId}));
    }
  };
  for (const kind of asked.kinds) addEventListener(kind, look, true);
  refs.guard = {
    seen,
    end() {
      for (const kind of asked.kinds) removeEventListener(kind, look, true);
      return {...seen, elsewhere: elsewhere ? labelled(meant(elsewhere)) : '', gone: !node.isConnected,
        list: chosen.tagName === 'SELECT'};
    },
  };
  return {name: called(node)};
};

// Ends a watch and returns what it saw.
const end = refs => refs.guard.end();

// Says how a node takes text: `typed`, `chosen`, or not at all.
const taking = (refs, [number]) => {
  const node = refs.node(number);
  return node ? takes(node) : null;
};

// Gives a node the focus, selects its text if asked, and says whether it takes text; 0 is what has the focus.
const focus = (refs, [number, asked]) => {
  const node = number ? refs.node(number) : focused();
  if (!node) return null;
  if (number && !holds(node, focused())) (node.tagName === 'LABEL' && node.control || node).focus();
  const field = focused();
  const part = node.isContentEditable && holds(field, node);
  if (number && !part && !holds(node, field)) {
    const there = field && field !== document.body ? ': the focus is on ' + labelled(field) : '';
    return {wrong: 'does not take the focus' + there};
  }
  const how = takes(field);
  if (how !== 'typed') return {wrong: 'takes no text', name: called(field)};
  if (field.readOnly || field.disabled) return {wrong: 'is read-only'};
  const before = content(field);
  if (asked.clear) {
    if (field.select) field.select();
    else {
      getSelection().selectAllChildren(part ? node : field);
    }
  }
  return {number: refs.number(field), before, name: called(field), secret: field.type === 'password'};
};

// Watches what gets the next keys, and keeps them from everything but one node.
const typing = (refs, [number]) => {
  const node = number ? refs.node(number) : null;
  if (number && !node) return {wrong: 'gone'};
  const KINDS = ['keydown', 'keypress', 'keyup', 'beforeinput'];
  let elsewhere = null, entered = null;
  const look = event => {
    if (!event.isTrusted) return;
    const target = event.composedPath()[0];
    if (node && holds(node, target)) {
      if (event.type === 'keydown' && event.key === 'Enter') entered = content(node);
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.type !== 'keyup') elsewhere = elsewhere || (target.nodeType === 1 ? target : document.documentElement);
  };
  for (const kind of KINDS) addEventListener(kind, look, true);
  refs.guard = {
    end() {
      for (const kind of KINDS) removeEventListener(kind, look, true);
      return {elsewhere: elsewhere ? labelled(meant(elsewhere)) : '', entered, after: node ? content(node) : ''};
    },
  };
  return {};
};

// Takes the focus from a node, by which a page learns that its value is complete.
const leave = (refs, [number]) => { const node = refs.node(number); if (node && node.blur) node.blur(); return true; };

// Says what has the focus in this frame, None if nothing of it does.
const selection = refs => {
  const node = focused();
  if (!document.hasFocus()) return null;
  if (node && node.tagName === 'IFRAME') return null;
  return node ? {number: refs.number(node), how: takes(node), name: called(node)} : {number: 0, how: '', name: ''};
};

// Says what is at a point.
const under = (refs, [x, y]) => {
  const hit = at(x, y);
  return hit && hit !== document.documentElement && hit !== document.body ? called(hit) : '';
};

// Gives a control its value, or says what it needs - to be pressed, to be typed into - or what is wrong.
const setValue = (refs, [number, wanted]) => {
  let node = refs.node(number);
  if (!node) return null;
  if (node.tagName === 'LABEL' && node.control) node = node.control;
  if (node.tagName === 'OPTION' && node.closest('select')) {
    if (wanted === false || wanted === 'false') return {wrong: 'is an option: set the value of its list'};
    wanted = node.value;
    node = node.closest('select');
  }
  if (node.matches(':disabled') || node.readOnly) return {wrong: 'takes no value now'};
  const notify = () => {
    for (const kind of ['input', 'change']) node.dispatchEvent(new Event(kind, {bubbles: true, composed: true}));
  };
  const text = String(wanted);
  if (node.tagName === 'SELECT') {
    const options = [...node.options];
    const plain = word => word.replace(/\s+/g, ' ').trim().toLowerCase();
    const option = options.find(each => each.label.trim() === text.trim())
      || options.find(each => each.value === text) || options.find(each => plain(each.label) === plain(text));
    if (!option) {
      const some = options.slice(0, 20).map(each => JSON.stringify(each.label.trim())).join(', ');
      return {wrong: 'has no option ' + JSON.stringify(text) + (some ? ': it has ' + some : '')};
    }
    if (option.disabled || option.parentElement.disabled) return {wrong: 'does not offer ' + JSON.stringify(text) + ' now'};
    // frameworks replace the property of the node itself, and would not notice
    Object.getOwnPropertyDescriptor(HTMLOptionElement.prototype, 'selected').set.call(option, true);
    notify();
    return option.selected ? {text: 'chose ' + JSON.stringify(option.label.trim()) + ' in ' + called(node)}
      : {wrong: 'does not take ' + JSON.stringify(text)};
  }
  const kind = node.getAttribute('role');
  if (node.type === 'checkbox' || node.type === 'radio' || /^(checkbox|radio|switch)$/.test(kind || '')) {
    const is = () => 'checked' in node ? node.checked : node.getAttribute('aria-checked') === 'true';
    if (!/^(true|false|on|off)$/.test(text)) return {wrong: 'takes true or false'};
    return {press: is() !== (text === 'true' || text === 'on'), text: called(node) + (is() ? ' is checked' : ' is not checked')};
  }
  const how = takes(node);
  if (how === 'typed') return {type: text};
  if (how === '') return {wrong: 'is not a control that takes a value'};
  const give = input => Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, text);
  const trial = node.cloneNode();
  give(trial);
  if (trial.value === text || node.type === 'range' && Number(trial.value) === Number(text)) {
    node.focus();
    give(node);
    notify();
    return {text: 'set ' + called(node) + ' to ' + JSON.stringify(node.value)};
  }
  const form = {date: '2024-05-31', time: '14:30', 'datetime-local': '2024-05-31T14:30', month: '2024-05',
    week: '2024-W22', color: '#ff0000'}[node.type];
  return {wrong: 'does not take ' + JSON.stringify(text) + (form ? ': it takes a value such as ' + form
    : ', only ' + (node.min || '0') + ' to ' + (node.max || '100'))};
};

// Returns where the viewport of a frame begins in that of its parent, and the number of its element.
const frame = (refs, node) => {
  const box = node.getBoundingClientRect();
  if (!(box.width > 0 && box.height > 0) || getComputedStyle(node).visibility !== 'visible') return null;
  const style = getComputedStyle(node);
  const scale = box.width / node.offsetWidth;
  return [box.x + scale * (node.clientLeft + parseFloat(style.paddingLeft)),
    box.y + scale * (node.clientTop + parseFloat(style.paddingTop)), scale, refs.number(node)];
};
