// The line of quiet problems below the other problems, and its list.
//
// Pure: no document.
import {compare_names} from "./bus_names.js";

// [{key, text, undo: the button's text, problem or subject}], acknowledged problems first. Each
// mute is an item, even if its subject currently has no problem.
export function quiet_items({acknowledged}, mutes) {
  const by_text = (a, b) => compare_names(a.text, b.text);
  return [
    ...acknowledged
        .map(
            problem =>
                ({key: `acknowledged ${problem.key}`, text: problem.text, undo: "Undo", problem}))
        .sort(by_text),
    ...[...mutes]
        .map(([subject, {text, until_ms}]) => ({
               key: `muted ${subject}`,
               text: until_ms === null ? `${text}: muted` :
                                         `${text}: muted until ${until_text(until_ms)}`,
               undo: "Unmute",
               subject
             }))
        .sort(by_text)
  ];
}

function until_text(until_ms) {
  return `${new Date(until_ms).toISOString().slice(11, 16)} UTC`;
}

// "2 acknowledged, 1 muted (3 problems)"
export function quiet_summary({acknowledged, muted}, mutes) {
  const parts = [];
  if (acknowledged.length > 0) parts.push(`${acknowledged.length} acknowledged`);
  if (mutes.size > 0) {
    const hidden = muted.length === 1 ? "1 problem" : `${muted.length} problems`;
    parts.push(`${mutes.size} muted (${hidden})`);
  }
  return parts.join(", ");
}
