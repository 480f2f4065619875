// Watch a queue: up to one second of packets on a canvas, with the clock slowed. What arrives slides in from the left, by
// flow; what waits stands in the middle, in order of arrival; what is sent crosses the line; what is dropped falls.
"use strict";
explorer.watch = (() => {
  const { data, h, state, choice, text } = explorer;
  const place = document.getElementById("watch");
  if (!place) return null;
  const find = (name) => place.querySelector(`[data-part="${name}"]`);
  const LIGHT = ["#0b5c94", "#b8431d", "#2b7a4b", "#7d3f98", "#8f6400", "#4d545f", "#b3124f", "#00727c"];
  const DARK = ["#74bdf2", "#f2977a", "#83d3a3", "#d3a6ec", "#e8be5a", "#c3c8cf", "#f598b8", "#58d2e0"];
  const canvas = find("canvas");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  let seen = null, at = 0, playing = false, before = 0, length = 1e6;

  // A packet that was dropped from inside leaves when the next packet of its flow does: the log does not say when.
  const prepare = (view, result) => {
    const { watch, causes, kinds } = view;
    const AT_ARRIVAL = new Set(["full", "early", "forced", "path", "policed", "unknown"]);
    const gone = watch.leave_us.slice();
    const next = new Map();
    for (let i = gone.length - 1; i >= 0; i--) {
      if (watch.cause[i] === null) { if (gone[i] !== null) next.set(watch.flow[i], gone[i]); continue; }
      gone[i] = AT_ARRIVAL.has(causes[watch.cause[i]]) ? watch.arrive_us[i] : Math.max(next.get(watch.flow[i]) ?? watch.arrive_us[i], watch.arrive_us[i]);
    }
    const flows = [...new Set(watch.flow)].map((flow) => {
      const rows = watch.flow.map((one, i) => (one === flow ? i : -1)).filter((i) => i >= 0);
      return { flow, kind: kinds[watch.kind[rows[0]]], packets: rows.length, drops: rows.filter((i) => watch.cause[i] !== null).length };
    }).sort((a, b) => b.packets - a.packets);
    const place = new Map(flows.map(({ flow }, i) => [flow, i]));
    return { ...watch, gone, causes, flows, lane: watch.flow.map((flow) => place.get(flow)), rate: result.links[watch.link]?.rate_bps ?? 1e6, most: Math.max(1, ...watch.backlog.map((one) => one + 1)) };
  };

  const colours = () => (dark() ? DARK : LIGHT);
  const draw = () => {
    if (!seen) return;
    const scale = devicePixelRatio || 1;
    const [wide, high] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(wide * scale)) { canvas.width = Math.round(wide * scale); canvas.height = Math.round(high * scale); }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    const ink = dark() ? "#e7e9ec" : "#16181d";
    const soft = dark() ? "#b1b7c0" : "#4d545f";
    ctx.fillStyle = dark() ? "#1c1f25" : "#ffffff";
    ctx.fillRect(0, 0, wide, high);
    const [left, right, top, bottom] = [wide * 0.22, wide * 0.78, 26, high - 74];
    ctx.strokeStyle = soft;
    ctx.strokeRect(left, top, right - left, bottom - top);
    ctx.fillStyle = soft;
    ctx.font = "12px system-ui, sans-serif";
    ctx.fillText("arrivals", 6, 16);
    ctx.fillText("the queue", left, 16);
    ctx.fillText("the line", right + 6, 16);

    // Cells as large as the longest queue of this second allows.
    const area = (right - left) * (bottom - top);
    const side = Math.max(2, Math.min(18, Math.floor(Math.sqrt((area * 0.92) / seen.most))));
    const rows = Math.max(1, Math.floor((bottom - top) / side));
    const lead = Math.max(5000, length / 60);
    const lanes = Math.min(seen.flows.length, 8);
    let [waiting, sending, drops] = [0, null, new Map()];
    for (let i = 0; i < seen.arrive_us.length; i++) {
      const [arrive, leave] = [seen.arrive_us[i], seen.gone[i]];
      const dropped = seen.cause[i] !== null;
      if (arrive > at + lead) break;
      ctx.fillStyle = colours()[seen.lane[i] % 8];
      if (arrive > at) {
        const share = 1 - (arrive - at) / lead;
        ctx.fillRect(share * (left - side), top + ((seen.lane[i] % 8) + 0.5) * ((bottom - top) / lanes) - side / 2, side - 1, side - 1);
      } else if (leave === null || leave > at) {
        const [column, row] = [Math.floor(waiting / rows), waiting % rows];
        waiting += 1;
        ctx.fillRect(right - (column + 1) * side, bottom - (row + 1) * side, side - 1, side - 1);
      } else if (dropped) {
        if (leave >= 0) drops.set(seen.cause[i], (drops.get(seen.cause[i]) ?? 0) + 1);
        const share = (at - leave) / (lead * 1.5);
        if (share < 1) {
          const from = leave === arrive ? left : right - side;
          ctx.globalAlpha = 1 - share * 0.7;
          ctx.fillRect(from, bottom + share * 40, side - 1, side - 1);
          ctx.strokeStyle = ink;
          ctx.strokeRect(from, bottom + share * 40, side - 1, side - 1);
          ctx.globalAlpha = 1;
        }
      } else {
        sending = i;
      }
    }
    if (sending !== null) {
      const share = (at - seen.gone[sending]) / ((seen.bytes[sending] * 8e6) / seen.rate);
      if (share < 1) {
        ctx.fillStyle = colours()[seen.lane[sending] % 8];
        ctx.fillRect(right + share * (wide - right - side), (top + bottom) / 2 - side / 2, side, side);
      }
    }
    ctx.strokeStyle = soft;
    ctx.beginPath();
    ctx.moveTo(right, (top + bottom) / 2 + side / 2 + 3);
    ctx.lineTo(wide, (top + bottom) / 2 + side / 2 + 3);
    ctx.stroke();
    ctx.fillStyle = ink;
    const dropped = [...drops].map(([cause, count]) => `${count} ${data.live.causes[seen.causes[cause]] ?? seen.causes[cause]}`).join(", ") || "none";
    ctx.fillText(`dropped so far: ${dropped}`, 6, high - 10);
    const clock = `${(seen.from_s + at / 1e6).toFixed(4)} s`;
    ctx.font = "600 14px system-ui, sans-serif";
    ctx.fillText(clock, right + 6, high - 10);
    find("clock").textContent = `${clock}: ${waiting} ${waiting === 1 ? "packet waits" : "packets wait"}; dropped so far: ${dropped}.`;
    canvas.setAttribute("aria-label", `The queue of the ${seen.link}link at ${clock}: ${waiting} packets wait; dropped so far: ${dropped}.`);
  };

  const frame = (time) => {
    if (!playing) return;
    at += (time - before) * 1000 / Number(find("speed").querySelector("select").value);
    before = time;
    if (at >= length) { at = length; play(false); }
    find("moment").value = Math.round(at / 100);
    draw();
    if (playing) requestAnimationFrame(frame);
  };
  const play = (on) => {
    playing = on;
    find("play").textContent = on ? "Pause" : "Play";
    if (!on) return;
    if (at >= length) at = 0;
    requestAnimationFrame((time) => { before = time; frame(time); });
  };

  find("play").addEventListener("click", () => play(!playing));
  find("step").addEventListener("click", () => {
    if (!seen) return;
    play(false);
    // To the next thing that happens.
    const times = [...seen.arrive_us, ...seen.gone.filter((one) => one !== null)].filter((one) => one > at + 0.05);
    at = Math.min(length, times.length ? Math.min(...times) : length);
    find("moment").value = Math.round(at / 100);
    draw();
  });
  find("moment").addEventListener("input", () => { play(false); at = Number(find("moment").value) * 100; draw(); });
  find("speed").append(choice("The clock is slowed", [["10", "10 times"], ["50", "50 times"], ["200", "200 times"], ["1000", "1000 times"]], "50").row);
  find("link").append(choice("Link", [["down", "downlink"], ["up", "uplink"]], state.get("watch.link") ?? "down", (value) => { state.set("watch.link", value); explorer.rerun(); }).row);
  const from = find("from");
  from.addEventListener("change", () => { state.set("watch.from", from.value); explorer.rerun(); });
  new ResizeObserver(draw).observe(canvas);
  document.querySelector("[data-toggle-theme]")?.addEventListener("click", () => setTimeout(draw));
  system.addEventListener("change", draw);
  find("motion").hidden = !still.matches;

  return (view, result) => {
    seen = prepare(view, result);
    length = Math.max(1, (seen.until_s - seen.from_s) * 1e6);
    find("moment").max = Math.round(length / 100);
    from.max = Math.max(0, Math.floor(result.engine.simulated_s) - 1);
    from.value = seen.from_s;
    find("from-says").textContent = `${text(seen.from_s)} s`;
    const cut = length < 999999 ? ` More than ${seen.arrive_us.length} packets arrive in a second here, so that ${text(length / 1e3)} ms are shown.` : "";
    find("about").textContent = `${seen.arrive_us.length} packets of the ${seen.link}link, from ${seen.from_s.toFixed(1)} s of the run above.${cut}`;
    find("flows").replaceChildren(...seen.flows.slice(0, 8).map((one, i) => {
      const key = h("li", {}, `flow ${one.flow} (${one.kind}): ${one.packets} packet${one.packets === 1 ? "" : "s"}${one.drops ? `, ${one.drops} dropped` : ""}`);
      key.style.setProperty("--key", colours()[i]);
      return key;
    }), ...(seen.flows.length > 8 ? [h("li", {}, `${seen.flows.length - 8} more flows, in the same colours again`)] : []));
    // A still is what those get who asked for less motion, and everyone before they press Play.
    play(false);
    at = length / 2;
    find("moment").value = Math.round(at / 100);
    draw();
  };
})();
