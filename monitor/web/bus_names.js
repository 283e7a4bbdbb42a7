// The name of a bus, its address on this page, and the page's title.
//
// Pure: no document.

// The label is unique on the machine. Older servers send only the name, which may not be unique.
export function bus_name(bus) {
  return bus.label || bus.name || bus.directory;
}

export function bus_link(directory, instrument = null) {
  const parameters = new URLSearchParams({bus: directory});
  if (instrument !== null) parameters.set("instrument", instrument);
  return `#${parameters}`;
}

// "(3) es – desk7 – Lapwing": the number of problems, the bus shown, the machine.
export function page_title(problem_count, host, bus = null) {
  const name = [bus, host, "Lapwing"].filter(part => part).join(" – ");
  return problem_count > 0 ? `(${problem_count}) ${name}` : name;
}

// Names in alphabetical order, "es2" before "es10".
const kOrder = new Intl.Collator("en", {numeric: true});
export function compare_names(a, b) {
  return kOrder.compare(a, b);
}
