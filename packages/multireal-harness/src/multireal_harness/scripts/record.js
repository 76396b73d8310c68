// An agent may evaluate code in this world, too: it finds nothing there to call, and what it replaces after
// the start is not used. A built-in app is in `#app`; buttons and fields elsewhere are someone else's.
(() => {
  const name = Object.getOwnPropertyNames(globalThis).find((each) => /^PREFIX[0-9a-f]{16}$/.test(each));
  const report = globalThis[name], { origin } = location, detailed = DETAILED.includes(origin);
  if (typeof report !== 'function') return;
  delete globalThis[name];
  const { apply } = Reflect, { stringify } = JSON, { path, closest } =
    { path: Event.prototype.composedPath, closest: Element.prototype.closest };
  const getter = (owner, key) => Object.getOwnPropertyDescriptor(owner.prototype, key).get;
  const type = getter(Event, 'type'), text = getter(Node, 'textContent');
  const inputName = getter(HTMLInputElement, 'name'), inputValue = getter(HTMLInputElement, 'value');
  const areaName = getter(HTMLTextAreaElement, 'name'), areaValue = getter(HTMLTextAreaElement, 'value');
  const attempt = (read) => { try { return read(); } catch { return undefined; } };
  const field = (at) => attempt(() => ({ __proto__: null, name: apply(inputName, at, []), value: apply(inputValue, at, []) }))
    ?? attempt(() => ({ __proto__: null, name: apply(areaName, at, []), value: apply(areaValue, at, []) }));
  const about = (event, kind) => {
    const at = apply(path, event, [])[0];
    if (!detailed || !attempt(() => apply(closest, at, ['#app']))) return {};
    if (kind === 'click') {
      const button = apply(closest, at, ['button']);
      return { label: button === null ? undefined : apply(text, button, []).slice(0, 200) };
    }
    const written = kind === 'input' ? field(at) : undefined;
    return written ? { name: written.name, value: written.value.slice(0, TYPED) } : {};
  };
  const record = (event) => {
    const kind = apply(type, event, []), { label, name, value } = about(event, kind);
    report(stringify({ __proto__: null, origin, trusted: event.isTrusted, label, name, value }));
  };
  for (const kind of KINDS) addEventListener(kind, record, true);
})()
