"use strict";
(() => {
  document.getElementById("evidence")?.scrollIntoView({ block: "center" });
})();
