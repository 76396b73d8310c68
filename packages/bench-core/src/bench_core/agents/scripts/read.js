// Returns, as JSON, the lines of a document, or of what is below `asked.element`, and the elements named in them.
//
// None where that element is gone. Every control is `[number] role "name" = "value" (states)`, in the line where it
// stands; `seen` says whether a line is on the screen, `frame` is the number of an element that holds another document.
// `asked` has `apart` (each control in a line of its own, with its row or item), `interactive` (controls and headings only), `links` (where they lead),
// `notices` (messages and dialogs that appeared since the last time), and the limits `lines`, `depth` and `elements`.
const read = (refs, asked) => {
  const KIDS = 'a[href],button,input,select,textarea,summary,[role=button],[role=link],[role=checkbox],[role=radio],'
    + '[role=switch],[role=tab],[role=menuitem],[role=option],[onclick],[contenteditable],[tabindex="0"]';
  const CONTROLS = new Set(('button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option '
    + 'treeitem textbox searchbox combobox slider spinbutton Date InputTime DateTime ColorWell '
    + 'DisclosureTriangle').split(' '));
  const WORDS = {generic: 'clickable', none: 'clickable', Date: 'date', InputTime: 'time', DateTime: 'date and time',
    ColorWell: 'colour', DisclosureTriangle: 'disclosure', LabelText: 'clickable', paragraph: 'clickable',
    listitem: 'clickable', cell: 'clickable', row: 'clickable', gridcell: 'cell', strong: 'clickable',
    emphasis: 'clickable', Canvas: 'canvas', Video: 'video'};
  const HEADED = new Set('navigation main dialog alertdialog search'.split(' '));
  const NAMED = new Set(('region form group radiogroup toolbar tablist menu menubar listbox tree grid treegrid table '
    + 'tabpanel complementary list article feed figure banner contentinfo log status alert').split(' '));
  const LEFT_OUT = /^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|HEAD|LINK|META|TITLE|DATALIST|OBJECT|EMBED|PARAM|SOURCE|TRACK)$/;
  // private-use characters are the glyphs of icon fonts
  const squash = words => words.replace(/[\s\u00a0\u00ad\u200b-\u200f\u2028-\u202f\ufeff\ue000-\uf8ff]+/g, ' ');
  const cut = (words, most) => words.length > most ? words.slice(0, most - 1) + '\u2026' : words;
  // a script can nest nodes deeper than the stack is
  const DEEPEST = 600;
  let below = 0;
  const lines = [], elements = [], notices = [];
  let now = '', lead = '', indent = 0, whence = null, joined = 0, gap = '', levels = 0, mute = asked.interactive ? 1 : 0;
  let full = false, unseen = false, quiet = false, done = null;

  // asked for once: each time, the browser would see to the layout first
  const wide = innerWidth, tall = innerHeight;
  const inView = box => box.top < tall && box.bottom > 0 && box.left < wide && box.right > 0
    && box.width > 0 && box.height > 0;
  const seen = node => {
    const box = (node.nodeType === 3 ? node.parentElement || node.getRootNode().host : node).getBoundingClientRect();
    if (node.nodeType !== 3 || !inView(box) || (box.top >= 0 && box.bottom <= tall)) return inView(box);
    const range = document.createRange();
    range.selectNodeContents(node);
    return inView(range.getBoundingClientRect());
  };
  const put = (rest, line) => {
    while (rest.length > 2000) {
      const end = rest.lastIndexOf(' ', 2000) + 1 || 2000;
      lines.push({...line, text: rest.slice(0, end)});
      rest = rest.slice(end);
    }
    lines.push({...line, text: rest});
  };
  const flush = () => {
    const words = lead ? now.trim() : now.trimEnd();
    now = '';
    gap = '';
    if (words && indent - (lead ? levels : 0) < asked.depth) {
      const mark = words[0] === '[' && lead === '- ' ? '' : lead;
      put(mark + words, {indent: lead ? indent - levels : indent,
        seen: typeof whence === 'boolean' ? whence : whence !== null && seen(whence)});
      lead = '';
      levels = 0;
    }
    whence = null;
  };
  const part = () => { if (joined) gap = '; '; else flush(); };
  const say = (words, node) => {
    if (gap && words.trim()) {
      if (now.trim() && !/[|;:] *$/.test(now)) now = now.trimEnd() + gap;
      gap = '';
    }
    if (!now || now.endsWith(' ')) words = words.trimStart();
    if (!words) return;
    if (/^[.,;:!?)]/.test(words)) now = now.trimEnd();
    if (whence === null) whence = node;
    now += words;
  };
  const word = (words, node) => say(' ' + words + ' ', node);

  const shown = node => node.checkVisibility ? node.checkVisibility() : getComputedStyle(node).display !== 'none';
  const root = node => node.getRootNode();
  const kids = node => node.shadowRoot ? node.shadowRoot.childNodes
    : node.tagName === 'SLOT' && node.assignedNodes().length ? node.assignedNodes() : node.childNodes;
  const graphic = node => squash([node.getAttribute('aria-label') || '',
    ...[...node.querySelectorAll('title,text')].map(each => each.textContent)].join(' ')).trim();

  const FIELD = /^(INPUT|SELECT|TEXTAREA)$/;
  // what the style sheet writes into an empty element
  const drawn = node => FIELD.test(node.tagName) ? '' : ['::before', '::after'].map(which => {
    const [, words, , instead] = /^((?:"(?:[^"\\]|\\.)*" ?)+)(\/ (.*))?$/.exec(getComputedStyle(node, which).content) || [];
    return (instead || words || '').replace(/"((?:[^"\\]|\\.)*)" ?/g, '$1').replace(/\\(.)/g, '$1');
  }).join(' ');
  // the words of what is below a node, as its name has them
  const flat = (node, most = 400) => {
    if (!node.firstChild && !node.shadowRoot) return squash(drawn(node)).trim();
    if (!node.childElementCount && !node.shadowRoot) return squash(node.textContent.slice(0, 20 * most)).trim();
    let found = '';
    const add = (each, below = 0) => {
      if (found.length > most || below > DEEPEST) return;
      if (each.nodeType === 3) { found += each.data; return; }
      if (each.nodeType !== 1 || LEFT_OUT.test(each.tagName)) return;
      const tag = each.tagName;
      if (tag === 'BR') { found += ' '; return; }
      const display = getComputedStyle(each).display;
      if (display === 'none') return;
      if (each !== node && each.getAttribute('aria-hidden') === 'true') return;
      const label = each !== node && each.getAttribute('aria-label');
      if (label) { found += ' ' + label + ' '; return; }
      if (tag === 'IMG') { found += ' ' + (each.alt || '') + ' '; return; }
      if (tag === 'svg') { found += ' ' + graphic(each) + ' '; return; }
      if (/^(INPUT|SELECT|TEXTAREA)$/.test(tag)) return;
      const block = !/^(inline|contents)/.test(display);
      if (block) found += ' ';
      for (const child of kids(each)) add(child, below + 1);
      if (block) found += ' ';
    };
    add(node);
    return squash(found).trim();
  };
  const byId = (node, ids) => ids.split(/\s+/).map(id => root(node).getElementById ? root(node).getElementById(id) : null)
    .map(each => each ? flat(each) || squash(each.textContent) : '').join(' ').trim();
  const labelOf = node => {
    const ids = node.getAttribute('aria-labelledby');
    return (ids && byId(node, ids)) || (node.getAttribute('aria-label') || '').trim();
  };
  const nameOf = (node, content) => {
    const field = FIELD.test(node.tagName);
    const given = labelOf(node)
      || (node.labels && [...node.labels].map(each => flat(each)).join(' ').trim())
      || (node.tagName === 'INPUT' && (/^(button|submit|reset)$/.test(node.type)
        && (node.value || {submit: 'Submit', reset: 'Reset'}[node.type]) || node.alt))
      || (content && !field && !node.isContentEditable && content) || node.alt
      || node.placeholder || node.getAttribute('aria-placeholder') || node.title || (field && node.name) || '';
    return squash(String(given)).trim();
  };
  const tick = (node, native) => {
    const aria = node.getAttribute('aria-checked');
    if (node.indeterminate || aria === 'mixed') return 'mixed';
    return (native ? node.checked : aria === 'true') ? 'checked' : 'unchecked';
  };
  const POPUPS = {menu: 'opens a menu', true: 'opens a menu', dialog: 'opens a dialog', listbox: 'opens a list',
    tree: 'opens a tree', grid: 'opens a grid'};
  const statesOf = (node, kind) => {
    const found = [];
    const some = node.getAttributeNames().some(name => name.startsWith('aria-'));
    const aria = name => some ? node.getAttribute('aria-' + name) : null;
    if (/^(checkbox|radio|switch|menuitemcheckbox|menuitemradio)$/.test(kind)) {
      found.push(tick(node, node.tagName === 'INPUT'));
    }
    const pressed = aria('pressed');
    if (pressed) found.push({true: 'pressed', mixed: 'partly pressed'}[pressed] || 'not pressed');
    if (aria('selected') === 'true') found.push('selected');
    const details = node.tagName === 'SUMMARY' && node.parentElement;
    const expanded = details && details.tagName === 'DETAILS' ? String(details.open) : aria('expanded');
    if (expanded) found.push(expanded === 'true' ? 'expanded' : 'collapsed');
    if (aria('current') && aria('current') !== 'false') found.push('current');
    if (aria('disabled') === 'true' || node.matches(':disabled')) found.push('disabled');
    if (node.required || aria('required') === 'true') found.push('required');
    if (node.readOnly || aria('readonly') === 'true') found.push('readonly');
    if (aria('invalid') && aria('invalid') !== 'false') found.push('invalid');
    else if (node.validationMessage && node.matches(':user-invalid')) found.push('invalid: ' + node.validationMessage);
    if (root(node).activeElement === node && node !== document.body) found.push('focused');
    const popup = node.tagName !== 'SELECT' && aria('haspopup');
    if (POPUPS[popup]) found.push(POPUPS[popup]);
    if (aria('sort') && aria('sort') !== 'none') found.push(aria('sort'));
    if (node.tagName === 'SELECT' && node.multiple) found.push('several allowed');
    return found;
  };
  const valueOf = (node, kind) => {
    const tag = node.tagName;
    if (tag === 'SELECT') return [...node.selectedOptions].map(each => squash(each.label).trim()).join(', ');
    if (tag === 'INPUT') {
      if (/^(checkbox|radio|button|submit|reset|image|hidden)$/.test(node.type)) return null;
      if (node.type === 'password') return node.value ? '(hidden)' : '';
      if (node.type === 'file') return [...node.files].map(each => each.name).join(', ');
      return node.value;
    }
    if (tag === 'TEXTAREA') return node.value;
    if (node.isContentEditable || /^(textbox|searchbox|combobox)$/.test(kind)) return flat(node);
    if (/^(slider|spinbutton|progressbar|meter|scrollbar)$/.test(kind)) {
      return node.getAttribute('aria-valuetext') || node.getAttribute('aria-valuenow')
        || (node.hasAttribute('value') ? String(node.value) : null);
    }
    return null;
  };
  const MOST_OPTIONS = asked.element ? 1000 : 40;

  // where a control stands that is read without what is around it: its row by another cell, its item by its words
  const among = (node, name) => {
    const row = node.closest('tr,[role=row]');
    const cell = row && !row.closest('thead') && [...row.children].find(each => !each.contains(node)
      && !each.querySelector('input,select,textarea,button') && flat(each, 60));
    if (cell) return ' in the row "' + cut(flat(cell, 60), 60) + '"';
    const item = node.closest('li,[role=listitem],article');
    const words = item && !item.querySelector('li') ? flat(item, 60) : '';
    return words && words !== name ? ' in the item "' + cut(words, 60) + '"' : '';
  };

  // put a control into the text and among the elements
  const control = (node, kind, leaf, content) => {
    const name = nameOf(node, content);
    const value = valueOf(node, kind);
    const states = statesOf(node, kind);
    const options = node.tagName === 'SELECT' ? [...node.options].map(each => squash(each.label).trim())
      : node.list ? [...node.list.options].map(each => each.value) : [];
    const box = node.getBoundingClientRect();
    const onScreen = inView(box);
    const id = String(refs.number(node));
    if (elements.length < asked.elements) {
      elements.push({
        id, role: kind, name: cut(name, 200), value: value === null ? null : cut(value, 1000), states,
        options: options.slice(0, 200).map(each => cut(each, 100)),
        rect: onScreen ? [box.x, box.y, box.width, box.height] : null,
      });
    }
    let text = '[' + id + '] ' + (WORDS[kind] === 'clickable' && node.isContentEditable ? 'textbox' : WORDS[kind] || kind);
    if (name) text += ' "' + cut(name, 400) + '"';
    const several = node.tagName === 'TEXTAREA' && !joined && !asked.interactive
      && (value.length > 400 || value.trim().includes('\n')) ? value.split('\n') : [];
    if (value && !several.length) text += ' = "' + cut(squash(value).trim(), 400) + '"';
    const hint = node.placeholder || node.getAttribute('aria-placeholder');
    if (!value && hint && hint !== name) text += ' placeholder "' + cut(squash(hint), 100) + '"';
    if (content && !FIELD.test(node.tagName) && value === null
      && !name.toLowerCase().includes(content.toLowerCase())) {
      text += ' showing "' + cut(content, 400) + '"';
    }
    if (node.type === 'range' || node.type === 'number') {
      const ends = [node.min, node.max].filter(each => each !== '');
      if (ends.length) states.push(node.min === '' ? 'at most ' + node.max
        : node.max === '' ? 'at least ' + node.min : node.min + ' to ' + node.max);
    }
    if (states.length) text += ' (' + states.join(', ') + ')';
    if (options.length) {
      const some = options.slice(0, MOST_OPTIONS);
      text += ' options: ' + some.map(each => cut(each, 100)).join(' | ');
      if (options.length > some.length) text += ' | and ' + (options.length - some.length) + ' more: read_page ' + id;
    }
    if (asked.links && node.tagName === 'A' && node.href) {
      const there = node.href.startsWith(location.origin + '/') ? node.href.slice(location.origin.length) : node.href;
      text += ' -> ' + cut(there, 300);
    }
    const whole = joined && !asked.interactive;
    if (asked.apart && !whole) text += among(node, name);
    if (!leaf || several.length) text += ':';
    if (!whole && (asked.apart || now.length > 160)) flush();
    word(text, onScreen);
    if (!whole && asked.apart || several.length) flush();
    for (const [number, line] of several.entries()) {
      if (lines.length > asked.lines) { full = true; break; }
      const top = box.top - node.scrollTop + node.scrollHeight * number / several.length;
      put(line, {indent: indent + 1, seen: top >= Math.max(box.top, 0) && top < Math.min(box.bottom, innerHeight)});
    }
  };

  const actsOf = (node, kind, style, above) => {
    // a form's properties give way to its fields of their names; what acts are the fields
    if (node.tagName === 'FORM') return false;
    if (CONTROLS.has(kind)) return node.tagName !== 'INPUT' || node.type !== 'hidden';
    if (kind === 'listbox') return node.tagName === 'SELECT';
    if (node.tagName === 'LABEL') {
      const held = node.control;
      return Boolean(held && /^(checkbox|radio|file)$/.test(held.type) && !visibleField(held));
    }
    if (node.hasAttribute('onclick') || node.onclick || (node.hasAttribute('contenteditable') && node.isContentEditable)) {
      return node !== document.body;
    }
    if (node.hasAttribute('tabindex') && node.tabIndex >= 0) return true;
    return above !== 'pointer' && style.cursor === 'pointer' && node !== document.body && !node.control;
  };
  const visibleField = node => {
    if (!shown(node)) return false;
    const box = node.getBoundingClientRect();
    return box.width > 1 && box.height > 1;
  };

  const children = (node, above) => {
    if (!node.firstChild && !node.shadowRoot && !mute && !unseen && !quiet) say(squash(drawn(node)), node);
    const folded = node.tagName === 'DETAILS' && !node.open;
    const inside = kids(node);
    if (inside !== node.childNodes || folded) {
      for (const child of inside) if (!folded || child.tagName === 'SUMMARY') walk(child, above);
      return;
    }
    // a list of children is slow to step through
    for (let child = node.firstChild; child; child = child.nextSibling) walk(child, above);
  };
  // children of a flex row or grid that make one line each stand in one line where they stand side by side
  const abreast = (node, above) => {
    let open = -1, end = null;
    for (const child of kids(node)) {
      flush();
      const first = lines.length;
      walk(child, above);
      flush();
      if (lines.length === first) continue;
      const box = child.nodeType === 1 ? child.getBoundingClientRect() : null;
      const beside = open >= 0 && box && end && lines.length === first + 1
        && box.top < end.bottom - 2 && box.bottom > end.top + 2 && !/^(- |#|\| )/.test(lines[first].text)
        && lines[first].indent === lines[open].indent
        && lines[open].text.length + lines[first].text.length < 240;
      if (beside && !asked.apart) {
        const more = lines.pop();
        lines[open].text += (more.text[0] === '[' ? ' ' : ' \u00b7 ') + more.text;
        lines[open].seen = lines[open].seen || more.seen;
      } else {
        open = lines.length === first + 1 ? first : -1;
      }
      end = box;
    }
  };
  const rowOf = (node, above) => {
    if (!lead) part();
    const outer = joined;
    joined += 1;
    let cells = 0;
    for (const cell of kids(node)) {
      if (cell.nodeType !== 1 || !shown(cell)) { if (cell.nodeType === 3) walk(cell, above); continue; }
      if (cells && !asked.interactive) { now = now.trimEnd() + (now ? ' ' : '') + '|'; gap = ''; now += ' '; } else if (!outer && !now && !asked.interactive) lead = '| ';
      cells += 1;
      walk(cell, above);
    }
    joined = outer;
    part();
  };

  const walk = (node, above) => {
    if (node.nodeType === 3) {
      if (mute || unseen || quiet || !node.data) return;
      if (!joined && /\S[^\S\n]*\n[^\S\n]*\S/.test(node.data) && /^pre/.test(getComputedStyle(node.parentElement || document.body).whiteSpace)) {
        for (const [number, line] of node.data.split('\n').entries()) {
          if (number) flush();
          if (now || line.trim()) { now += line; if (whence === null) whence = node; }
        }
      } else say(squash(node.data), node);
      return;
    }
    if (node.nodeType !== 1 || node === done) return;
    if (lines.length > asked.lines || below > DEEPEST) { full = true; return; }
    const tag = node.tagName;
    if (LEFT_OUT.test(tag)) return;
    if (tag === 'BR') { part(); return; }
    const style = getComputedStyle(node);
    const display = style.display;
    if (display === 'none') return;
    const unseenBefore = unseen, quietBefore = quiet;
    unseen = style.visibility !== 'visible';
    quiet = quiet || node.getAttribute('aria-hidden') === 'true';
    below += 1;
    if (unseen) children(node, above); else element(node, tag, style, display, above);
    below -= 1;
    unseen = unseenBefore;
    quiet = quietBefore;
  };

  const remark = node => {
    const said = squash(node.getAttribute('aria-label') || node.getAttribute('title') || '').trim();
    if (said && !quiet && !mute && !flat(node).includes(said)) word('(' + cut(said, 200) + ')', node);
  };
  const element = (node, tag, style, display, above) => {
    const kind = role(node);
    const block = !/^(inline|contents|ruby)/.test(display);
    if (tag === 'svg') {
      const label = graphic(node);
      if (label && !quiet && !mute) word(node.querySelector('text') ? label : 'image "' + cut(label, 200) + '"', node);
      return;
    }
    if (tag === 'IFRAME') {
      flush();
      const box = node.getBoundingClientRect();
      lines.push({text: 'frame' + (nameOf(node, '') ? ' "' + cut(nameOf(node, ''), 100) + '"' : '') + ':', indent,
        seen: inView(box), frame: refs.number(node)});
      return;
    }
    if (actsOf(node, kind, style, above)) {
      const field = FIELD.test(tag);
      if (tag === 'LABEL' && !CONTROLS.has(kind)) {
        stand(node);
        return;
      }
      if (tag === 'INPUT' && /^(checkbox|radio|file)$/.test(node.type) && !visibleField(node)
        && node.labels && [...node.labels].some(shown)) return;
      const editing = node.isContentEditable || /^(textbox|searchbox)$/.test(kind);
      const nested = kind === 'row' || (!field && !editing && (node.shadowRoot || (node.childElementCount && node.querySelector(KIDS))));
      const content = field ? '' : flat(node);
      const leaf = field || editing || (!nested && content.length <= 300);
      if (block) part();
      if (leaf) {
        const heading = !now.trim() && !lead && node.childElementCount && node.querySelector('h1,h2,h3,h4,h5,h6');
        if (heading) lead = '#'.repeat(Number(heading.tagName[1])) + ' ';
        control(node, kind, true, content);
      } else {
        if (kind === 'row' && !joined) lead = '| ';
        control(node, kind, false, '');
        if (kind === 'row') rowOf(node, style.cursor); else inner(node, style, display);
      }
      if (block) part();
      return;
    }
    if (tag === 'IMG' || kind === 'image') {
      const label = labelOf(node) || node.alt || node.title;
      if (label && !quiet && !mute) word('image "' + cut(squash(label).trim(), 200) + '"', node);
      return;
    }
    if (tag === 'CANVAS' || tag === 'VIDEO' || tag === 'AUDIO') {
      if (!mute) word(tag.toLowerCase() + (nameOf(node, flat(node)) ? ' "' + nameOf(node, flat(node)) + '"' : ''), node);
      return;
    }
    if (kind === 'progressbar' || kind === 'meter') {
      const many = valueOf(node, kind);
      if (!mute) word(kind + (nameOf(node, '') ? ' "' + nameOf(node, '') + '"' : '') + (many === null ? '' : ' = ' + many
        + (node.max && node.hasAttribute('max') ? ' of ' + node.max : '')), node);
      return;
    }
    if (block) part();
    if (kind === 'heading') {
      const level = Number(node.getAttribute('aria-level') || tag[1]) || 2;
      if (!joined && !now) lead = '#'.repeat(Math.min(6, level)) + ' ';
      const told = asked.interactive && mute === 1 && !joined;
      if (told) mute = 0;
      inner(node, style, display);
      if (told) { flush(); mute = 1; }
      if (block) part();
      return;
    }
    if (tag === 'LABEL' && node.control && visibleField(node.control)
      && nameOf(node.control, '').includes(flat(node))) {
      mute += 1;
      children(node, style.cursor);
      mute -= 1;
      remark(node);
      if (block) part();
      return;
    }
    if (tag === 'LEGEND' && !mute) {
      const group = node.parentElement;
      if (group && group.tagName === 'FIELDSET' && !labelOf(group) && !node.querySelector(KIDS)) return;
    }
    if (tag === 'CAPTION' && !node.querySelector(KIDS)) return;
    if (kind === 'listitem' && !joined) {
      flush();
      const list = node.parentElement;
      lead = tag === 'LI' && list && list.tagName === 'OL' && style.listStyleType !== 'none' ? node.value
        || [...list.children].indexOf(node) + (list.start || 1) : '';
      lead = lead ? lead + '. ' : '- ';
      indent += 1; levels += 1;
      children(node, style.cursor);
      flush();
      if (lead) { lead = ''; levels = 0; }
      indent -= 1;
      return;
    }
    if (kind === 'row') {
      const layout = node.closest('table') && node.querySelector('table');
      if (layout) children(node, style.cursor); else rowOf(node, style.cursor);
      return;
    }
    const legend = tag === 'FIELDSET' && [...node.children].find(each => each.tagName === 'LEGEND');
    const caption = tag === 'TABLE' && node.caption;
    const title = block && (HEADED.has(kind) || NAMED.has(kind))
      ? labelOf(node) || (legend ? flat(legend) : '') || (caption ? flat(caption) : '') || '' : '';
    if (block && !quiet && !mute && !joined && (HEADED.has(kind) || title)) {
      lines.push({text: kind + (title ? ' "' + cut(squash(title), 200) + '"' : '') + ':', indent, seen: seen(node)});
      indent += 1;
      inner(node, style, display);
      flush();
      indent -= 1;
      return;
    }
    const scrolls = block && !joined && !mute && node.clientHeight > 60 && /auto|scroll/.test(style.overflowY);
    const rest = scrolls && node !== document.body ? node.scrollHeight - node.clientHeight : 0;
    if (rest > 20) {
      flush();
      const above = Math.round(node.scrollTop);
      lines.push({text: '[' + refs.number(node) + '] area that scrolls: ' + above + ' px above, '
        + Math.max(0, rest - above) + ' px below', indent, seen: seen(node)});
    }
    inner(node, style, display);
    if (!node.hasAttributes()) { if (block) part(); return; }
    if (!title) remark(node);
    if (node.getAttribute('aria-selected') === 'true' && !mute) word('(selected)', node);
    const sort = node.getAttribute('aria-sort');
    if (sort && sort !== 'none' && !mute) word('(' + sort + ')', node);
    if (block) part();
  };
  const inner = (node, style, display) => {
    const row = display.endsWith('flex') ? !style.flexDirection.startsWith('column') : display.endsWith('grid');
    if (row && !joined && node.childElementCount > 1) abreast(node, style.cursor);
    else children(node, style.cursor);
  };
  // a label that stands for a control that itself cannot be seen
  const stand = node => {
    const held = node.control;
    const kind = role(held);
    const box = node.getBoundingClientRect();
    const id = String(refs.number(node));
    const states = statesOf(held, kind);
    const name = nameOf(held, '');
    if (elements.length < asked.elements) {
      elements.push({id, role: kind, name: cut(name, 200), value: null, states, options: [],
        rect: inView(box) ? [box.x, box.y, box.width, box.height] : null});
    }
    word('[' + id + '] ' + kind + ' "' + cut(name, 400) + '"' + (states.length ? ' (' + states.join(', ') + ')' : ''), node);
  };

  if (asked.notices) {
    // on the first look only alerts are new: what else is there has been there all the time
    const first = !refs.live;
    refs.live = refs.live || new WeakMap();
    const fresh = new Set();
    for (const node of document.querySelectorAll(
      '[role=alert],[role=status],[role=log],[role=dialog],[role=alertdialog],[aria-live],output,dialog')) {
      if (!shown(node) || getComputedStyle(node).visibility !== 'visible' || node.ariaLive === 'off') {
        refs.live.delete(node);
        continue;
      }
      const kind = role(node);
      const dialog = /dialog$/.test(kind);
      const words = dialog ? labelOf(node) || flat(node, 100) : flat(node, 300);
      const before = refs.live.get(node);
      refs.live.set(node, words);
      if (!words || words === before || (dialog && before !== undefined)) continue;
      if (first && !dialog && kind !== 'alert' && node.ariaLive !== 'assertive') continue;
      const said = before && words.startsWith(before) ? words.slice(before.length).trim() : words;
      fresh.add((dialog ? 'A dialog is open: ' : 'The page says: ') + cut(said, 300));
    }
    notices.push(...[...fresh].slice(0, 10));
  }
  const top = asked.element ? refs.node(asked.element) : document.body;
  if (asked.element && !top) return null;
  if (top) {
    const modal = asked.element ? [] : [...document.querySelectorAll('dialog,[aria-modal=true]')]
      .filter(each => (each.matches(':modal') || each.ariaModal === 'true') && shown(each)
        && getComputedStyle(each).visibility === 'visible').slice(-1);
    for (const each of modal) walk(each, '');
    flush();
    if (modal.length && lines.length) {
      done = modal[0];
      lines.push({text: 'behind the dialog:', indent: 0, seen: false});
    }
    walk(top, '');
    flush();
  }
  const height = document.documentElement.scrollHeight;
  // as one text: Playwright's own way with thousands of objects takes several times as long. Old libraries give
  // prototypes a `toJSON` that writes something else.
  const changed = [Array, String, Object].map(each => [each.prototype, each.prototype.toJSON]).filter(each => each[1]);
  for (const [prototype] of changed) delete prototype.toJSON;
  const written = JSON.stringify({
    lines: lines.map(each => ' '.repeat(Math.min(each.indent, 12)) + each.text),
    seen: lines.map(each => each.seen ? 1 : 0).join(''),
    frames: lines.flatMap((each, at) => each.frame ? [[at, each.frame]] : []), elements, notices, full, above: Math.round(scrollY),
    below: Math.max(0, Math.round(height - innerHeight - scrollY)),
  });
  for (const [prototype, own] of changed) prototype.toJSON = own;
  return written;
};
