// Why an agent is given a server or is not: the story, step by step, above the page.

import { byId, h, rememberFocus, render } from "./dom.js";
import { quiet, tag, under } from "./bits.js";
import { ask, segment } from "./store.js";
import { button, complain } from "./parts.js";
import { visible } from "./words.js";

export function steps(list) {
  return h(
    "ol",
    { class: "steps" },
    list.map((step) =>
      h(
        "li",
        { class: step.decides ? "decides" : undefined },
        tag(visible(step.stage)),
        " ",
        visible(step.text),
        step.rule ? under(visible(step.rule)) : null,
      ),
    ),
  );
}

// Show something above the page, until it is closed.
export function openDialog(title, kids) {
  const above = byId("above");
  const giveFocusBack = rememberFocus();
  const end = () => {
    render(above);
    giveFocusBack();
  };
  render(
    above,
    h(
      "dialog",
      {
        class: "wide",
        "aria-label": title,
        made: (node) => node.showModal(),
        on: { close: end, cancel: end },
      },
      h("h2", null, title),
      kids,
      h("p", { class: "row end" }, button("Close", end, { autofocus: true })),
    ),
  );
}

export async function openWhy(name, agent, executor) {
  const query = `name=${segment(name)}&agent=${segment(agent)}&executor=${segment(executor)}`;
  try {
    const story = await ask(`/why?${query}`);
    openDialog(`Why: ${visible(name)} for ${visible(agent)} on ${visible(story.executor)}`, [
      h("p", { class: "title" }, visible(story.verdict), ": ", visible(story.text)),
      story.hint ? quiet(visible(story.hint)) : null,
      steps(story.steps),
      story.also.length ? quiet("Also: ", visible(story.also.join("; "))) : null,
    ]);
  } catch (error) {
    complain(error);
  }
}
