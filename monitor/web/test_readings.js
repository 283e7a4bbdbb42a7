// Fictional buses and subscribers for the tests.

export const subscriber = more => ({
  name: "logger",
  pid: 7,
  connected_ns: 1,
  state: "live",
  lag: 0,
  lost: 0,
  stopped: false,
  delay_seconds: 0,
  ...more
});

export const bus = more => ({
  directory: "/es",
  name: "es",
  state: "running",
  rate: 1,
  subscribers: [],
  ring: {journal: "good", heartbeat_age_ms: 10, publisher_pid: 4},
  ...more
});

// A bus whose publisher ended `minutes` ago.
export const gone_bus = (name, minutes) => bus({
  directory: `/${name}`,
  name,
  state: "gone",
  subscribers: null,
  ring: {journal: "good", heartbeat_age_ms: minutes * 60_000, publisher_pid: 5}
});
