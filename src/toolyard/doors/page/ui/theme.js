// Before anything is painted: the theme that was chosen, if one was.
(() => {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
  } catch {
    /* a browser that keeps nothing shows the system's theme */
  }
})();

// A part of the page that cannot be fetched keeps all of it from coming: that is said at once.
addEventListener(
  "error",
  (event) => {
    if (event.target instanceof HTMLScriptElement) document.documentElement.dataset.missing = "";
  },
  true,
);
