// The buses of this machine, as the stream of readings has them.
const rows = document.getElementById("buses");
const status = document.getElementById("status");

function show(reading) {
  status.textContent = `As of ${reading.time.slice(0, 19)}Z.`;
  rows.replaceChildren(...reading.buses.map(bus => {
    const row = document.createElement("tr");
    const values = [bus.name || bus.directory, bus.state, Math.round(bus.rate),
                    bus.ring ? bus.ring.head : "", bus.subscribers ? bus.subscribers.length : ""];
    row.append(...values.map(value => {
      const cell = document.createElement("td");
      cell.textContent = value;
      return cell;
    }));
    return row;
  }));
}

function connect(wait_ms) {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const stream = new WebSocket(`${scheme}://${location.host}/api/v1/stream`);
  let next_ms = Math.min(30_000, wait_ms * 2);
  stream.onmessage = event => {
    next_ms = 1_000;
    show(JSON.parse(event.data));
  };
  stream.onclose = () => {
    status.textContent = "Not connected: what stands below is old.";
    setTimeout(connect, wait_ms * (0.5 + Math.random() / 2), next_ms);
  };
}

connect(1_000);
