"use strict";
(() => {
  // Scroll to the element that the address names, or to the current claim, or to the evidence.
  const show = (address) => {
    const names = [new URL(address).hash.slice(1), "current", "evidence"];
    const target = names.map((name) => document.getElementById(name)).find((element) => element);
    if (!target) return;
    const pane = target.closest("#source");
    if (pane && target !== pane && getComputedStyle(pane).overflowY === "auto") {
      // Only the pane scrolls, so that the rest of the page does not move.
      const offset = target.getBoundingClientRect().top - pane.getBoundingClientRect().top;
      pane.scrollTop += offset - pane.clientHeight / 3;
    } else {
      target.scrollIntoView({ block: "center" });
    }
  };

  // Links that change only some parts of the page: fetch the page and swap these parts.
  const PARTS = ["answer", "claims", "source"].filter((id) => document.getElementById(id));
  const withoutHash = (address) => address.split("#")[0];
  let currentAddress = withoutHash(location.href);
  const swap = async (address) => {
    const reply = await fetch(address);
    if (!reply.ok || !PARTS.length) throw new Error(reply.statusText);
    const other = new DOMParser().parseFromString(await reply.text(), "text/html");
    const { id: focused, textContent: label } = document.activeElement;
    const fresh = PARTS.map((id) => other.getElementById(id));
    if (!fresh.every((part) => part)) throw new Error("another page");
    for (const part of fresh) document.getElementById(part.id).replaceWith(part);
    currentAddress = withoutHash(address);
    const again = [...document.querySelectorAll("a[data-swap]")].find((link) => link.textContent === label);
    (document.getElementById(focused) ?? again)?.focus({ preventScroll: true });
    show(address);
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-swap]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const address = link.href;
    swap(address).then(() => history.pushState(null, "", address), () => location.assign(address));
  });
  addEventListener("popstate", () => {
    if (withoutHash(location.href) !== currentAddress) swap(location.href).catch(() => location.reload());
  });

  // Filters: choosing a value shows its pairs. Empty fields are left out of the address.
  document.querySelector(".filters")?.addEventListener("change", (event) => {
    if (event.target.matches("select")) event.currentTarget.requestSubmit();
  });
  document.querySelector(".filters")?.addEventListener("formdata", (event) => {
    for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
  });

  // Escape closes a tooltip without moving focus or pointer.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const tip of document.querySelectorAll(".tip:hover, .tip:focus-within")) tip.classList.add("is-closed");
  });
  for (const kind of ["mouseout", "focusout"]) {
    document.addEventListener(kind, (event) => event.target.closest?.(".tip")?.classList.remove("is-closed"));
  }

  // Keys: data-key lists the keys that press an element. They have no effect while a field has the focus.
  let isSent = false;
  document.addEventListener("submit", (event) => { isSent ||= event.target.method === "post"; });
  addEventListener("pageshow", () => { isSent = false; });
  document.addEventListener("keydown", (event) => {
    const field = event.target.closest?.("input, textarea, select");
    if (field && event.key === "Escape") field.blur();
    if (field || isSent || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key.length !== 1 || event.key === " " || document.querySelector("dialog[open]")) return;
    const pressed = document.querySelector(`[data-key~="${CSS.escape(event.key)}"]`);
    if (!pressed) return;
    event.preventDefault();
    if (pressed.matches("input")) pressed.select();
    else if (pressed.matches("summary")) {
      pressed.parentElement.open = true;
      pressed.parentElement.querySelector("textarea, button").focus();
    } else pressed.click();
  });
  document.querySelector("a[href='#keys']")?.addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("keys").showModal();
  });
  if (location.hash === "#search") document.getElementById("search")?.focus();

  show(location.href);
})();

/* asking */
(() => {
  // Follow a job: replace the part of its page that changes until the job is done.
  const follow = async () => {
    let job;
    while ((job = document.getElementById("job"))?.dataset.more !== undefined) {
      const reply = await fetch(`${location.pathname}?seen=${job.dataset.steps}`);
      if (!reply.ok) return;
      const news = new DOMParser().parseFromString(await reply.text(), "text/html").getElementById("job");
      if (!news) return;
      const open = job.querySelector("details")?.open;
      job.replaceWith(news);
      if (open) news.querySelector("details")?.setAttribute("open", "");
    }
  };
  follow();
})();
