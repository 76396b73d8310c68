// Eight tasks check a contact form that was filled in but not sent, by a request that a script of older
// images makes. Browsers refuse port 6666: the request is recorded with status -1, and goes nowhere.
// browser-use types key by key, about 86 requests for one message, of which the evaluator reads the last.
if (ORIGINS.includes(location.origin)) {
  const report = (form) => {
    const body = {form_id: 'contact-form'};
    for (const each of form.querySelectorAll('input:not([type=hidden]), textarea'))
      if (each.name) body[each.name] = each.value;
    fetch(`http://${location.hostname}:6666/dummy_bin`, {
      method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(body),
    }).catch(() => {});
  };
  document.addEventListener('input', (event) => {
    const form = event.target.closest?.('#contact-form, form.contact');
    if (form) report(form);
  });
}
