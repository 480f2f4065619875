// Texts that are fainter than 4.5:1 against what they stand on (WCAG 2 AA), outside figures, where they are drawn.
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (colour) => {
    const part = colour.slice(0, 3).map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
      if (colour[3] > 0) return null;
    }
    return [255, 255, 255, 255];
  };
  const faint = new Set();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || element.closest('svg, script, style, .sr')) continue;
    if (!element.checkVisibility()) continue;
    const paper = behind(element);
    const [a, b] = [luminance(rgba(getComputedStyle(element).color)), paper && luminance(paper)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (!paper || !(ratio >= 4.5)) faint.add(`${ratio.toFixed(2)}: ${texts.currentNode.data.trim().slice(0, 60)}`);
  }
  return [...faint];
}
