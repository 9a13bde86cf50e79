// Before anything is drawn, so that a dark page does not flash white. A file of its own: the policy of
// the page allows no script inside it.
(() => {
  const chosen = localStorage.getItem("charter.scheme");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const scheme = chosen === "dark" || chosen === "light" ? chosen : dark ? "dark" : "light";
  document.documentElement.setAttribute("data-mantine-color-scheme", scheme);
})();
