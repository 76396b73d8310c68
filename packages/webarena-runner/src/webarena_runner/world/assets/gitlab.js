// The status form is sent as JSON with the token in a header, without leaving the page.
const status = document.getElementById('set-user-status');
status?.addEventListener('submit', async (event) => {
  event.preventDefault();
  const fields = new FormData(status);
  const answer = await fetch('/api/v4/user/status', {
    method: 'PUT',
    headers: {'Content-Type': 'application/json', 'X-CSRF-Token': fields.get('authenticity_token')},
    body: JSON.stringify({
      emoji: 'speech_balloon', message: fields.get('message'),
      availability: fields.get('availability') ? 'busy' : 'not_set', clear_status_after: null,
    }),
  });
  if (answer.ok) document.getElementById('status-saved').textContent = 'Status saved.';
});
// A star is sent as a blob, so that what was recorded of it had to be fetched by the recorder.
document.addEventListener('click', async (event) => {
  const star = event.target.closest('button[data-star]');
  if (!star) return;
  const headers = {'X-CSRF-Token': star.dataset.token};
  const body = new Blob(['{}'], {type: 'application/json'});
  const answer = await fetch(star.dataset.star, {method: 'POST', headers, body});
  const state = await answer.json();
  star.textContent = state.starred ? 'Unstar' : 'Star';
  document.getElementById('stars').textContent =
    `${state.star_count} ${state.star_count === 1 ? 'star' : 'stars'}`;
});
