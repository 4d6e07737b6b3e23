// Before anything is painted: the theme that was chosen, if one was.
(() => {
  const chosen = localStorage.getItem("theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
})();
