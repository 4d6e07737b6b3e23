// One definition: what it needs, and exactly what is started, before anything is.

import { h } from "../lib/dom.js";
import { away, crumbs, gone, looking, quiet, small, submit, top } from "../lib/bits.js";
import { ask, order, refresh, segment } from "../lib/store.js";
import { button, complain, confirmed, fold, link, run, say, tree } from "../lib/parts.js";
import { count, ms, visible } from "../lib/words.js";
import { check, field, textInput } from "../lib/editing.js";
import { serverPath } from "../lib/paths.js";

const isReference = (value) => /^\$\{[^}]+\}$/.test(value.trim());

export function open(place) {
  const name = place.params.name;
  const path = `/catalog/${segment(name)}`;
  let found = null; // the definition
  let missing = null; // the error, if there is no such definition
  let isBusy = false;
  let seen = null; // what verifying it found
  let inKeyring = null; // whether secrets go to the keyring; null: there is none
  const values = {};

  async function load() {
    try {
      const read = await ask(path);
      const hasSecret = read.variables.some((variable) => variable.secret);
      if (inKeyring === null && hasSecret) inKeyring = (await ask("/secrets")).keyring || null;
      found = read;
    } catch (error) {
      if (error.status === 404) missing = error;
      else complain(error);
    }
    place.redraw();
  }

  const secretName = (variable) => `${name}-${variable}`.toLowerCase().replace(/[^a-z0-9-]+/g, "-");

  // A secret goes to the keyring first, and a reference to it into the file.
  async function filled() {
    const given = {};
    for (const variable of found.variables) {
      const value = values[variable.name] || "";
      if (!value) continue;
      if (variable.secret && inKeyring && !isReference(value)) {
        await order("PUT", `/secrets/${segment(secretName(variable.name))}`, { value });
        given[variable.name] = `\${keyring:${secretName(variable.name)}}`;
      } else given[variable.name] = value;
    }
    return given;
  }

  async function add() {
    isBusy = true;
    place.redraw();
    try {
      await order("POST", `${path}/add`, { values: await filled() });
      say(
        `${found.title || name} is in the yard${found.alias === name ? "" : ` as ${found.alias}`}.`,
      );
      refresh();
    } catch (error) {
      complain(error);
    }
    isBusy = false;
    load();
  }

  async function verify() {
    isBusy = true;
    place.redraw();
    seen = await run(
      `${found.title || name} was verified.`,
      "POST",
      `/servers/${segment(`${name}@catalog`)}/verify`,
      {},
    );
    isBusy = false;
    load();
  }

  async function drop() {
    const question =
      `Take ${found.title || name} out of the yard? ` +
      "Its definition stays here; what you filled in does not.";
    if (!(await confirmed(question, "Take it out"))) return;
    await run(`${found.title || name} is out of the yard.`, "POST", `${path}/drop`);
    load();
  }

  async function remove() {
    if (!(await confirmed(`Delete your definition ${name}?`, "Delete it"))) return;
    if (await run("It is deleted.", "DELETE", path)) place.go("/ui/catalog");
  }

  // What was typed stands where it will stand; what is secret, and what is missing, by its name.
  function fill(text) {
    return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, key) => {
      const variable = found.variables.find((candidate) => candidate.name === key);
      return variable && !variable.secret && values[key] ? values[key] : whole;
    });
  }
  const quoted = (word) =>
    /^[\w@%+=:,./${}-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

  function launch() {
    const { command, url, env = {}, headers = {}, cwd } = found.launch;
    const sign = command ? "=" : ": ";
    const pairs = Object.entries(command ? env : headers).map(
      ([key, value]) => `${key}${sign}${fill(value)}`,
    );
    const exact = command ? command.map((word) => quoted(fill(word))).join(" ") : fill(url);
    return h(
      "section",
      { class: "card", "aria-label": "What is started" },
      h("h2", null, command ? "What is started" : "What is reached"),
      quiet(
        command
          ? "This program runs on your machine, as you. Nothing runs before you add or verify it."
          : "Calls go to this address. Nothing is sent before you add or verify it.",
      ),
      h("pre", { id: "exact", tabindex: "0" }, visible(exact)),
      cwd ? quiet("In the folder ", h("code", null, visible(cwd))) : null,
      pairs.length
        ? [
            h("h3", null, command ? "With these variables" : "With these headers"),
            h("pre", { tabindex: "0" }, visible(pairs.join("\n"))),
          ]
        : null,
    );
  }

  function variableField(variable) {
    const id = `value-${variable.name}`;
    const input = textInput(
      id,
      values[variable.name] || "",
      (text) => {
        values[variable.name] = text;
        place.redraw();
      },
      {
        type: variable.secret ? "password" : "text",
        required: variable.required,
        autocomplete: variable.secret ? "new-password" : "off",
      },
    );
    const label = [
      visible(variable.name),
      variable.required ? h("span", { class: "need", title: "needed" }, " *") : null,
    ];
    const isWeb = /^https?:/.test(variable.url);
    return h(
      "div",
      null,
      field(label, input, visible(variable.text)),
      isWeb ? quiet(away(variable.url, "Where to get it")) : null,
    );
  }

  function keyring() {
    if (inKeyring === null)
      return quiet(
        "This system has no keyring, so what is secret is kept in a file that only you can read.",
      );
    return check("Keep what is secret in the system's keyring", inKeyring, (on) => {
      inKeyring = on;
      place.redraw();
    });
  }

  function form() {
    const isShort = found.variables.some((variable) => variable.required && !values[variable.name]);
    const hasSecret = found.variables.some((variable) => variable.secret);
    const verb = found.added ? "Save" : "Add it and let it run";
    return h(
      "form",
      { class: "card", on: { submit: add } },
      h("h2", null, found.added ? "Fill in again" : "Add it to the yard"),
      found.alias === name
        ? null
        : h(
            "p",
            null,
            `It is called ${visible(found.alias)} in the yard, where ${visible(name)} is not free.`,
          ),
      found.variables.length
        ? found.variables.map(variableField)
        : h("p", null, "It needs nothing filled in."),
      hasSecret ? keyring() : null,
      h(
        "p",
        { class: "row" },
        submit(isBusy ? "Adding …" : verb, isBusy || isShort),
        isShort ? small("Fill in what is marked first.") : null,
      ),
    );
  }

  load();
  return () => {
    if (missing) return gone(missing, "/ui/catalog", "See the catalog");
    if (!found) return looking();
    const links = Object.entries(found.links).filter(([, url]) => /^https?:/.test(url));
    return [
      crumbs("/ui/catalog", "Catalog"),
      top(
        visible(found.title || name),
        visible(
          [found.full_name || name, found.version, found.category, found.folder]
            .filter(Boolean)
            .join(" · "),
        ),
      ),
      h("p", null, visible(found.description)),
      links.length
        ? h(
            "p",
            { class: "row finding" },
            links.map(([words, url]) => away(url, visible(words))),
          )
        : null,
      h(
        "div",
        { class: "two", key: "two" },
        launch(),
        h(
          "div",
          null,
          found.added
            ? h(
                "div",
                { key: "in", class: "card row spread" },
                h(
                  "span",
                  null,
                  "It is in the yard: ",
                  link(serverPath(found.alias), "see it there"),
                  found.enabled ? "." : ", switched off.",
                ),
                button("Take it out", drop, { class: "danger" }),
              )
            : null,
          found.added && !found.variables.length ? null : form(),
        ),
      ),
      h(
        "div",
        { key: "verify", class: "row finding" },
        button(isBusy ? "Verifying …" : "Verify", verify, {
          disabled: isBusy,
          title: "Start it, see what it offers, and end it again",
        }),
        seen
          ? quiet(
              visible(`${seen.server_name} ${seen.server_version}`),
              ` answered after ${ms(seen.first_answer_ms)}.`,
            )
          : null,
        found.tools ? quiet(`${count(found.tools, "tool")} on file.`) : null,
      ),
      fold("The whole definition", [quiet(visible(found.file)), tree(found.definition)], {
        class: "card",
      }),
      found.folder === "custom"
        ? h(
            "p",
            null,
            button("Delete this definition", remove, {
              class: "danger",
              disabled: found.added,
              title: found.added ? "Take it out of the yard first." : undefined,
            }),
          )
        : null,
    ];
  };
}
