// Vue, with its store in IndexedDB.
import { createApp, h, reactive, toRaw } from 'vue';
import { empty, ended, reached } from './common.js';

const opened = new Promise((done, failed) => {
  const asked = indexedDB.open('notes', 1);
  asked.onupgradeneeded = () => asked.result.createObjectStore('store');
  asked.onsuccess = () => done(asked.result);
  asked.onerror = () => failed(asked.error);
});
const store = async (mode) => (await opened).transaction('store', mode).objectStore('store');
const read = async () => {
  const asked = (await store('readonly')).get('state');
  return new Promise((done) => { asked.onsuccess = () => done(asked.result ?? empty()); });
};
const write = async (state) => (await store('readwrite')).put(JSON.parse(JSON.stringify(state)), 'state');

const view = reactive({ state: null, title: '' });
read().then(async (state) => {
  view.state = location.pathname === '/config' ? reached(state, location.search) : state;
  await write(toRaw(view.state));
});
const add = async () => {
  view.state.notes.push({ title: view.title });
  view.title = '';
  await write(toRaw(view.state));
};
createApp({
  render() {
    if (!view.state) return h('p', 'Loading');
    if (location.pathname === '/finish') return h('pre', ended(view.state));
    return h('main', [
      h('input', { name: 'title', value: view.title, onInput: (event) => { view.title = event.target.value; } }),
      h('button', { onClick: add }, 'Add'),
      h('ul', view.state.notes.map((each) => h('li', { class: 'item' }, each.title))),
    ]);
  },
}).mount('#app');
