"""The scripts that act on one node of a page."""

from __future__ import annotations

__all__ = ["CENTER", "SET_VALUE"]

CENTER = r"""async (refs, [number]) => {
  const node = refs.node(number);
  if (!node) return null;
  const box = () => node.getBoundingClientRect();
  const inside = at => at.top >= 0 && at.left >= 0 && at.bottom <= innerHeight && at.right <= innerWidth;
  if (!inside(box())) node.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
  const at = box();
  return [at.x + at.width / 2, at.y + at.height / 2];
}"""
"""Brings an element into view and returns its centre."""

SET_VALUE = r"""(refs, [number, wanted]) => {
  const node = refs.node(number);
  if (!node) return null;
  const notify = () => {
    for (const kind of ['input', 'change']) node.dispatchEvent(new Event(kind, {bubbles: true}));
  };
  if (node.disabled || node.readOnly) return 'it takes no value now';
  if (node.tagName === 'SELECT') {
    const option = [...node.options].find(each => each.value === String(wanted))
      || [...node.options].find(each => each.label.trim() === String(wanted).trim());
    if (!option) return 'it has no option ' + JSON.stringify(wanted);
    node.value = option.value;
    notify();
    return '';
  }
  if (node.type === 'checkbox' || node.type === 'radio') {
    const on = wanted === true || wanted === 'true' || wanted === 'on';
    if (node.checked !== on) node.click();
    return node.checked === on ? '' : 'it cannot be unchecked by itself';
  }
  if (node.isContentEditable) {
    node.focus();
    node.textContent = String(wanted);
    notify();
    return '';
  }
  const kind = node.tagName === 'TEXTAREA' ? HTMLTextAreaElement : HTMLInputElement;
  if (!(node instanceof kind) || node.type === 'file') return 'it is not a control that takes a value';
  node.focus();
  // frameworks replace the property of the node itself, and would not notice
  Object.getOwnPropertyDescriptor(kind.prototype, 'value').set.call(node, String(wanted));
  notify();
  return node.value === String(wanted) ? '' : 'it does not take ' + JSON.stringify(wanted);
}"""
"""Gives a control its value and returns what is wrong, or nothing."""
