// The role of an element as Chromium computes it, from a table of tags and types: Chromium's own tree is complete, but
// takes ten to twenty-five times as long.
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
const focusable = node => node.tabIndex >= 0 || node.hasAttribute('tabindex') || node.isContentEditable;
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
