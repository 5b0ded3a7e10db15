"use strict";
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const most = Number(form.dataset.most);
  const rows = [...document.querySelectorAll("article.row")];
  const choices = [...form.querySelectorAll("select")];
  const said = document.getElementById("shown");
  const fits = (row, choice) =>
    choice.value === "" || row.getAttribute("data-" + choice.name).split(" ").includes(choice.value);
  const show = () => {
    let found = 0;
    for (const row of rows) {
      const wanted = choices.every((choice) => fits(row, choice));
      if (wanted) found += 1;
      row.hidden = !wanted || found > most;
    }
    said.textContent = `${Math.min(found, most)} of ${found} that fit, of ${rows.length} in this page`;
  };
  form.hidden = false;
  form.addEventListener("change", show);
  form.addEventListener("reset", () => setTimeout(show));
  show();
})();
