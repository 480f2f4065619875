// What the parts of an explorer share: elements, the state that a link keeps, texts, colours.
"use strict";
const explorer = (() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // An element with attributes, listeners (onclick) and children.
  const h = (tag, about = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(about)) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  };

  // The state lives behind `#view:` in the address, so that a link to the page brings it back.
  const MARK = "#view:";
  const kept = new URLSearchParams(location.hash.startsWith(MARK) ? location.hash.slice(MARK.length) : "");
  const address = () => {
    const text = kept.toString();
    return location.href.replace(/#.*$/, "") + (text ? MARK + text : "");
  };
  let waiting = 0;
  const state = {
    get: (key) => kept.get(key),
    set: (key, value) => {
      if (value === null || value === undefined) kept.delete(key);
      else kept.set(key, value);
      clearTimeout(waiting);
      waiting = setTimeout(() => history.replaceState(null, "", address()), 150);
    },
    link: address,
  };

  // A link to the same page with another state is another view: read it anew.
  let own = location.hash;
  addEventListener("hashchange", () => {
    if (location.hash.startsWith(MARK) && location.hash !== own && location.hash.slice(MARK.length) !== kept.toString()) location.reload();
    own = location.hash;
  });

  // A labelled choice: options are [value, text] or {group, options}.
  let numbers = 0;
  const choice = (label, options, chosen, onchange) => {
    const id = `choice-${++numbers}`;
    const option = ([value, text]) => h("option", { value, selected: value === chosen }, text);
    const select = h("select", { id }, ...options.map((one) => (Array.isArray(one) ? option(one) : h("optgroup", { label: one.group }, ...one.options.map(option)))));
    if (onchange) select.addEventListener("change", () => onchange(select.value));
    return { row: h("div", { class: "field" }, h("label", { for: id }, label), select), select };
  };

  // A button that copies a text, and says so.
  const copier = (words, text) => {
    const said = h("span", { class: "sr", role: "status" });
    const button = h("button", { type: "button", class: "plain" }, words);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text());
        button.textContent = "Copied";
        said.textContent = "Copied";
      } catch {
        button.textContent = "Could not be copied: mark it by hand";
      }
      setTimeout(() => { button.textContent = words; said.textContent = ""; }, 1800);
    });
    return h("span", {}, button, said);
  };

  // The colour of a number on its scale, and the ink that can be read on it.
  const parts = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const rank = (scale, number) => scale.edges.filter((edge) => number + 1e-9 >= edge).length;
  const colour = (scale, number, low, high) => {
    let rgb;
    if (scale.edges.length) {
      rgb = parts(scale.colours[rank(scale, number)]);
    } else {
      const [from, to] = [scale.bounds[0] ?? low, scale.bounds[1] ?? high];
      const share = to > from ? Math.min(Math.max((number - from) / (to - from), 0), 1) : 0;
      const place = share * (scale.colours.length - 1);
      const [a, b] = [Math.floor(place), Math.ceil(place)].map((at) => parts(scale.colours[at]));
      rgb = a.map((part, i) => Math.round(part + (b[i] - part) * (place - Math.floor(place))));
    }
    return { back: `rgb(${rgb})`, ink: luminance(rgb) > 0.179 ? "#000" : "#fff" };
  };
  const letter = (scale, number) => (scale.letters.length ? scale.letters[rank(scale, number)] : "");

  // A number for reading: three significant digits, no more than the eye takes in.
  const text = (number) => {
    if (number === null || number === undefined || !Number.isFinite(number)) return "–";
    const size = Math.abs(number);
    if (size >= 1000) return Math.round(number).toLocaleString("en").replaceAll(",", "\u202f");
    if (Number.isInteger(number)) return String(number).replace(/^-/, "−");
    const said = size >= 100 ? number.toFixed(0) : number.toPrecision(3);
    return said.replace(/^-/, "−");
  };

  return { data, h, state, choice, copier, colour, letter, text };
})();
