// Stored sweeps as linked pictures: a map of one number over two axes, the same as lines, one number against another,
// and the cell that was chosen in any of them.
"use strict";
(() => {
  const { data, h, state, choice, copier, colour, letter, text } = explorer;
  const place = document.getElementById("sweeps");
  if (!place) return;
  const find = (name) => place.querySelector(`[data-part="${name}"]`);
  const NONE = "";
  let study, number, other, x, y, fixed, chosen, cellAt;

  const key = (at) => at.join(",");
  const axis = (path) => study.axes.find((one) => one.path === path);
  const label = (path, at) => axis(path).labels[at];
  const chosenNumber = (name, fallback) => study.numbers.find((one) => one.path === state.get(name)) ?? fallback;

  // From the state of the link, as far as it fits the study; the rest as suits the study.
  const take = () => {
    study = data.studies.find((one) => one.name === state.get("study")) ?? data.studies[0];
    cellAt = new Map(study.cells.map((cell, i) => [key(cell.at), i]));
    const several = study.axes.filter((one) => one.labels.length > 1);
    const buffers = several.filter((one) => one.path.endsWith("limit"));
    const paths = study.axes.map((one) => one.path);
    x = paths.includes(state.get("x")) ? state.get("x") : (buffers[0] ?? several[0] ?? study.axes[0])?.path ?? NONE;
    const rest = several.filter((one) => one.path !== x);
    y = paths.includes(state.get("y")) && state.get("y") !== x ? state.get("y") : state.get("y") === "-" ? NONE : (rest[0]?.path ?? NONE);
    number = chosenNumber("number", study.numbers[0]);
    other = chosenNumber("other", study.numbers.find((one) => one.path.startsWith("links") && one.path.endsWith("utilisation") && one !== number) ?? study.numbers.at(-1));
    fixed = study.axes.map((one) => Math.max(one.labels.indexOf(state.get(`at.${one.path}`)), 0));
    const asked = state.get("cell")?.split(",").map(Number);
    chosen = asked && cellAt.has(key(asked)) ? cellAt.get(key(asked)) : null;
  };

  // The cell at labels of x and y, where the other axes stand still.
  const cellOf = (across, down) => cellAt.get(key(study.axes.map((one, i) => (one.path === x ? across : one.path === y ? down : fixed[i]))));
  const labels = (path) => (path ? axis(path).labels : [""]);
  const words = (cell) => study.axes.map((one, i) => `${one.name} ${one.labels[cell.at[i]]}`).join(", ") || "The one cell";
  const runs = (cell) => (study.captured ? "" : `, ${cell.runs} ${cell.runs === 1 ? "run" : "runs"}`);
  const tells = (one, at) => {
    const found = one.cells[at];
    if (!found) return "no number";
    const unit = one.unit ? ` ${one.unit}` : "";
    return `${found[3]}${unit}${found[4] ? ` (95 % interval ${found[4]}${unit})` : study.captured ? "" : " (no interval)"}`;
  };

  const controls = () => {
    const grouped = () => ["Users", "Links", "Flows"].map((group) => ({
      group, options: study.numbers.filter((one) => one.group === group).map((one) => [one.path, one.title]),
    })).filter(({ options }) => options.length);
    const rows = [];
    const keep = (name) => (value) => { state.set(name, value); take(); show(); };
    if (data.studies.length > 1) {
      rows.push(choice("Study", data.studies.map((one) => [one.name, one.name]), study.name, (value) => {
        for (const name of ["x", "y", "cell", ...study.axes.map((one) => `at.${one.path}`)]) state.set(name, null);
        state.set("study", value);
        take();
        show();
      }).row);
    }
    rows.push(choice("Number", grouped(), number.path, keep("number")).row);
    if (study.axes.length) {
      const named = study.axes.map((one) => [one.path, one.name]);
      rows.push(choice("Across", named, x, (value) => {
        if (value === y) { state.set("y", x); }
        state.set("x", value);
        take();
        show();
      }).row);
      if (study.axes.length > 1) rows.push(choice("Down", [["-", "nothing"], ...named.filter(([path]) => path !== x)], y || "-", keep("y")).row);
    }
    study.axes.forEach((one, i) => {
      if (one.path === x || one.path === y || one.labels.length < 2) return;
      rows.push(choice(one.name, one.labels.map((each) => [each, each]), one.labels[fixed[i]], keep(`at.${one.path}`)).row);
    });
    rows.push(choice("Against", grouped(), other.path, keep("other")).row);
    // The choice that was just made keeps the focus.
    const had = [...find("controls").querySelectorAll("select")].indexOf(document.activeElement);
    find("controls").replaceChildren(...rows);
    if (had >= 0) find("controls").querySelectorAll("select")[had]?.focus();
    find("about").textContent = study.about;
    find("notes").replaceChildren(...study.notes.map((note) => h("li", {}, note)));
  };

  const standing = () => study.axes.map((one, i) => (one.path === x || one.path === y || one.labels.length < 2 ? null : `${one.name} ${one.labels[fixed[i]]}`)).filter(Boolean).join(", ");

  const map = () => {
    const numbers = number.cells.filter(Boolean).map((found) => found[0]);
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    const head = h("tr", {}, h("th", { scope: "col" }, y ? axis(y).name : h("span", { class: "sr" }, "Setting")), ...labels(x).map((each) => h("th", { scope: "col" }, each || "The one cell")));
    const body = labels(y).map((down, j) => h("tr", {}, h("th", { scope: "row" }, down || number.name), ...labels(x).map((_, i) => {
      const at = cellOf(i, j);
      if (at === undefined) return h("td", { class: "absent" }, h("span", {}, "–", h("span", { class: "sr" }, " not run")));
      const found = number.cells[at];
      // A lower bound is of no class, and no short time.
      const classed = found && !found[3].startsWith("≥");
      const button = h("button", {
        type: "button", "data-cell": at, tabindex: -1, "aria-pressed": String(at === chosen),
        "aria-label": `${words(study.cells[at])}: ${tells(number, at)}`,
        onclick: () => pick(at, true), onmouseenter: () => read(at), onfocus: () => read(at),
      }, found ? found[3] : "–", classed && letter(number.scale, found[0]) ? h("small", {}, letter(number.scale, found[0])) : null);
      if (classed) {
        const { back, ink } = colour(number.scale, found[0], low, high);
        button.style.background = back;
        button.style.color = ink;
      }
      return h("td", {}, button);
    })));
    const where = standing();
    const caption = h("caption", {}, `${number.title}${x ? `, across: ${axis(x).name}` : ""}${where ? `, at ${where}` : ""}`);
    const table = h("table", { class: "map" }, caption, h("thead", {}, head), h("tbody", {}, ...body));
    const buttons = [...table.querySelectorAll("button")];
    (table.querySelector('[aria-pressed="true"]') ?? buttons[0])?.setAttribute("tabindex", 0);
    table.addEventListener("keydown", move);
    find("map").replaceChildren(table);
    find("classes").replaceChildren(...number.scale.meanings.map((meaning, i) => {
      const key = h("li", {}, `${number.scale.letters[i]}: ${meaning}`);
      key.style.setProperty("--key", number.scale.colours[i]);
      return key;
    }));
    find("source").textContent = number.scale.source ? `Classes: ${number.scale.source}.` : "";
    read(chosen);
  };

  // Arrows go from cell to cell; one cell is a stop of the Tab key.
  const move = (event) => {
    const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    const from = event.target.closest("button");
    if (!way || !from) return;
    event.preventDefault();
    const rows = [...event.currentTarget.tBodies[0].rows];
    let [row, column] = [rows.indexOf(from.closest("tr")), from.closest("td").cellIndex];
    for (;;) {
      [row, column] = [row + way[0], column + way[1]];
      const to = rows[row]?.cells[column];
      if (!to) return;
      const button = to.querySelector("button");
      if (!button) continue;
      from.setAttribute("tabindex", -1);
      button.setAttribute("tabindex", 0);
      button.focus();
      return;
    }
  };

  const read = (at) => {
    find("reading").textContent = at === null || at === undefined ? "Point at a cell for its interval, choose it for all of it." : `${words(study.cells[at])}: ${tells(number, at)}${runs(study.cells[at])}.`;
  };

  const pick = (at, go) => {
    chosen = at;
    state.set("cell", key(study.cells[at].at));
    for (const button of find("map").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.cell) === at));
    }
    read(at);
    lines();
    against();
    cell();
    if (go) find("cell").querySelector("h3").focus({ preventScroll: true });
    find("cell").scrollIntoView({ block: "nearest" });
  };

  const lines = () => {
    const across = labels(x);
    const rows = labels(y).map((down, j) => {
      const cells = across.map((_, i) => cellOf(i, j)).map((at) => (at === undefined ? null : number.cells[at]));
      return {
        name: down || number.name, points: true,
        values: cells.map((found) => found?.[0] ?? null),
        low: cells.map((found) => found?.[1] ?? null),
        high: cells.map((found) => found?.[2] ?? null),
        tell: cells.map((found) => (found ? found[3] + (found[4] ? ` (${found[4]})` : "") : "–")),
        bold: chosen !== null && y && label(y, study.cells[chosen].at[study.axes.indexOf(axis(y))]) === down,
      };
    });
    const mark = chosen === null || !x ? null : study.cells[chosen].at[study.axes.indexOf(axis(x))];
    explorer.chart(find("lines"), {
      x: across.map((_, i) => i), ticks: across, xTitle: x ? axis(x).name : "", yTitle: number.title, series: rows, mark, keys: true,
      pick: (i, j) => { const at = cellOf(i, j); if (at !== undefined) pick(at, false); },
      says: `${number.title} over ${x ? axis(x).name : "the one cell"}, a line for each ${y ? axis(y).name : "study"}; the same numbers as in the table.`,
    });
  };

  // A dot for each cell of the whole sweep, in order of the other number.
  const against = () => {
    const dots = study.cells.map((cell, at) => ({ at, across: other.cells[at]?.[0], down: number.cells[at]?.[0], row: y ? cell.at[study.axes.indexOf(axis(y))] : 0 }));
    const there = dots.filter((dot) => Number.isFinite(dot.across) && Number.isFinite(dot.down)).sort((a, b) => a.across - b.across);
    const series = labels(y).map((down, j) => ({
      name: down || "cell", dots: true,
      values: there.map((dot) => (dot.row === j ? dot.down : null)),
      tell: there.map((dot) => `${number.cells[dot.at][3]} (${words(study.cells[dot.at])})`),
    }));
    find("against-title").textContent = `${number.name} against ${other.name}`;
    if (!there.length) { find("against").replaceChildren(h("p", {}, "No cell has both numbers.")); return; }
    const mark = chosen === null ? null : other.cells[chosen]?.[0] ?? null;
    explorer.chart(find("against"), {
      x: there.map((dot) => dot.across), xTitle: other.title, yTitle: number.title, series, mark, keys: Boolean(y),
      pick: (i) => pick(there[i].at, false),
      says: `${number.title} against ${other.title}: ${there.length} cells, from ${text(there[0].across)} to ${text(there.at(-1).across)} across.`,
    });
  };

  const cell = () => {
    const box = find("cell");
    if (chosen === null) { box.replaceChildren(h("h3", {}, "No cell is chosen"), h("p", {}, "Choose a cell of the table, or a point of a picture.")); return; }
    const about = study.cells[chosen];
    const row = (one) => {
      const found = one.cells[chosen];
      return found && h("tr", {}, h("th", { scope: "row", class: "w" }, one.title), h("td", {}, found[3]), h("td", {}, found[4] || "–"));
    };
    const table = h("table", {}, h("caption", {}, `Numbers of this cell${study.captured ? "" : `: means over ${about.runs} ${about.runs === 1 ? "run, without intervals" : "runs, and 95 % of Student's t"}`}`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "w" }, "Number"), h("th", { scope: "col" }, "Mean"), h("th", { scope: "col" }, "95 % interval"))),
      h("tbody", {}, ...study.numbers.map(row).filter(Boolean)));
    const links = Object.values(about.series);
    const pictures = links.flatMap((link) => [["delay", "Queueing delay (ms)"], ["utilisation", "Utilisation (%)"], ["drops", "Dropped packets"]].map(([what, title]) => ({ link, what, title, box: h("div", { class: "plot" }) })));
    box.replaceChildren(
      h("h3", { tabindex: -1 }, words(about)),
      h("p", {}, "Run it again: ", h("code", { "data-command": "" }, about.command), " ", copier("Copy", () => about.command)),
      ...(about.sounds.length ? [h("h4", {}, "Calls as they sounded"), h("div", { class: "sounds" }, ...about.sounds.map((sound) => h("div", {},
        h("p", {}, h("strong", {}, sound.direction), `. ${sound.words}`),
        h("label", { class: "player" }, "As it was heard", h("audio", { controls: true, preload: "none", src: sound.heard, "aria-label": `As it was heard, ${sound.direction}` })),
        h("label", { class: "player" }, "As it was said", h("audio", { controls: true, preload: "none", src: sound.said, "aria-label": `As it was said, ${sound.direction}` })))))] : []),
      ...(links.length ? [h("h4", {}, `Over time${about.runs > 1 ? ", first run" : ""}`), h("div", { class: "pictures" }, ...pictures.map((one) => h("div", {}, h("p", { class: "over" }, `${one.link.name[0].toUpperCase()}${one.link.name.slice(1)}: ${one.title[0].toLowerCase()}${one.title.slice(1)}`), one.box)))] : [h("p", { class: "note" }, "No series of this cell are in this page.")]),
      h("details", { open: innerWidth > 640 }, h("summary", {}, "All its numbers"), h("div", { class: "scroll", role: "region", "aria-label": "All numbers of the cell", tabindex: 0 }, table)),
    );
    for (const { link, what, title, box: into } of pictures) {
      const values = link[what];
      const numbers = values.filter((one) => one !== null);
      explorer.chart(into, {
        x: values.map((_, i) => +((i + (what === "drops" ? 0 : 0.5)) * link.bin_s).toPrecision(6)), xTitle: `Time (s), in bins of ${text(link.bin_s)} s`, height: 150, zero: true,
        series: [{ name: title, values, colour: { delay: 0, utilisation: 2, drops: 1 }[what], steps: what === "drops" }],
        says: `${title} of the ${link.name} over time: ${numbers.length ? `from ${text(Math.min(...numbers))} to ${text(Math.max(...numbers))}` : "nothing was sent"}.`,
      });
    }
  };

  const show = () => { controls(); map(); lines(); against(); cell(); };
  take();
  if (study.numbers.length) show();
})();
