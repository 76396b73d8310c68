/** @jsxImportSource preact */
// Preact, with a store on its own server that each page asks after it has loaded.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { empty, ended, reached } from './common.js';

const session = localStorage.getItem('session') ?? crypto.randomUUID();
localStorage.setItem('session', session);
const kept = async () => (await (await fetch(`/store/${session}`)).json()) ?? empty();
const keep = (state) => fetch(`/store/${session}`, { method: 'PUT', body: JSON.stringify(state) });

const App = () => {
  const [state, setState] = useState(null);
  const [title, setTitle] = useState('');
  useEffect(() => {
    kept().then(async (known) => {
      const now = location.pathname === '/config' ? reached(known, location.search) : known;
      if (now !== known) await keep(now);
      setState(now);
    });
  }, []);
  if (location.pathname === '/finish') return <pre>{state ? ended(state) : '{}'}</pre>;
  const add = async () => {
    const now = { ...state, notes: [...state.notes, { title }] };
    await keep(now);
    setState(now);
    setTitle('');
  };
  return <main>
    <input name="title" value={title} onInput={(event) => setTitle(event.currentTarget.value)} />
    <button onClick={add} disabled={!state}>Add</button>
    <ul>{(state?.notes ?? []).map((each) => <li class="item">{each.title}</li>)}</ul>
  </main>;
};
render(<App />, document.getElementById('app'));
