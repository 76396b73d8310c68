// React, with a store in localStorage that comes back late, as redux-persist's does.
import { useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { empty, ended, reached } from './common.js';

const App = () => {
  const [state, setState] = useState(empty());
  const [ready, setReady] = useState(false);
  const [title, setTitle] = useState('');
  useEffect(() => {
    setTimeout(() => {
      let kept = JSON.parse(localStorage.getItem('persist:root') ?? 'null') ?? empty();
      if (location.pathname === '/config') kept = reached(kept, location.search);
      setState(kept);
      setReady(true);
    }, 400);
  }, []);
  useEffect(() => { if (ready) localStorage.setItem('persist:root', JSON.stringify(state)); }, [state, ready]);
  if (location.pathname === '/finish') return <pre>{ended(state)}</pre>;
  const add = () => { setState({ ...state, notes: [...state.notes, { title }] }); setTitle(''); };
  return <main>
    <input name="title" value={title} onChange={(event) => setTitle(event.target.value)} />
    <button onClick={add} disabled={!ready}>Add</button>
    <ul>{state.notes.map((each, at) => <li key={at} className="item">{each.title}</li>)}</ul>
  </main>;
};
createRoot(document.getElementById('app')).render(<App />);
