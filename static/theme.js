// The colour theme. Loaded in <head> without defer, so that it is set before the first paint; without it the style sheet
// follows the system. The button says the present choice and goes on to the next one.
(() => {
  "use strict";
  const choices = ["auto", "light", "dark"];
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  const read = () => {
    let choice = null;
    try {
      choice = localStorage.getItem("theme");
    } catch { /* storage is closed: follow the system */ }
    return choices.includes(choice) ? choice : "auto";
  };
  let choice = read();

  const show = () => {
    root.dataset.bsTheme = choice === "auto" ? (system.matches ? "dark" : "light") : choice;
    const button = document.getElementById("theme");
    if (button) {
      button.textContent = `Theme: ${choice}`;
      button.hidden = false;
    }
  };

  show();
  system.addEventListener("change", show);
  window.addEventListener("storage", () => { choice = read(); show(); });
  document.addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme")?.addEventListener("click", () => {
      choice = choices[(choices.indexOf(choice) + 1) % choices.length];
      try {
        localStorage.setItem("theme", choice);
      } catch { /* kept for this page only */ }
      show();
    });
  });
})();
