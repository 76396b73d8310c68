// Makes the requests of one round from a page of the hard site; `n` is a number of this round's own.
async (n, other) => {
  const wait = ms => new Promise(done => setTimeout(done, ms));
  let count = 0;
  const url = (path, more = '') => `${path}?n=${n}-${++count}${more}`;
  const add = (name, attributes) => new Promise(done => {
    const element = Object.assign(document.createElement(name), attributes);
    element.onload = element.onerror = done;
    document.body.append(element);
    setTimeout(done, 3000);
  });
  const all = [];
  for (let i = 0; i < 4; i++) {
    all.push(fetch(url('/json')).then(answer => answer.text()));
    all.push(fetch(url('/json'), {method: 'POST', body: 'posted'}).then(answer => answer.text()));
    all.push(add('img', {src: url('/image.svg')}));
    all.push(add('script', {src: url('/script.js')}));
  }
  all.push(fetch(url('/json'), {method: 'PUT', body: new Blob(['blob'])}));
  all.push(fetch(url('/json'), {method: 'POST', body: new URLSearchParams({a: 'b c'})}));
  const form = new FormData();
  form.append('file', new File(['contents of a file'], 'a.txt'));
  all.push(fetch(url('/json'), {method: 'POST', body: form}));
  all.push(fetch(url(`${other}/json`), {headers: {'X-Test': 'yes'}}).catch(() => 0));
  all.push(fetch(url(`${other}/json`), {method: 'PUT', body: '{}', headers: {'Content-Type': 'application/json'}}).catch(() => 0));
  all.push(fetch(url('/hop', `&to=${encodeURIComponent(url('/json'))}`)));
  all.push(fetch(url('/hop', `&status=307&to=${encodeURIComponent(url('/json'))}`), {method: 'POST', body: 'again'}));
  all.push(add('iframe', {src: url('/page')}));
  all.push(add('iframe', {src: url('/stream')}));
  all.push(add('iframe', {srcdoc: `<img src="${url('/image.svg')}">`}));
  all.push(add('object', {data: url('/page'), type: 'text/html'}));
  all.push(add('link', {rel: 'stylesheet', href: url('/style.css')}));
  all.push(add('link', {rel: 'preload', as: 'style', href: url('/style.css')}));
  all.push(add('link', {rel: 'prefetch', href: url('/json')}));
  all.push(add('link', {rel: 'modulepreload', href: url('/module.js')}));
  all.push(import(url('/module.js')));
  all.push(new Promise(done => {
    const events = new EventSource(url('/events'));
    events.onmessage = () => { events.close(); done(); };
    setTimeout(done, 3000);
  }));
  all.push(new Promise(done => {
    const request = new XMLHttpRequest();
    request.open('POST', url('/json'));
    request.onloadend = done;
    request.send('x=1');
  }));
  all.push(new Promise(done => {
    const worker = new Worker(url('/worker.js'));
    worker.onmessage = done;
    worker.postMessage(url('/json'));
    setTimeout(done, 5000);
  }));
  all.push(new Promise(done => {
    const worker = new SharedWorker(url('/shared.js'));
    worker.port.onmessage = done;
    worker.port.postMessage(url('/json'));
    setTimeout(done, 5000);
  }));
  navigator.sendBeacon(url('/json'), 'beacon');
  all.push(fetch(url('/json'), {method: 'POST', body: 'alive', keepalive: true}));
  if (location.protocol === 'https:') {
    const stream = new ReadableStream({start(controller) {
      controller.enqueue(new TextEncoder().encode('streamed')); controller.close();
    }});
    all.push(fetch(url('/json'), {method: 'POST', body: stream, duplex: 'half'}).catch(() => 0));
  }
  if (navigator.serviceWorker.controller) {
    all.push(fetch(url('/json', '&by-worker')));
    all.push(new Promise(done => {
      const channel = new MessageChannel();
      channel.port1.onmessage = done;
      navigator.serviceWorker.controller.postMessage(url('/json'), [channel.port2]);
      setTimeout(done, 5000);
    }));
    all.push(add('iframe', {src: url('/page', '&by-preload')}));
    all.push(add('iframe', {src: url('/page', '&unused-preload')}));
    all.push(navigator.serviceWorker.ready.then(each => each.update()).catch(() => 0));
  }
  await Promise.race([Promise.allSettled(all), wait(10000)]);
  await wait(100);
  return count;
}
