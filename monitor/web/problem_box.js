// The problem box above every view, and the list of acknowledged or muted problems.
import {bus_link} from "./bus_names.js";
import {element, KeyedList, set_text} from "./dom.js";
import {line_problems} from "./problems.js";
import {quiet_items, quiet_summary} from "./quiet_list.js";

const kLinesOnBuses = 8;
const kLinesElsewhere = 3;
const kMutes = [["1 hour", 1], ["8 hours", 8], ["until unmuted", null]];

export class ProblemBox {
  // on_acknowledge(problems), on_mute(problems, hours or null), on_undo(item of quiet_items).
  constructor({on_acknowledge, on_mute, on_undo}) {
    this.on_acknowledge = on_acknowledge;
    this.on_mute = on_mute;
    this.open_groups = new Set();
    this.shows_all = false;
    this.shown = null;  // the arguments of the last show()
    const at = id => document.getElementById(id);
    this.root = at("verdict");
    this.list_root = at("problems");
    this.spoken = at("spoken");
    this.quiet_button = at("quiet_button");
    this.quiet_root = at("quiet");
    this.list = new KeyedList(this.list_root, item => this.make(item));
    this.quiet = new KeyedList(this.quiet_root, () => {
      const text = element("span", {class: "text"});
      const button = element("button", {type: "button", class: "plain"});
      let item = null;
      button.addEventListener("click", () => {
        on_undo(item);
        this.quiet_button.focus();
      });
      return {
        node: element("li", {}, text, button),
        update: newest => {
          item = newest;
          set_text(text, newest.text);
          set_text(button, newest.undo);
          button.setAttribute("aria-label", `${newest.undo}: ${newest.text}`);
        }
      };
    });
    this.quiet_button.addEventListener("click", () => this.toggle_quiet());
  }

  toggle_quiet() {
    this.quiet_root.hidden = !this.quiet_root.hidden;
    this.quiet_button.setAttribute("aria-expanded", String(!this.quiet_root.hidden));
  }

  // lines: from lines_of(); parts: from Quiet.split(); mutes: from Quiet.muted.
  show(lines, parts, mutes, is_on_buses) {
    this.shown = [lines, parts, mutes, is_on_buses];
    this.root.classList.toggle("small", !is_on_buses);
    const most = is_on_buses ? kLinesOnBuses : kLinesElsewhere;
    const items = this.items(lines);
    // A line "and 1 more" would take up as much room as the line that it hides.
    const is_cut = !this.shows_all && lines.length > most + 1;
    const shown = is_cut ? this.items(lines.slice(0, most)) : items;
    if (lines.length > most + 1) {
      shown.push({
        key: "more",
        is_more: true,
        text: this.shows_all ? "Show fewer" : `and ${lines.length - most} more`
      });
    }
    this.list.show(shown);
    set_text(this.spoken, lines.map(({text}) => text).join(" "));

    const quiet = quiet_items(parts, mutes);
    this.quiet_button.hidden = quiet.length === 0;
    if (quiet.length === 0 && !this.quiet_root.hidden) this.toggle_quiet();
    set_text(this.quiet_button, quiet_summary(parts, mutes));
    this.quiet.show(quiet);
  }

  // An open group is followed by its members.
  items(lines) {
    return lines.flatMap(line => {
      if (!line.members || !this.open_groups.has(line.key)) return [line];
      return [line, ...line.members.map(problem => ({...problem, is_member: true}))];
    });
  }

  show_again() {
    if (this.shown) this.show(...this.shown);
  }

  make(item) {
    if (item.is_more) {
      const button = element("button", {type: "button", class: "plain"});
      button.addEventListener("click", () => {
        this.shows_all = !this.shows_all;
        this.show_again();
      });
      return {
        node: element("li", {class: "more"}, button),
        update: newest => set_text(button, newest.text)
      };
    }
    let line = item;
    const text = item.members ? this.group_button(item.key) : element("a", {class: "text"});
    const acknowledge = element("button", {type: "button", class: "plain"}, "Acknowledge");
    const mute =
        element("button", {type: "button", class: "plain", "aria-expanded": "false"}, "Mute");
    const choices = element(
        "span", {class: "choices", role: "group", hidden: true}, ...kMutes.map(([name, hours]) => {
          const choice = element("button", {type: "button", class: "plain"}, name);
          choice.addEventListener(
              "click", () => this.leave(node, () => this.on_mute(line_problems(line), hours)));
          return choice;
        }));
    const node =
        element("li", {}, text, element("span", {class: "actions"}, acknowledge, mute, choices));
    const open_choices = is_open => {
      choices.hidden = !is_open;
      mute.setAttribute("aria-expanded", String(is_open));
    };
    acknowledge.addEventListener(
        "click", () => this.leave(node, () => this.on_acknowledge(line_problems(line))));
    mute.addEventListener("click", () => {
      open_choices(choices.hidden);
      if (!choices.hidden) choices.firstChild.focus();
    });
    node.addEventListener("keydown", event => {
      if (event.key !== "Escape" || choices.hidden) return;
      open_choices(false);
      mute.focus();
    });
    return {
      node,
      update: newest => {
        line = newest;
        node.className = newest.is_member ? "member" : "";
        set_text(text, newest.text);
        if (!newest.members)
          text.setAttribute("href", bus_link(newest.bus));
        else
          text.setAttribute("aria-expanded", String(this.open_groups.has(newest.key)));
        const subject =
            newest.members ? `these ${newest.members.length} buses` : newest.subject.text;
        acknowledge.setAttribute("aria-label", `Acknowledge: ${newest.text}`);
        acknowledge.title = newest.members ? "Hide these problems until they recur or get worse" :
                                             "Hide this problem until it recurs or gets worse";
        mute.setAttribute("aria-label", `Mute ${subject}`);
        const muted = newest.members ? `${subject} and their subscribers` :
            newest.subscriber === null ? `${subject} and its subscribers` :
                                         subject;
        mute.title = `Hide all problems of ${muted} for 1 hour, 8 hours or until unmuted`;
        choices.setAttribute("aria-label", `How long to mute ${subject}`);
      }
    };
  }

  group_button(key) {
    const button = element("button", {type: "button", class: "text group"});
    button.addEventListener("click", () => {
      if (!this.open_groups.delete(key)) this.open_groups.add(key);
      this.show_again();
    });
    return button;
  }

  // When the row is removed, the focus moves to the next row, or to the list of quiet problems.
  leave(node, action) {
    const next = node.nextElementSibling ?? node.previousElementSibling;
    action();
    const button = next?.isConnected ? next.querySelector("button") : null;
    (button ?? this.quiet_button).focus();
  }
}
