"""The scripts that read a page: elements in view with ARIA roles, an outline, what matches words.

Roles are those Chromium computes, from a table of tags and types: its own tree is complete, but takes ten to
twenty-five times as long as this walk.
"""

from __future__ import annotations

__all__ = ["ELEMENTS", "FIND", "OUTLINE"]

_NAMING = r"""
  const TAGS = {A: 'link', BUTTON: 'button', TEXTAREA: 'textbox', OPTION: 'option', H1: 'heading',
    H2: 'heading', H3: 'heading', H4: 'heading', H5: 'heading', H6: 'heading', IMG: 'image', LI: 'listitem',
    UL: 'list', OL: 'list', NAV: 'navigation', MAIN: 'main', ARTICLE: 'article', ASIDE: 'complementary',
    P: 'paragraph', FORM: 'form', FIELDSET: 'group', PROGRESS: 'progressbar', METER: 'meter',
    OUTPUT: 'status', TABLE: 'table', TR: 'row', TD: 'cell', TH: 'columnheader', HR: 'separator',
    IFRAME: 'Iframe', CANVAS: 'Canvas', VIDEO: 'Video', LABEL: 'LabelText', DIALOG: 'dialog',
    FIGURE: 'figure', HEADER: 'banner', FOOTER: 'contentinfo', BLOCKQUOTE: 'blockquote', CODE: 'code',
    EM: 'emphasis', STRONG: 'strong', TIME: 'time', DT: 'term', DD: 'definition', ADDRESS: 'group'};
  const TYPES = {button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button',
    search: 'searchbox', number: 'spinbutton', range: 'slider', checkbox: 'checkbox', radio: 'radio',
    date: 'Date', time: 'InputTime', 'datetime-local': 'DateTime', month: 'DateTime', week: 'DateTime',
    color: 'ColorWell'};
  const KNOWN = new Set(('alert alertdialog application article banner blockquote button caption cell '
    + 'checkbox code columnheader combobox complementary contentinfo definition deletion dialog directory '
    + 'document emphasis feed figure form generic grid gridcell group heading image img insertion link list '
    + 'listbox listitem log main marquee math menu menubar menuitem menuitemcheckbox menuitemradio meter '
    + 'navigation none note option paragraph presentation progressbar radio radiogroup region row rowgroup '
    + 'rowheader scrollbar search searchbox separator slider spinbutton status strong subscript '
    + 'superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid '
    + 'treeitem').split(' '));
  const SYNONYMS = {img: 'image', directory: 'list', presentation: 'none'};
  const focusable = node => node.tabIndex >= 0 || node.isContentEditable;
  const given = node => {
    const words = node.getAttribute('role');
    if (!words) return '';
    const first = words.toLowerCase().split(/\s+/).find(word => KNOWN.has(word)) || '';
    // what can have the focus is never presentational
    if ((first === 'none' || first === 'presentation') && focusable(node)) return '';
    return SYNONYMS[first] || first;
  };
  const role = node => {
    const own = given(node);
    if (own) return own;
    const tag = node.tagName;
    if (tag === 'INPUT') {
      if (node.list && (TYPES[node.type] || 'searchbox') === 'searchbox') return 'combobox';
      return TYPES[node.type] || 'textbox';
    }
    if (tag === 'SELECT') return node.multiple || node.size > 1 ? 'listbox' : 'combobox';
    if (tag === 'SUMMARY') return node.parentElement.tagName === 'DETAILS' ? 'DisclosureTriangle' : 'generic';
    if (tag === 'A' && !node.hasAttribute('href') && !node.hasAttribute('onclick')) return 'generic';
    return TAGS[tag] || 'generic';
  };
  const name = node => {
    const ids = node.getAttribute('aria-labelledby');
    const labelled = ids && ids.split(/\s+/).map(id => document.getElementById(id))
      .map(each => each ? each.innerText : '').join(' ').trim();
    const tag = node.tagName;
    const label = labelled || node.getAttribute('aria-label')
      || (node.labels && node.labels[0] && node.labels[0].innerText)
      || (tag === 'INPUT' && (/^(button|submit|reset)$/.test(node.type) && node.value || node.alt))
      || (tag === 'SELECT' ? '' : node.innerText) || node.alt || node.placeholder || node.title
      || node.name || '';
    return String(label).trim().slice(0, 200);
  };
  const secret = node => node.type === 'password';
  const value = node => 'value' in node && !secret(node) && node.tagName !== 'LI'
    ? String(node.value).slice(0, 200) : null;
  const INTERACTIVE = 'a[href],button,input,select,textarea,summary,[role],[onclick],[contenteditable],'
    + '[tabindex]';
"""

ELEMENTS = (
    "refs => {"
    + _NAMING
    + r"""
  const wanted = 'a[href],button,input,select,textarea,summary,[role],[onclick],[contenteditable]';
  const seen = [];
  for (const node of document.querySelectorAll(wanted)) {
    const box = node.getBoundingClientRect();
    if (!(box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight
      && box.left < innerWidth) || node.type === 'hidden') continue;
    if (getComputedStyle(node).visibility === 'hidden') continue;
    seen.push({
      id: String(refs.number(node)), role: role(node), name: name(node), value: value(node),
      rect: [box.x, box.y, box.width, box.height],
    });
    if (seen.length >= 500) break;
  }
  return seen;
}"""
)
"""Returns the elements in view that can be acted on."""

_REF = r"""
  const ref = node => 'ref_' + refs.number(node);
  const shown = node => {
    const style = getComputedStyle(node);
    return style.display !== 'none' && style.visibility !== 'hidden' && node.type !== 'hidden';
  };
"""

OUTLINE = (
    "(refs, asked) => {"
    + _NAMING
    + _REF
    + r"""
  const lines = [];
  let length = 0;
  const QUIET = new Set(['generic', 'none', 'paragraph', 'strong', 'emphasis', 'LabelText']);
  const own = node => [...node.childNodes].filter(each => each.nodeType === 3)
    .map(each => each.textContent).join(' ').replace(/\s+/g, ' ').trim();
  const walk = (node, depth) => {
    if (node.nodeType !== 1 || length > asked.most || depth > asked.depth) return;
    if (/^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|HEAD)$/.test(node.tagName) || !shown(node)) return;
    const kind = role(node);
    const acts = node.matches(INTERACTIVE) && kind !== 'none';
    const says = own(node);
    let below = depth;
    if (acts || (!asked.interactive && (!QUIET.has(kind) || says))) {
      const called = acts || kind === 'heading' || kind === 'image' ? name(node) : says.slice(0, 200);
      const has = value(node);
      const line = ' '.repeat(depth) + kind + (called ? ' ' + JSON.stringify(called) : '')
        + ' [' + ref(node) + ']' + (has && has !== called ? ' value=' + JSON.stringify(has) : '')
        + (node.checked ? ' checked' : '') + (node.disabled ? ' disabled' : '')
        + (node.tagName === 'A' && node.href ? ' href=' + JSON.stringify(node.href.slice(0, 200)) : '');
      lines.push(line);
      length += line.length + 1;
      below = depth + 1;
    }
    if (node.tagName === 'SELECT' && !asked.interactive) {
      for (const each of [...node.options].slice(0, 100)) walk(each, below);
    } else {
      for (const child of node.children) walk(child, below);
      if (node.shadowRoot) for (const child of node.shadowRoot.children) walk(child, below);
    }
  };
  const top = asked.number ? refs.node(asked.number) : document.body;
  if (!top) return null;
  walk(top, 0);
  return lines.join('\n').slice(0, asked.most);
}"""
)
"""Returns the page as an outline, None where the element it was asked for is gone."""

FIND = (
    "(refs, asked) => {"
    + _NAMING
    + _REF
    + r"""
  const words = asked.query.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
  const scored = [];
  for (const node of document.body ? document.body.querySelectorAll('*') : []) {
    if (!shown(node) || !node.getClientRects().length) continue;
    const acts = node.matches(INTERACTIVE);
    if (!acts && node.children.length) continue;
    const kind = role(node);
    const called = name(node);
    const text = (kind + ' ' + called + ' ' + (node.placeholder || '') + ' ' + (node.title || '') + ' '
      + (value(node) || '')).toLowerCase();
    const hits = words.filter(word => text.includes(word)).length;
    if (hits) scored.push([hits + (acts ? 0.5 : 0), node, kind, called]);
  }
  scored.sort((a, b) => b[0] - a[0]);
  const best = scored.length ? Math.floor(scored[0][0]) : 0;
  return scored.filter(each => Math.floor(each[0]) === best).slice(0, asked.most)
    .map(([, node, kind, called]) => kind + ' ' + JSON.stringify(called) + ' [' + ref(node) + ']').join('\n');
}"""
)
"""Returns the elements that have the most of the words, best first."""
