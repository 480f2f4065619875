// What a page does beyond being read: light or dark, contents that follow, tables that sort, figures that are saved.
// Everything can be read without it; nothing is asked of the network and nothing is kept when the page is closed.
"use strict";
(() => {
  const root = document.documentElement;

  // Light or dark: as the system says until the reader says otherwise.
  const toggle = document.querySelector("[data-toggle-theme]");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const name = () => { toggle.textContent = dark() ? "Light page" : "Dark page"; };
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; name(); });
    system.addEventListener("change", name);
    name();
  }

  // Contents: open at the side of a wide window, closed above the text of a narrow one.
  const contents = document.querySelector(".toc details");
  const wide = matchMedia("(min-width: 1160px)");
  if (contents) {
    const fit = () => { contents.open = wide.matches; };
    wide.addEventListener("change", fit);
    fit();
    const links = new Map([...contents.querySelectorAll("a")].map((a) => [a.hash.slice(1), a]));
    const heads = [...document.querySelectorAll("main [id]")].filter((head) => links.has(head.id));
    const here = () => {
      const passed = heads.filter((head) => head.getBoundingClientRect().top < innerHeight * 0.12);
      const at = passed.at(-1) ?? heads[0];
      for (const [id, link] of links) {
        if (at && id === at.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    };
    let waiting = false;
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; here(); });
    }, { passive: true });
    here();
    contents.addEventListener("click", (event) => {
      if (event.target.closest("a") && !wide.matches) contents.open = false;
    });
  }

  // A link to something inside a closed fold opens it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  };
  addEventListener("hashchange", reveal);
  reveal();

  // Tables: a button in every head; the raw number of a cell is its data-sort, else what its text begins with.
  const number = (cell) => {
    const text = cell.dataset.sort ?? cell.textContent.trim().replace(/[\u2212\u2013](?=\d)/, "-").replace(/(\d)[\s\u00a0\u202f](?=\d{3}\b)/g, "$1");
    const found = /^[-+]?\d*\.?\d+(e[-+]?\d+)?/i.exec(text);
    return found ? Number(found[0]) : NaN;
  };
  const words = (cell) => cell.dataset.sort ?? cell.textContent.trim();
  const inWords = new Intl.Collator("en", { numeric: true }).compare;
  const compare = (type, way) => (a, b) => {
    if (type !== "number") return way * inWords(words(a), words(b));
    const [x, y] = [number(a), number(b)];
    // A cell without a number stays last, both ways.
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
    return way * (x - y);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
    const said = document.createElement("span");
    said.className = "sr";
    said.setAttribute("role", "status");
    table.closest(".scroll, section, body").after(said);
    heads.forEach((head, column) => {
      let button = head.querySelector("button");
      if (!button) {
        button = document.createElement("button");
        button.type = "button";
        button.append(...head.childNodes);
        head.append(button);
      }
      button.addEventListener("click", () => {
        const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        const order = compare(head.dataset.type ?? "text", way);
        const rows = [...body.rows].sort((a, b) => order(a.cells[column], b.cells[column]));
        body.append(...rows);
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
        said.textContent = `Sorted by ${button.textContent.trim()}, ${way > 0 ? "rising" : "falling"}`;
      });
    });
  }

  // What scrolls sideways can be reached and scrolled by keyboard.
  const called = (box) => {
    const says = box.querySelector("caption") ?? box.closest("article, section")?.querySelector("h1, h2, h3, h4");
    return says?.textContent.trim() || "Scrolls";
  };
  const boxes = document.querySelectorAll(".pic, .scroll, pre");
  // A number that its box cuts off would be read as another one, and a table that ends with a whole row as all of it:
  // what goes on to the right or below fades out there.
  const fade = (box) => {
    box.classList.toggle("more", box.scrollWidth > box.clientWidth + box.scrollLeft + 1);
    box.classList.toggle("below", box.scrollHeight > box.clientHeight + box.scrollTop + 1);
  };
  for (const box of boxes) box.addEventListener("scroll", () => fade(box), { passive: true });
  const reach = () => {
    for (const box of boxes) {
      fade(box);
      if (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1) {
        box.tabIndex = 0;
        box.setAttribute("role", "region");
        if (!box.hasAttribute("aria-label")) box.setAttribute("aria-label", called(box));
      } else {
        box.removeAttribute("tabindex");
      }
    }
  };
  addEventListener("resize", reach);
  document.addEventListener("toggle", reach, true);
  reach();

  // A figure is saved from the page itself, so that a page that was mailed has its figures as files too.
  for (const button of document.querySelectorAll("button[data-save]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const drawn = document.getElementById(button.dataset.save).querySelector("svg").cloneNode(true);
      const text = new XMLSerializer().serializeToString(drawn);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      link.download = `${button.dataset.save}.svg`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // What is printed is printed whole and light; folds that belong on paper are opened for it.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not(.screen):not([open])")];
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of opened) fold.open = false; });

  // Paper does not scroll: a table with more columns than a sheet has room for is printed in parts one below the other,
  // each with the columns that name its rows.
  const room = 12;
  let parts = [];
  const part = (box) => {
    const table = box.querySelector("table");
    if (!table || table.querySelector("[colspan], [rowspan]")) return;
    const heads = [...table.rows[0].cells];
    const named = Math.max(heads.findIndex((head) => !head.classList.contains("w")), 0);
    const many = Math.ceil((heads.length - named) / Math.max(room - named, 4));
    if (many < 2) return;
    const size = Math.ceil((heads.length - named) / many);
    for (let at = named; at < heads.length; at += size) {
      const some = table.cloneNode(true);
      for (const row of some.rows) [...row.cells].forEach((cell, i) => i < named || (i >= at && i < at + size) || cell.remove());
      const piece = box.cloneNode(false);
      piece.classList.add("part");
      piece.append(some);
      box.before(piece);
      parts.push(piece);
    }
    box.classList.add("parted");
  };
  addEventListener("beforeprint", () => document.querySelectorAll(".wide:not(details.screen *)").forEach(part));
  addEventListener("afterprint", () => {
    for (const piece of parts) piece.remove();
    for (const box of document.querySelectorAll(".parted")) box.classList.remove("parted");
    parts = [];
  });
})();
