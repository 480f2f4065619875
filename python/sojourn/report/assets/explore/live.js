// The live part: sliders make a study, the engine runs it, and what came of it is drawn.
"use strict";
(() => {
  const { data, h, state, choice, copier, colour, letter, text, engine } = explorer;
  const place = document.getElementById("live");
  if (!place || !engine) return;
  const find = (name) => place.querySelector(`[data-part="${name}"]`);
  const MOST_PACKETS = 1.5e6;
  const RATES = [0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000];
  const TIMES = [1, 2, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 300, 400, 600];
  const LIMITS = [1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 100, 128, 167, 200, 256, 350, 512, 700, 1000, 1500, 2000, 3000, 5000, 10000];
  const COUNTS = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
  const LENGTHS = [2, 5, 10, 20, 30, 60];
  const OPUS_RATES = [6, 8, 12, 16, 20, 24, 28, 32, 40, 64, 128];
  const CODECS = { g711a: "G.711", g729a: "G.729", g722: "G.722, wide band", opus: "Opus, wide band" };
  const PLAYOUTS = { fixed: "fixed, 60 ms", adaptive: "adaptive", neteq: "NetEq", none: "none" };
  const FIRST = {
    down: "50", up: "10", rtt: "40", "down.kind": "fifo", "down.limit": "167", "up.kind": "fifo", "up.limit": "64",
    a: "2", "a.cc": "cubic", b: "0", "b.cc": "bbr", c: "0", "c.cc": "cubic", voice: "1", codec: "g711a", opus: "32", playout: "adaptive", web: "1", length: "10", seed: "1",
  };
  const now = (key) => state.get(`live.${key}`) ?? FIRST[key] ?? "";
  const set = (key, value) => {
    state.set(`live.${key}`, value === FIRST[key] ? null : value);
    for (const say of said) say();
    run();
  };
  // What a slider says may depend on another one: a buffer's time on the rate.
  let said = [];
  let sliders = 0;

  // A slider over values that people choose.
  const slider = (label, key, values, unit, also) => {
    const id = `slider-${++sliders}`;
    const says = (value) => `${value} ${unit}`.trim() + (also ? also(value) : "");
    const nearest = (value) => values.reduce((best, one, i) => (Math.abs(one - value) < Math.abs(values[best] - value) ? i : best), 0);
    const output = h("output", { for: id }, says(now(key)));
    const input = h("input", { type: "range", id, min: 0, max: values.length - 1, step: 1, value: nearest(Number(now(key))), "aria-valuetext": says(now(key)), "data-key": key });
    said.push(() => {
      output.textContent = says(now(key));
      input.setAttribute("aria-valuetext", says(now(key)));
    });
    input.addEventListener("input", () => set(key, String(values[input.value])));
    return h("div", { class: "field" }, h("label", { for: id }, label, ": ", output), input);
  };

  // The parameters of a discipline, as the engine's own schema lists them.
  const parameters = (way) => {
    const kind = data.live.queues.find((one) => one.kind === now(`${way}.kind`));
    const fields = kind.parameters.map(({ name, about, initial, options }) => {
      const key = `${way}.${kind.kind}.${name}`;
      if (options) return choice(name, [["", `as usual${initial === "" ? "" : `: ${initial}`}`], ...options.map((one) => [one, one])], now(key), (value) => set(key, value || null)).row;
      const id = `${way}-${name}`;
      const input = h("input", { type: "text", id, value: now(key), placeholder: initial, title: about, "data-key": key, spellcheck: "false", autocomplete: "off" });
      input.addEventListener("change", () => set(key, input.value.trim() || null));
      return h("div", { class: "field" }, h("label", { for: id }, name), input);
    });
    return h("details", {}, h("summary", {}, `Parameters of ${kind.kind}`), h("p", { class: "source" }, kind.about), h("div", { class: "fields" }, ...fields));
  };
  const queue = (way, title) => {
    const box = h("div", {}, parameters(way));
    const kinds = data.live.queues.map((one) => [one.kind, one.kind]);
    const rate = () => Number(now(way));
    return h("fieldset", {}, h("legend", {}, title),
      h("div", { class: "fields" },
        slider("Rate", way, RATES, "Mbit/s"),
        slider("Buffer", `${way}.limit`, LIMITS, "packets", (value) => ` (${text((value * 12) / rate())} ms)`),
        choice("Queue discipline", kinds, now(`${way}.kind`), (value) => { set(`${way}.kind`, value); box.replaceChildren(parameters(way)); }).row),
      box);
  };
  const flows = (key, title) => h("div", { class: "pair" }, slider(title, key, COUNTS, ""),
    choice("Congestion control", data.live.transports.map((one) => [one, one]), now(`${key}.cc`), (value) => set(`${key}.cc`, value)).row);
  const tick = (key, words) => {
    const input = h("input", { type: "checkbox", "data-key": key });
    input.checked = now(key) === "1";
    input.addEventListener("change", () => set(key, input.checked ? "1" : "0"));
    return h("label", { class: "tick" }, input, ` ${words}`);
  };
  // What a caller speaks and hears by; settings of what is not there are not shown.
  const caller = () => {
    const rate = h("div", {}, slider("Rate of Opus", "opus", OPUS_RATES, "kbit/s"));
    const all = h("div", {}, h("div", { class: "fields" },
      choice("The caller's codec", data.live.codecs.map((one) => [one, CODECS[one] ?? one]), now("codec"), (value) => set("codec", value)).row,
      choice("Playout buffer", data.live.playouts.map((one) => [one, PLAYOUTS[one] ?? one]), now("playout"), (value) => set("playout", value)).row,
      rate));
    const shown = () => { all.hidden = now("voice") !== "1"; rate.hidden = now("codec") !== "opus"; };
    said.push(shown);
    shown();
    return all;
  };
  const controls = () => {
    said = [];
    const seed = h("input", { type: "number", id: "seed", min: 0, step: 1, value: now("seed"), "data-key": "seed" });
    seed.addEventListener("change", () => set("seed", String(Math.max(0, Math.trunc(Number(seed.value) || 0)))));
    find("controls").replaceChildren(
      queue("down", "Downlink"), queue("up", "Uplink"),
      h("fieldset", {}, h("legend", {}, "Long transfers"), flows("a", "Downloads"), flows("b", "Other downloads"), flows("c", "Uploads")),
      h("fieldset", {}, h("legend", {}, "Users"), h("p", {}, tick("voice", "a caller"), tick("web", "a reader of web pages")), caller()),
      h("fieldset", {}, h("legend", {}, "Path and run"),
        h("div", { class: "fields" }, slider("Round-trip time", "rtt", TIMES, "ms"), slider("Length", "length", LENGTHS, "s"),
          h("div", { class: "field" }, h("label", { for: "seed" }, "Seed"), seed)),
        h("p", {}, copier("Copy a link to this", () => state.link()), " ",
          h("button", { type: "button", class: "plain", onclick: () => { for (const key of [...new URLSearchParams(state.link().split("#view:")[1] ?? "").keys()].filter((one) => one.startsWith("live."))) state.set(key, null); controls(); run(); } }, "As at first"))));
  };

  // The study file that the sliders say.
  const written = (value) => (/^-?\d+(\.\d+)?$/.test(value) || value === "true" || value === "false" ? value : JSON.stringify(value));
  const link = (way) => {
    const kind = data.live.queues.find((one) => one.kind === now(`${way}.kind`)) ?? data.live.queues[0];
    const given = kind.parameters.map(({ name }) => [name, now(`${way}.${kind.kind}.${name}`)]).filter(([, value]) => value !== "");
    const keys = [["kind", kind.kind], ["limit", `${now(`${way}.limit`)}pkt`], ...given].map(([name, value]) => `${name} = ${written(value)}`);
    return `${way.padEnd(4)} = { rate = "${now(way)}Mbit", queue = { ${keys.join(", ")} } }`;
  };
  const study = () => {
    const length = Number(now("length"));
    const groups = [["a", "downloads", "down"], ["b", "other-downloads", "down"], ["c", "uploads", "up"]].filter(([key]) => Number(now(key)) > 0);
    const parts = [
      `name     = "explored"\nseed     = ${now("seed")}\nduration = "${length}s"\nwarmup   = "${length * 200}ms"`,
      `[path]\nrtt  = "${now("rtt")}ms"\n${link("down")}\n${link("up")}`,
      ...groups.map(([key, name, way]) => `[[flows]]\nname      = "${name}"\nsource    = { kind = "bulk" }\ntransport = "${now(`${key}.cc`)}"\ndirection = "${way}"\ncount     = ${now(key)}`),
    ];
    if (now("voice") === "1") {
      const keys = ['kind  = "voice"', `codec = "${now("codec")}"`, 'call  = "2s"', 'gap   = "500ms"', 'score = "emodel"'];
      if (now("codec") === "opus") keys.push(`opus  = { bitrate = "${now("opus")}kbit" }`);
      if (now("playout") !== FIRST.playout) keys.push(`playout = { kind = "${now("playout")}"${now("playout") === "fixed" ? ', delay = "60ms"' : ""} }`);
      parts.push(`[[users]]\n${keys.join("\n")}`);
    }
    if (now("web") === "1") parts.push('[[users]]\nkind  = "web"\npause = "500ms"');
    return `${parts.join("\n\n")}\n`;
  };

  const table = (caption, heads, rows) => h("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 }, h("table", {}, h("caption", {}, caption),
    h("thead", {}, h("tr", {}, ...heads.map((head, i) => h("th", { scope: "col", class: i ? null : "w" }, head)))),
    h("tbody", {}, ...rows.map(([first, ...rest]) => h("tr", {}, h("th", { scope: "row", class: "w" }, first), ...rest.map((cell) => (cell instanceof Node ? h("td", {}, cell) : h("td", {}, cell))))))));
  const NAMES = { down: "Downlink", up: "Uplink" };
  const mos = (number) => {
    if (number === null || number === undefined) return "–";
    const { back, ink } = colour(data.live.mos, number, 1, 5);
    const cell = h("strong", { class: "score" }, `${number.toFixed(2)} `, h("small", {}, letter(data.live.mos, number)));
    cell.style.background = back;
    cell.style.color = ink;
    return cell;
  };

  const tell = (found) => {
    find("error").textContent = found.error ?? "";
    find("error").hidden = !found.error;
    place.dataset.state = found.error ? "refused" : "answered";
    if (found.error) {
      // Charts and tables of other settings must not pass for an answer to these.
      find("status").textContent = find("links").hasChildNodes() ? "Not run: what stands below is of the run before." : "Not run.";
      return;
    }
    const { result, view, stored, took } = found;
    const links = Object.entries(result.links);
    find("status").textContent = `${text(result.engine.simulated_s)} s simulated in ${text(took / 1000)} s: ${result.engine.packets.toLocaleString("en").replaceAll(",", "\u202f")} packets. Seed ${now("seed")}.`;
    const queues = Object.entries(view.queues).sort();
    const bins = queues[0][1];
    explorer.chart(find("queue"), {
      x: bins.delay_ms.map((_, i) => +((i + 0.5) * bins.bin_s).toPrecision(6)), xTitle: "Time (s)", yTitle: "Wait in the queue (ms)", zero: true,
      series: queues.map(([name, one], i) => ({ name: NAMES[name], values: one.delay_ms, colour: i })),
      says: `Wait in the queue over time: ${links.map(([name, one]) => `${NAMES[name]} mean ${text(one.queue_delay_ms.mean)} ms, most ${text(one.queue_delay_ms.max)} ms`).join("; ")}.`,
    });
    const curves = links.map(([name, one]) => ({ name: NAMES[name], at: new Map(one.queue_delay_cdf.ms.map((ms, i) => [ms, 100 * one.queue_delay_cdf.share[i]])) }));
    // A queue whose packets wait less than the other's has all of them by the end of the picture.
    const widest = Math.max(...curves.flatMap(({ at }) => [...at.keys()]), 0);
    for (const { at } of curves) if (at.size) at.set(widest, 100);
    const across = [...new Set(curves.flatMap(({ at }) => [...at.keys()]))].sort((a, b) => a - b);
    explorer.chart(find("cdf"), {
      x: across.length ? across : [0, 1], xTitle: "Wait in the queue (ms)", yTitle: "Packets that wait no longer (%)", zero: true, gaps: true,
      series: curves.map(({ name, at }, i) => ({ name, values: across.map((ms) => at.get(ms) ?? null), colour: i })),
      says: `Distribution of the wait: ${links.map(([name, one]) => `${NAMES[name]} median ${text(one.queue_delay_ms.p50)} ms, 95th percentile ${text(one.queue_delay_ms.p95)} ms`).join("; ")}.`,
    });
    const causes = (one) => Object.entries(one.drops_by_cause).filter(([, count]) => count).map(([cause, count]) => `${count} ${data.live.causes[cause] ?? cause}`).join(", ") || "none";
    find("links").replaceChildren(table("Links, warm-up left out", ["Link", "Utilisation (%)", "Mean wait (ms)", "95 % (ms)", "99 % (ms)", "Loss (%)", "Drops by cause"],
      links.map(([name, one]) => [NAMES[name], text(100 * one.utilisation), text(one.queue_delay_ms.mean), text(one.queue_delay_ms.p95), text(one.queue_delay_ms.p99), text(100 * one.loss), causes(one)])));
    const bar = (share) => { const made = h("span", { class: "share" }); made.style.setProperty("--share", `${100 * (share ?? 0)}%`); return h("span", {}, share === null || share === undefined ? "–" : `${text(100 * share)} `, made); };
    const groups = Object.entries(result.groups ?? {});
    find("shares").replaceChildren(groups.length ? table("Who gets what", ["Flows", "Control", "Number", "Goodput (Mb/s)", "Share of its direction (%)", "Retransmitted", "Mean RTT (ms)"],
      groups.map(([name, one]) => [name.replaceAll("-", " "), one.transport, text(one.flows), text(one.goodput_bps / 1e6), bar(one.share), text(one.retransmits), text(one.rtt_ms?.mean)])) : h("p", {}, "No long transfers share the path."));
    const rows = [];
    const wide = /codec = "(opus|g722)"/.test(found.study);
    for (const [side, words] of [["talks", "Caller, user talks"], ["listens", "Caller, user listens"]]) {
      const one = result.voice?.[side];
      if (one) rows.push([words, mos(one.mos.median), `${one.calls} calls; ${text(100 * (one.loss + one.late))} % of the packets missing; ${text(one.ta_ms)} ms from mouth to ear`, wide ? "E-model, wide band" : "E-model"]);
    }
    // Who got nothing is the worst off, and not to be left out.
    if (now("voice") === "1" && !result.voice) rows.push(["Caller", "–", "no call was over before the run was", "E-model"]);
    if (now("web") === "1" && !result.web) rows.push(["Reader of web pages", "–", "no page had come before the run was over", "G.1030"]);
    if (result.web) rows.push(["Reader of web pages", mos(result.web.mos.median), `${result.web.loads} loads, ${result.web.unfinished} unfinished; median ${text(result.web.plt_s.median)} s`, "G.1030; the letter is of a scale made for voice (G.107)"]);
    const notes = [...new Set(Object.values(result.voice ?? {}).map((side) => side.note).filter(Boolean))]
      .map((note) => h("p", { class: "source" }, `Scores of wide-band speech are not to be put beside those of narrow-band speech; ${note}.`));
    find("users").replaceChildren(rows.length ? table("Users: median opinion score, 1 to 5, by formulas", ["User", "MOS", "Of", "Model"], rows) : h("p", {}, "No users are on the path."), ...notes);
    find("study").textContent = found.study;
    find("result").textContent = stored;
    find("hash").textContent = result.sha256;
    find("file").textContent = `results/explored/points/${result.hash}.json`;
    explorer.watch?.(view, result, { kinds: view.kinds, causes: view.causes });
  };

  let settled = 0;
  let turn = 0;
  const run = () => {
    clearTimeout(settled);
    settled = setTimeout(() => {
      // What comes of a study that was asked for before is no answer to this one, nor to a refusal.
      const mine = ++turn;
      const asked = study();
      const packets = ((Number(now("a")) + Number(now("b")) ? Number(now("down")) : 0) + (Number(now("c")) ? Number(now("up")) : 0)) * Number(now("length")) * 1e6 / 12000;
      if (packets > MOST_PACKETS) {
        tell({ error: `These would be about ${text(packets / 1e6)} million packets; a page runs at most ${MOST_PACKETS / 1e6} million. Choose a shorter run or a slower link.` });
        return;
      }
      place.dataset.state = "running";
      find("status").textContent = "Running …";
      const from = Math.min(Number(state.get("watch.from") ?? Number(now("length")) / 2), Number(now("length")) - 1);
      engine.give_up(4000);
      engine.ask({ study: asked, format: data.live.format, build: data.live.build, watch: [state.get("watch.link") ?? "down", Math.max(from, 0)] }, (found) => mine === turn && tell({ ...found, study: asked }));
    }, 30);
  };
  explorer.rerun = run;

  find("copies").replaceChildren(copier("Copy the study", () => find("study").textContent), " ", copier("Copy the result", () => find("result").textContent));
  controls();
  run();
})();
