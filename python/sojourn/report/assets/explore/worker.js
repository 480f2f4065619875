// The engine in a thread of its own: takes its module once, then studies; answers are texts.
"use strict";
let engine = null;
onmessage = async ({ data }) => {
  try {
    if (data.module) {
      engine = (await WebAssembly.instantiate(data.module, {})).instance.exports;
      postMessage({ ready: true });
      return;
    }
    const began = performance.now();
    const request = new TextEncoder().encode(data.request);
    const at = engine.sojourn_alloc(request.length);
    new Uint8Array(engine.memory.buffer, at, request.length).set(request);
    const answer = engine.sojourn_run(at, request.length);
    const length = new DataView(engine.memory.buffer).getUint32(answer, true);
    const text = new TextDecoder().decode(new Uint8Array(engine.memory.buffer, answer + 4, length));
    engine.sojourn_free(answer, length);
    postMessage({ number: data.number, text, took: performance.now() - began });
  } catch (error) {
    postMessage({ number: data.number, failed: String(error) });
  }
};
