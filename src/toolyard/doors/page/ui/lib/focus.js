// The focus of the keyboard stays near where it was when what had it disappears: with it a person
// would have to find the way back from the top of the page.

const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex]";
/** @type {{ node: HTMLElement, trail: object[], name: string } | null} */
let holder = null; // what had the focus, until it is known that it keeps it

const isUsable = (node) =>
  !node.matches(":disabled, [tabindex='-1']") && node.getClientRects().length > 0;

// The first word of a control, which is the same in every row of a table.
const nameOf = (node) => (node.getAttribute("aria-label") || node.textContent).split(" ")[0];

// The elements around a node up to `root`, innermost first, each with its place among the others.
function trailOf(node, root) {
  const trail = [];
  for (let at = node; at !== root; at = at.parentElement) {
    const { parentElement: parent } = at;
    trail.push({ parent, place: [...parent.children].indexOf(at) });
  }
  return trail;
}

// The control like the one that is gone in what took its place, or else in what stands nearest.
function nearest({ parent, place }, name) {
  if (!parent.isConnected) return null;
  const others = [...parent.children];
  const order = [...others.slice(place), ...others.slice(0, place).reverse()];
  for (const other of order) {
    const controls = [other, ...other.querySelectorAll(CONTROLS)].filter(
      (node) => node.matches(CONTROLS) && isUsable(node),
    );
    if (controls.length) return controls.find((node) => nameOf(node) === name) || controls[0];
  }
  return null;
}

function moveOn({ trail, name }, root) {
  for (const step of trail) {
    const control = nearest(step, name);
    if (control) return control.focus();
  }
  root.focus({ preventScroll: true });
}

/**
 * Draw, and give the focus to something sensible if what had it is gone afterwards.
 * @param {HTMLElement} root
 * @param {() => void} draw
 */
export function keepFocus(root, draw) {
  const focused = document.activeElement;
  const isInside = focused instanceof HTMLElement && focused !== root && root.contains(focused);
  if (isInside) holder = { node: focused, trail: trailOf(focused, root), name: nameOf(focused) };
  draw();
  // What is disabled while it works loses the focus, too, and gets it back when it is done.
  const isLost = document.activeElement === document.body;
  if (!holder || holder.node.matches(":disabled")) return;
  if (!holder.node.isConnected && (isInside || isLost)) moveOn(holder, root);
  else if (isLost) holder.node.focus();
  holder = null;
}
