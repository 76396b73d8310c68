// Postmill sends votes and subscriptions by script, without leaving the page.
const token = document.querySelector('[name=_csrf_token]')?.value ?? '';
document.addEventListener('click', async (event) => {
  const button = event.target.closest('button[data-url]');
  if (!button) return;
  const body = new FormData();
  if (button.dataset.choice) body.set('choice', button.dataset.choice);
  body.set('token', token);
  const answer = await fetch(button.dataset.url, {method: 'POST', body});
  const state = await answer.json();
  if ('subscribed' in state) button.textContent = state.subscribed ? 'Unsubscribe' : 'Subscribe';
  if ('netScore' in state)
    button.parentElement.querySelector('.score').textContent = state.netScore;
});
