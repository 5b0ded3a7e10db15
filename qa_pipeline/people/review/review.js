"use strict";
(() => {
  document.getElementById("evidence")?.scrollIntoView({ block: "center" });
})();

/* source: a result of a search, or the place that the address names, is shown rather than the evidence. */
(document.getElementById(location.hash.slice(1)) ?? document.getElementById("current"))?.scrollIntoView({ block: "center" });

/* source: words that are selected in a document become the evidence of a form. */
(() => {
  const placeIn = (element, node, offset) => {
    // Offsets of the text count characters, those of a browser 16-bit units.
    if (!element.contains(node)) return null;
    const before = document.createRange();
    before.selectNodeContents(element);
    before.setEnd(node, offset);
    return [...before.toString()].length;
  };
  const selectedSpan = () => {
    const selection = document.getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const range = selection.getRangeAt(0);
    const source = document.querySelector(".document[data-document]");
    if (!source || !range.intersectsNode(source)) return null;
    let start = null;
    let end = null;
    for (const element of source.querySelectorAll("[data-start]")) {
      if (!range.intersectsNode(element)) continue;
      const length = [...element.textContent].length;
      const first = placeIn(element, range.startContainer, range.startOffset) ?? 0;
      const last = placeIn(element, range.endContainer, range.endOffset) ?? length;
      if (first >= last) continue;
      const place = Number(element.dataset.start);
      start = Math.min(start ?? Infinity, place + first);
      end = Math.max(end ?? 0, place + last);
    }
    return start === null ? null : { document: source.dataset.document, start, end, words: selection.toString() };
  };
  document.addEventListener("selectionchange", () => {
    const span = selectedSpan();
    if (!span) return;
    for (const form of document.querySelectorAll("form[data-evidence]")) {
      const values = { evidence_document_id: span.document, evidence_start: span.start, evidence_end: span.end };
      for (const [name, value] of Object.entries(values)) {
        const input = form.elements.namedItem(name);
        if (input) input.value = value;
      }
      const words = form.querySelector("[data-evidence-words]");
      if (words) words.textContent = span.words;
    }
  });
})();
