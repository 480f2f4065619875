// Lines over an axis, drawn by uPlot: colours of the page, a legend that is text, intervals, and a name for those who
// do not see the picture.
"use strict";
explorer.chart = (() => {
  const { h, text } = explorer;
  const LIGHT = ["#0b5c94", "#b8431d", "#2b7a4b", "#7d3f98", "#8f6400", "#4d545f", "#b3124f", "#00727c"];
  const DARK = ["#74bdf2", "#f2977a", "#83d3a3", "#d3a6ec", "#e8be5a", "#c3c8cf", "#f598b8", "#58d2e0"];
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 2], [1, 2], [12, 5], [4, 4]];
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const line = (i) => (dark() ? DARK : LIGHT)[i % LIGHT.length];
  const css = (name) => {
    const probe = getComputedStyle(root).getPropertyValue(name);
    const two = /light-dark\(([^,]+),\s*([^)]+)\)/.exec(probe);
    return two ? two[dark() ? 2 : 1].trim() : probe.trim();
  };

  const charts = new Map();
  const redraw = () => { for (const { plot, legend } of charts.values()) { plot.redraw(); legend(); } };
  document.querySelector("[data-toggle-theme]")?.addEventListener("click", () => setTimeout(redraw));
  system.addEventListener("change", redraw);
  const fit = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      const held = charts.get(target);
      const width = Math.floor(target.clientWidth);
      if (held && width && width !== held.plot.width) held.plot.setSize({ width, height: held.plot.height });
    }
  });

  // Intervals: a bar from low to high through each point.
  const bars = (series) => (plot) => {
    const { ctx } = plot;
    series.forEach((one, i) => {
      if (!one.low || !plot.series[i + 1].show) return;
      ctx.save();
      ctx.strokeStyle = line(one.colour ?? i);
      ctx.lineWidth = 1.5 * devicePixelRatio;
      ctx.beginPath();
      plot.data[0].forEach((x, at) => {
        if (one.low[at] === null || one.low[at] === undefined) return;
        const across = plot.valToPos(x, "x", true);
        const [from, to] = [one.low[at], one.high[at]].map((y) => plot.valToPos(y, "y", true));
        ctx.moveTo(across, from);
        ctx.lineTo(across, to);
      });
      ctx.stroke();
      ctx.restore();
    });
  };

  // The ends of an axis: a twentieth of its numbers at least, so that those that read alike lie on one line, and what
  // the last digit tells is no slope.
  const wide = (from, to) => {
    const more = Math.max(Math.max(Math.abs(from), Math.abs(to)) / 20 || 2, to - from) - (to - from);
    return [from - more / 2, to + more / 2];
  };

  // Draws into `box`, in place of what was there. `spec`: x, xTitle, yTitle, series of {name, values, low, high, dots},
  // and as it pleases ticks (texts at 0, 1, …), mark (an x that is chosen), zero (y begins there), pick, says, height.
  return (box, spec) => {
    charts.get(box)?.plot.destroy();
    fit.unobserve(box);
    box.replaceChildren();
    const reading = h("p", { class: "reading" }, "\u00a0");
    const keys = h("ul", { class: "keys" });
    const legend = () => keys.replaceChildren(...spec.series.map((one, i) => {
      const key = h("li", {}, one.name);
      key.style.setProperty("--key", line(one.colour ?? i));
      return key;
    }));
    const least = Math.min(...spec.series.flatMap((one) => [...(one.low ?? []), ...one.values]).filter(Number.isFinite));
    const grid = { stroke: () => css("--line"), width: 1 };
    const axis = { stroke: () => css("--ink"), grid, ticks: grid, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif", labelSize: 20 };
    const across = spec.ticks
      ? { splits: () => spec.ticks.map((_, at) => at), values: (_, splits) => splits.map((at) => spec.ticks[at] ?? "") }
      : { values: (_, splits) => splits.map((at) => `${+at.toPrecision(6)}`) };
    const options = {
      width: Math.max(Math.floor(box.clientWidth), 200),
      height: spec.height ?? 250,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 8 } },
      scales: {
        x: { time: false, range: (_, low, high) => (spec.ticks ? [-0.3, spec.ticks.length - 0.7] : wide(low, high)) },
        y: {
          range: (_, low, high) => {
            const [from, to] = [Math.min(low ?? 0, least), Math.max(high ?? 1, ...spec.series.flatMap((one) => (one.high ?? []).filter(Number.isFinite)))];
            if (spec.share) return [0, 1];
            const [bottom, top] = wide(from, to);
            const room = (top - bottom) * 0.08;
            return [spec.zero || from >= 0 && bottom - room < 0 ? 0 : bottom - room, top + room];
          },
        },
      },
      axes: [{ ...axis, ...across, label: spec.xTitle }, { ...axis, ...(spec.yTitle ? { label: spec.yTitle } : {}), size: 58, values: (_, splits) => splits.map((at) => `${+at.toPrecision(6)}`) }],
      series: [{}, ...spec.series.map((one, i) => ({
        label: one.name,
        stroke: () => line(one.colour ?? i),
        width: one.dots ? 0 : one.bold ? 3 : 1.75,
        dash: one.dots ? undefined : DASHES[(one.colour ?? i) % DASHES.length],
        points: { show: Boolean(one.dots || one.points), size: one.dots ? 9 : 6, fill: () => line(one.colour ?? i), stroke: () => line(one.colour ?? i) },
        spanGaps: Boolean(spec.gaps),
        paths: one.dots ? () => null : one.steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      }))],
      hooks: {
        draw: [bars(spec.series), (plot) => {
          if (spec.mark === undefined || spec.mark === null) return;
          const { ctx, bbox } = plot;
          const at = plot.valToPos(spec.mark, "x", true);
          ctx.save();
          ctx.strokeStyle = css("--soft");
          ctx.lineWidth = devicePixelRatio;
          ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
          ctx.beginPath();
          ctx.moveTo(at, bbox.top);
          ctx.lineTo(at, bbox.top + bbox.height);
          ctx.stroke();
          ctx.restore();
        }],
        setCursor: [(plot) => {
          const at = plot.cursor.idx;
          if (at === null || at === undefined) { reading.textContent = "\u00a0"; return; }
          const where = spec.ticks ? spec.ticks[plot.data[0][at]] ?? "" : text(plot.data[0][at]);
          const values = spec.series.filter((one) => Number.isFinite(one.values[at])).map((one) => `${one.name} ${one.tell?.[at] ?? text(one.values[at])}`);
          reading.textContent = `${where}: ${values.join(" · ") || "nothing"}`;
        }],
        ready: spec.pick ? [(plot) => plot.over.addEventListener("click", () => {
          const { idx, top } = plot.cursor;
          if (idx === null || idx === undefined) return;
          const far = spec.series.map((one) => (Number.isFinite(one.values[idx]) ? Math.abs(plot.valToPos(one.values[idx], "y") - top) : Infinity));
          const nearest = far.indexOf(Math.min(...far));
          if (far[nearest] < Infinity) spec.pick(idx, nearest);
        })] : [],
      },
    };
    box.setAttribute("role", "img");
    box.setAttribute("aria-label", spec.says);
    const plot = new uPlot(options, [spec.x, ...spec.series.map((one) => one.values)], box);
    if (spec.series.length > 1 || spec.keys) box.append(keys);
    box.append(reading);
    legend();
    charts.set(box, { plot, legend });
    fit.observe(box);
    return plot;
  };
})();
