// Fill the form with the events of typing, so that scripts of the page see them, and submit it: once, however
// often this is evaluated, and after the result is returned, which would be lost with the page.
// `requestSubmit` runs the page's own handlers, which `submit` does not; by its button's name a page may tell what
// was asked of it, and a button that is not given is not sent.
(() => {
  if (window.proctorWasHere) return 'sent';
  if (document.readyState !== 'complete') return null;  // a form that is still loading lacks its token
  const password = document.querySelector('input[type=password]');
  if (!password?.form) return 'no form';
  const fields = [...password.form.elements].filter(
    each => each.tagName === 'INPUT' && ['text', 'email', ''].includes(each.type));
  const put = (field, value) => {
    field.focus();
    field.value = value;
    for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, {bubbles: true}));
  };
  if (fields.length) put(fields.at(-1), USER);
  put(password, PASSWORD);
  window.proctorWasHere = true;
  const button = [...password.form.elements].find(each => each.type === 'submit');
  setTimeout(() => password.form.requestSubmit(button), 0);
  return 'sent';
})()
