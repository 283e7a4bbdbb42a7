// Elements and tables. All text is added as text nodes, because peers choose their names.

// element("td", {class: "number"}, "12", other_element)
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

const kSvg = "http://www.w3.org/2000/svg";
export function svg(tag, attributes = {}) {
  const made = document.createElementNS(kSvg, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export function set_text(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}
export function set_class(node, names) {
  if (node.className !== names) node.className = names;
}

// Columns of a table: texts are on the left, numbers on the right. `help` is the title's tooltip. A
// narrow screen hides the columns with the class "few".
export function text_column(title, name = "") {
  return {title, class: name};
}
export function number_column(title, help = null, name = "") {
  return {title, help, class: `number ${name}`.trim()};
}

// A table that keeps its row elements as long as their keys exist. So a selection, the focus and a
// picture in a cell survive the next reading.
export class Table {
  // A cell is a text, {text, class, href, title} or an element.
  constructor(label, columns, attributes = {}) {
    this.columns = columns;
    this.rows = new Map();
    this.body = element("tbody");
    this.table = element(
        "table", {"aria-label": label, ...attributes},
        element(
            "thead", {},
            element(
                "tr", {},
                ...columns.map(
                    ({title, class: name, help}) =>
                        element("th", {scope: "col", class: name, title: help}, title)))),
        this.body);
    this.root = element(
        "div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label}, this.table);
  }

  // rows: [{key, class, cells}], in order.
  show(rows) {
    const wanted = new Set(rows.map(row => row.key));
    for (const [key, row] of this.rows) {
      if (wanted.has(key)) continue;
      row.remove();
      this.rows.delete(key);
    }
    let next = this.body.firstChild;
    for (const {key, class: name, cells} of rows) {
      let row = this.rows.get(key);
      if (!row) {
        row = element(
            "tr", {},
            ...this.columns.map(
                (column, i) => element(
                    i === 0 ? "th" : "td", {class: column.class, scope: i === 0 ? "row" : null})));
        this.rows.set(key, row);
      }
      set_class(row, name ?? "");
      cells.forEach((cell, i) => this.fill(row.cells[i], cell, this.columns[i].class ?? ""));
      if (row === next)
        next = next.nextSibling;
      else
        this.body.insertBefore(row, next);
    }
  }

  fill(node, cell, column_class) {
    if (cell instanceof Node) {
      if (node.firstChild !== cell) node.replaceChildren(cell);
      return;
    }
    const {text, class: name, href, title = null} =
        typeof cell === "object" && cell !== null ? cell : {text: cell};
    set_class(node, name ? `${column_class} ${name}` : column_class);
    if (node.title !== (title ?? "")) node.title = title ?? "";
    if (!href) return set_text(node, text);
    let link = node.querySelector("a");
    if (!link) node.replaceChildren(link = element("a"));
    if (link.getAttribute("href") !== href) link.setAttribute("href", href);
    set_text(link, text);
  }
}

// An element's children, which stay the same elements as long as their keys exist.
export class KeyedList {
  // make(item) returns {node, update(item)}.
  constructor(root, make) {
    this.root = root;
    this.make = make;
    this.made = new Map();
  }

  // items: [{key, …}], in order.
  show(items) {
    const wanted = new Set(items.map(item => item.key));
    for (const [key, {node}] of this.made) {
      if (wanted.has(key)) continue;
      node.remove();
      this.made.delete(key);
    }
    let next = this.root.firstChild;
    for (const item of items) {
      if (!this.made.has(item.key)) this.made.set(item.key, this.make(item));
      const {node, update} = this.made.get(item.key);
      update(item);
      if (node === next)
        next = next.nextSibling;
      else
        this.root.insertBefore(node, next);
    }
  }
}

export function panel(title, ...children) {
  const heading = element("h2", {}, title);
  const note = element("span", {class: "note"});
  const root = element(
      "section", {class: "panel", "aria-label": title},
      element("div", {class: "head"}, heading, note), ...children);
  return {root, note, heading};
}
