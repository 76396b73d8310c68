// No framework; a service worker would serve the page without a network, where it may be installed.
import { empty, ended, reached } from './common.js';

navigator.serviceWorker?.register('/worker.js').catch(() => {});
let state = JSON.parse(localStorage.getItem('notes') ?? 'null') ?? empty();
const keep = () => localStorage.setItem('notes', JSON.stringify(state));
if (location.pathname === '/config') state = reached(state, location.search);
keep();
const app = document.getElementById('app');
const show = () => {
  if (location.pathname === '/finish') {
    app.innerHTML = '<pre></pre>';
    app.firstChild.textContent = ended(state);
    return;
  }
  app.innerHTML = '<main><input name="title"><button>Add</button><ul></ul></main>';
  for (const { title } of state.notes) {
    app.querySelector('ul').append(Object.assign(document.createElement('li'), { className: 'item', textContent: title }));
  }
  app.querySelector('button').onclick = () => {
    state.notes.push({ title: app.querySelector('input').value });
    keep();
    show();
  };
};
show();
