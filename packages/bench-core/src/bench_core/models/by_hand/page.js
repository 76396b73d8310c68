'use strict';
const $ = id => document.getElementById(id);
const make = (tag, text, attributes = {}) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
};
const say = text => { $('status').textContent = text; };
const wrong = text => { $('wrong').textContent = text; };
let conversation = null;
let turn = 0;
let request = null;
let calls = [];
let shownTurns = 0;

async function fetched(path, body) {
  const options = body === undefined ? {} : {method: 'POST', body: JSON.stringify(body)};
  const answer = await fetch(path, options);
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error || answer.statusText);
  return value;
}

// ---- the list -------------------------------------------------------------

async function list() {
  while (conversation === null) {
    try {
      const all = await fetched('list');
      if (conversation !== null) return;
      const waiting = all.filter(each => each.waits);
      const items = waiting.map(each => {
        const who = each.person ? `, taken by ${each.person}` : '';
        const item = make('li');
        const button = make('button', `Trial ${each.number}, request ${each.turn}${who}`, {type: 'button', 'data-of': each.conversation});
        button.addEventListener('click', () => take(each.conversation, each.number));
        item.append(button);
        return item;
      });
      const before = document.activeElement && document.activeElement.dataset.of;
      $('conversations').replaceChildren(...items);
      const again = [...$('conversations').querySelectorAll('button')].find(each => each.dataset.of === before);
      if (again) again.focus();
      say(waiting.length ? `${waiting.length} waiting` : 'Nothing waits. The page looks again by itself.');
    } catch (error) {
      say('The run has ended or does not answer.');
    }
    await new Promise(done => setTimeout(done, 1000));
  }
}

async function take(key, number) {
  try {
    await fetched('take', {conversation: key, person: $('person').value.trim()});
  } catch (error) {
    say(error.message);
    return;
  }
  conversation = key;
  turn = 0;
  shownTurns = 0;
  $('request').replaceChildren();
  $('list').hidden = true;
  $('work').hidden = false;
  follow(key, number);
}

function leave() {
  conversation = null;
  request = null;
  $('work').hidden = true;
  $('list').hidden = false;
  list();
}

async function follow(key, number) {
  let quiet = 0;
  while (conversation === key) {
    if (request === null) {
      try {
        const news = await fetched(`request/${key}/${turn}`);
        if (conversation !== key) return;
        if (news.request) {
          turn = news.turn;
          request = news.request;
          quiet = 0;
          say(`Trial ${number}, request ${turn}`);
          show();
        } else if (++quiet > 1) {
          say(`Trial ${number}: no further request; it may have ended.`);
        }
      } catch (error) {
        say('The run has ended or does not answer.');
        await new Promise(done => setTimeout(done, 1000));
      }
    } else {
      await new Promise(done => setTimeout(done, 200));
    }
  }
}

// ---- the request ----------------------------------------------------------

function partOf(part) {
  if (part.type === 'text') return [make('pre', part.text)];
  if (part.type === 'image') {
    const image = make('img', undefined, {src: `picture/${conversation}/${part.picture}`, alt: 'picture'});
    image.addEventListener('click', event => point(image, event));
    return [image];
  }
  if (part.type === 'tool_call') return [make('pre', `called ${part.name}(${JSON.stringify(part.arguments)})`)];
  if (part.type === 'tool_result') {
    const head = make('pre', `result of ${part.name}${part.is_error ? ' (error)' : ''}:`);
    if (part.is_error) head.className = 'bad';
    const extra = Object.keys(part.extra || {}).length ? [make('pre', JSON.stringify(part.extra, null, 1))] : [];
    return [head, ...part.content.flatMap(partOf), ...extra];
  }
  return [make('pre', JSON.stringify(part, null, 1))];
}

function turnOf(message, number) {
  const box = make('div', undefined, {class: message.role === 'assistant' ? 'turn own' : 'turn'});
  box.append(make('h3', message.role === 'assistant' ? `${number}. you` : `${number}. to you`));
  box.append(...message.parts.flatMap(partOf));
  return box;
}

function folded(title, nodes, open = false) {
  const box = make('details');
  box.open = open;
  box.append(make('summary', title), ...nodes);
  return box;
}

function show() {
  const all = request.messages;
  const last = Math.max(0, all.length - 1);
  const nodes = [];
  if (request.system) nodes.push(folded('What the system says', [make('pre', request.system)], turn <= 1));
  if (request.native_tools.length) nodes.push(folded("The provider's own tools", [make('pre', JSON.stringify(request.native_tools, null, 1))]));
  if (Object.keys(request.rest).length) nodes.push(folded('Other fields', [make('pre', JSON.stringify(request.rest, null, 1))]));
  if (last > 0) nodes.push(folded(`Earlier turns (${last})`, all.slice(0, last).map((each, i) => turnOf(each, i + 1))));
  const newest = turnOf(all[last], last + 1);
  newest.tabIndex = 0;
  nodes.push(newest);
  $('request').replaceChildren(...nodes);
  newest.scrollIntoView({block: 'start'});
  calls = [];
  $('text').value = '';
  wrong('');
  tools();
  listed();
  (request.tools.length ? $('tool') : $('text')).focus();
}

function point(image, event) {
  const box = image.getBoundingClientRect();
  const x = Math.round((event.clientX - box.left) * image.naturalWidth / box.width);
  const y = Math.round((event.clientY - box.top) * image.naturalHeight / box.height);
  const fields = [...$('fields').querySelectorAll('[data-name]')];
  const named = name => fields.find(each => each.dataset.name === name);
  const empty = named('x') && named('x').value !== '' && named('to_x') ? ['to_x', 'to_y'] : ['x', 'y'];
  if (named(empty[0]) && named(empty[1])) {
    named(empty[0]).value = x;
    named(empty[1]).value = y;
  }
  say(`x ${x}, y ${y}`);
}

// ---- the answer -----------------------------------------------------------

const OTHER = '(another: name and arguments as JSON)';

function tools() {
  const before = $('tool').value;
  const names = request.tools.map(each => each.name);
  const offered = ['', ...names, ...(request.native_tools.length ? [OTHER] : [])];
  $('tool').replaceChildren(...offered.map(each => make('option', each || '(none: words only)', {value: each})));
  $('tool').value = offered.includes(before) && before ? before : (names[0] || '');
  $('choose').hidden = offered.length < 2;
  fields();
}

function kindOf(schema) {
  const choices = schema.anyOf || schema.oneOf;
  if (choices) return 'json';
  const kind = Array.isArray(schema.type) ? schema.type.find(each => each !== 'null') : schema.type;
  if (schema.enum) return 'enum';
  if (kind === 'array' && schema.items && schema.items.type === 'string') return 'words';
  return {string: 'string', number: 'number', integer: 'number', boolean: 'boolean'}[kind] || 'json';
}

function fieldOf(name, schema, required) {
  const kind = kindOf(schema);
  const label = make('label', name + (required ? ' *' : ''));
  const help = {words: 'one per line', json: 'JSON, or plain words'}[kind];
  const about = [schema.description, help].filter(Boolean).join(' - ');
  if (about) label.append(make('small', about));
  let input;
  if (kind === 'enum') {
    input = make('select');
    const values = schema.enum.map(each => JSON.stringify(each));
    input.append(...['', ...values].map(each => make('option', each ? String(JSON.parse(each)) : '', {value: each})));
  } else if (kind === 'boolean') {
    input = make('select');
    input.append(...['', 'true', 'false'].map(each => make('option', each, {value: each})));
  } else if (kind === 'number') {
    input = make('input', undefined, {type: 'number', step: 'any'});
  } else {
    input = make('textarea', undefined, {rows: kind === 'string' ? 1 : 2});
  }
  input.dataset.name = name;
  input.dataset.kind = kind;
  label.append(input);
  return label;
}

function fields() {
  const name = $('tool').value;
  const tool = request.tools.find(each => each.name === name);
  $('about').textContent = tool ? tool.description : '';
  const nodes = [];
  if (name === OTHER) {
    nodes.push(fieldOf('name', {type: 'string'}, true), fieldOf('toolset', {type: 'string'}, false), fieldOf('arguments', {}, true));
  } else if (tool) {
    const parameters = tool.parameters || {};
    const required = new Set(parameters.required || []);
    for (const [key, schema] of Object.entries(parameters.properties || {})) nodes.push(fieldOf(key, schema, required.has(key)));
  }
  $('fields').replaceChildren(...nodes);
}

function valueOf(input) {
  const raw = input.value;
  switch (input.dataset.kind) {
    case 'number': return Number(raw);
    case 'boolean': return raw === 'true';
    case 'enum': return JSON.parse(raw);
    case 'words': return raw.split('\n').filter(Boolean);
    case 'json': try { return JSON.parse(raw); } catch (error) { return raw; }
    default: return raw;
  }
}

function call() {
  const name = $('tool').value;
  if (!name) return null;
  const given = {};
  for (const input of $('fields').querySelectorAll('[data-name]')) {
    if (input.value !== '') given[input.dataset.name] = valueOf(input);
  }
  if (name !== OTHER) return {name, arguments: given};
  if (!given.name || typeof given.arguments !== 'object') throw new Error('a name and a JSON object of arguments are needed');
  return {name: given.name, toolset: given.toolset || null, arguments: given.arguments};
}

function listed() {
  $('calls').replaceChildren(...calls.map((each, i) => {
    const item = make('li', `${each.name}(${JSON.stringify(each.arguments)}) `);
    const remove = make('button', 'Remove', {type: 'button'});
    remove.addEventListener('click', () => { calls.splice(i, 1); listed(); });
    item.append(remove);
    return item;
  }));
}

function add() {
  try {
    const one = call();
    if (one) calls.push(one);
    wrong('');
    listed();
    fields();
    $('tool').focus();
  } catch (error) {
    wrong(error.message);
  }
}

async function send() {
  if (request === null) return;
  try {
    const one = call();
    const all = one ? [...calls, one] : calls;
    await fetched('reply', {conversation, turn, text: $('text').value, tool_calls: all});
    request = null;
    say('Sent. Waiting for what comes of it ...');
    wrong('');
  } catch (error) {
    wrong(error.message);
  }
}

$('who').addEventListener('submit', event => event.preventDefault());
$('form').addEventListener('submit', event => { event.preventDefault(); send(); });
$('form').addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); }
});
$('add').addEventListener('click', add);
$('leave').addEventListener('click', leave);
$('tool').addEventListener('change', fields);
$('list').hidden = false;
list();
