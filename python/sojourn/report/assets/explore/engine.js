// The engine's worker: started from what the page holds, asked one study at a time, the latest wish first.
"use strict";
explorer.engine = (() => {
  const held = document.getElementById("engine");
  if (!held) return null;
  let worker = null, busy = false, wish = null, number = 0, answered = null, since = 0;

  const module = (async () => {
    const bytes = Uint8Array.from(atob(held.textContent.trim()), (letter) => letter.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).arrayBuffer();
  })();

  const start = async () => {
    const source = URL.createObjectURL(new Blob([document.getElementById("worker").textContent], { type: "text/javascript" }));
    worker = new Worker(source);
    URL.revokeObjectURL(source);
    const mine = worker;
    busy = true;
    worker.onmessage = ({ data }) => {
      if (mine !== worker) return;
      busy = false;
      if (data.failed) {
        // A trap leaves the module in no state to be asked again.
        stop();
        answered?.({ error: `The engine stopped: ${data.failed}` });
      } else if (!data.ready && data.number === number) {
        const found = JSON.parse(data.text);
        answered?.(found.error ? { error: found.error } : { ...found, result: JSON.parse(found.stored), took: data.took });
      }
      next();
    };
    worker.onerror = (event) => { if (mine === worker) { busy = false; answered?.({ error: `The engine could not be started: ${event.message}` }); } };
    worker.postMessage({ module: await module });
  };
  const stop = () => { worker?.terminate(); worker = null; busy = false; };
  const next = () => {
    if (busy || wish === null) return;
    if (!worker) { start(); return; }
    busy = true;
    since = performance.now();
    worker.postMessage({ number: ++number, request: wish });
    wish = null;
  };

  return {
    ask: (request, then) => { wish = JSON.stringify(request); answered = then; number += busy ? 1 : 0; next(); },
    // A run that takes long is given up for a new wish.
    give_up: (after) => { if (busy && since && performance.now() - since > after) { stop(); number += 1; } },
  };
})();
