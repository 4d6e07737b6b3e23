// Menus that fold away: by the keyboard as by the mouse.

const itemsOf = (menu) => [...menu.querySelectorAll(":scope > div > :is(a, button:enabled)")];

function close(menu) {
  const summary = menu.querySelector("summary");
  // What is folded away cannot have the focus.
  if (menu.contains(document.activeElement)) summary.focus();
  menu.open = false;
}

/** Close all menus but the one whose word was clicked, which closes itself. */
export function closeMenus(target) {
  for (const menu of document.querySelectorAll("details.menu[open]"))
    if (!menu.querySelector("summary")?.contains(target)) close(menu);
}

// The place in the menu to which a key leads, of `count`; undefined if it leads nowhere.
function placeAfter(key, at, count) {
  if (key === "ArrowDown") return (at + 1) % count;
  if (key === "ArrowUp") return (at < 1 ? count : at) - 1;
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : undefined;
}

/** @param {EventTarget | null} target @returns {HTMLDetailsElement | null} the menu around it */
const menuAround = (target) => (target instanceof Element ? target.closest("details.menu") : null);

function walk(event) {
  const menu = menuAround(event.target);
  if (!menu) return;
  const items = itemsOf(menu);
  const place = placeAfter(event.key, items.indexOf(event.target), items.length);
  if (place === undefined || (!menu.open && event.key !== "ArrowDown")) return;
  event.preventDefault();
  menu.open = true;
  items[place].focus();
}

document.addEventListener("click", (event) => closeMenus(event.target));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenus(null);
  else walk(event);
});
// Who tabs out of a menu is done with it.
document.addEventListener("focusout", (event) => {
  const menu = menuAround(event.target);
  const next = event.relatedTarget;
  if (menu && next instanceof Node && !menu.contains(next)) menu.open = false;
});
