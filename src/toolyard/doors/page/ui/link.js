// The page of a member's link. Whoever has logged in on the page shows so by its key, and need not
// go to the issuer once more; without a key, or with another member's, the form does it all.

import { recall } from "./lib/memory.js";

const form = document.querySelector("form");

async function prove() {
  const headers = { authorization: `Bearer ${recall("key")}` };
  const answer = await fetch(location.href, { method: "POST", headers, cache: "no-store" });
  return answer.ok && answer.redirected ? answer.url : location.href;
}

form?.addEventListener("submit", async (event) => {
  if (!recall("key") || location.search) return;
  event.preventDefault();
  form.action = await prove().catch(() => location.href);
  form.submit();
});
