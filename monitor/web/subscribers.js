// A bus's subscribers: their keys, their names, and which of them are shown.
//
// Pure: no document.

export function subscriber_key(subscriber) {
  return `${subscriber.name}/${subscriber.pid}/${subscriber.connected_ns}`;
}

// Subscribers choose their names, so equal names are followed by the process id.
export function subscriber_labels(subscribers) {
  const counts = new Map();
  for (const {name} of subscribers) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(subscribers.map(
      subscriber =>
          [subscriber_key(subscriber),
           counts.get(subscriber.name) > 1 || !subscriber.name ?
               `${subscriber.name || "?"} (${subscriber.pid})` :
               subscriber.name]));
}

// Observers, such as a view of this page, are left out by default.
export function visible_subscribers(bus, shows_observers) {
  return (bus.subscribers ?? []).filter(subscriber => shows_observers || !subscriber.observes);
}
export function observer_count(buses) {
  return buses.reduce(
      (sum, bus) => sum + (bus.subscribers ?? []).filter(({observes}) => observes).length, 0);
}

// The position of a missing subscriber is its last known one.
export function is_missing(subscriber) {
  return subscriber.state === "missing";
}
