// Which server open_lab("auto") takes next: three radio buttons, what is there for each, and what a choice does.

let made = 0;

function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function render({ model, el }) {
  const name = `emq-server-${++made}`;
  const status = h("p", { role: "status" });
  const radios = new Map();
  const fieldset = h("fieldset", {}, h("legend", {}, model.get("legend")));
  const founds = new Map();
  for (const { value, label, about } of model.get("options")) {
    const radio = h("input", { type: "radio", name, value, id: `${name}-${value}`, "aria-describedby": `${name}-${value}-about` });
    const found = h("span", { class: "found" });
    radio.addEventListener("change", () => { model.set("choice", value); model.save_changes(); });
    radios.set(value, radio);
    founds.set(value, found);
    fieldset.append(h("div", { class: "option" }, radio, h("div", {},
      h("label", { for: radio.id }, label),
      h("p", { id: `${name}-${value}-about` }, about, " ", found))));
  }
  const root = h("section", { class: "emq-server", "data-lm-suppress-shortcuts": "true" }, fieldset, status);
  el.append(root);

  const draw = () => {
    for (const [value, radio] of radios) radio.checked = value === model.get("choice");
    for (const [value, found] of founds) found.textContent = model.get("found")[value] ?? "";
    if (status.textContent !== model.get("status")) status.textContent = model.get("status");
  };
  const names = ["choice", "found", "status"];
  for (const one of names) model.on(`change:${one}`, draw);
  // An arrow key chooses; the notebook must not take it for its own.
  for (const kind of ["keydown", "keyup", "keypress"]) root.addEventListener(kind, (event) => event.stopPropagation());
  draw();
  model.send({ look: true }); // what there is on this machine is asked for when somebody looks, and kept in no recording
  return () => { for (const one of names) model.off(`change:${one}`, draw); };
}

export default { render };
