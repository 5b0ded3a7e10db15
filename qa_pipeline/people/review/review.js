"use strict";
(() => {
  document.getElementById("evidence")?.scrollIntoView({ block: "center" });

  // news of a job: the part of its page that changes, until nothing more comes
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
