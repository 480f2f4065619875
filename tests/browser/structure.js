// What a screen reader would trip over: names, headings in order, links that lead nowhere, tables without captions.
() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const named = (e) => (e.getAttribute('aria-label') || e.alt || e.textContent).trim();
  for (const svg of all('svg')) {
    if (svg.getAttribute('role') !== 'img' || !svg.getAttribute('aria-label')) wrong.push('a figure without a name');
  }
  for (const e of all('img, audio, nav, [role=region]')) {
    if (!(e.getAttribute('aria-label') || e.getAttribute('alt') || e.getAttribute('aria-labelledby'))) wrong.push(e.outerHTML.slice(0, 80));
  }
  for (const e of all('button, a, summary')) if (!named(e)) wrong.push(`nameless ${e.outerHTML.slice(0, 80)}`);
  const ids = all('[id]').map((e) => e.id);
  if (new Set(ids).size !== ids.length) wrong.push('an id twice');
  for (const a of all("a[href^='#']")) if (!document.getElementById(a.hash.slice(1))) wrong.push(`${a.hash} leads nowhere`);
  const sections = all('main h2').length;
  if (all('.toc > details > ol > li').length !== sections || sections < 3) wrong.push('contents that are not those of the page');
  let before = 0;
  for (const h of all('h1, h2, h3, h4, h5, h6')) {
    const level = Number(h.tagName[1]);
    if (level > before + 1) wrong.push(`${h.tagName} after H${before}: ${h.textContent.trim()}`);
    before = level;
  }
  if (all('h1').length !== 1) wrong.push('not one h1');
  for (const table of all('table')) {
    if (!table.caption || !table.caption.textContent.trim()) wrong.push(`a table without a caption: ${table.textContent.trim().slice(0, 40)}`);
  }
  for (const th of all('th')) if (!['col', 'row'].includes(th.scope)) wrong.push(`th without scope: ${th.textContent}`);
  for (const e of all('figure')) if (!e.querySelector('figcaption')) wrong.push('a figure without a caption');
  if (document.documentElement.lang !== 'en' || !document.title) wrong.push('no language or title');
  return wrong;
}
