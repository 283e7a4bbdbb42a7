// The checkbox "show observers", next to the title of a subscriber table.
import {element, set_text} from "./dom.js";
import {observer_count} from "./subscribers.js";

export class ObserversBox {
  constructor() {
    this.box = element("input", {type: "checkbox"});
    this.text = element("span");
    this.root = element("label", {class: "observers", hidden: true}, this.box, this.text);
    this.box.addEventListener("change", () => this.set_shows_observers(this.box.checked));
  }

  // Hidden if none of these buses has an observer.
  show(buses, {shows_observers, set_shows_observers}) {
    this.set_shows_observers = set_shows_observers;
    const count = observer_count(buses);
    this.root.hidden = count === 0;
    this.box.checked = shows_observers;
    set_text(this.text, `show observers (${count})`);
  }
}
