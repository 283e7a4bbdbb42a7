// A WebSocket that reconnects, and sleeps while the page is hidden.
import {web_socket_address} from "./address.js";

const kWaitFirstMs = 2_000;
const kWaitMaxMs = 30_000;

// The wait before attempt number `attempt`, from 0: 1 to 2 s, then twice that, up to 15 to 30 s.
// The value within the range is random, so that the pages of a restarted server do not all connect
// at once.
export function reconnect_ms(attempt, random) {
  const most = Math.min(kWaitMaxMs, kWaitFirstMs * 2 ** Math.min(attempt, 10));
  return most / 2 + most / 2 * random;
}

// `state` is "connecting", "open", "waiting" (for the next attempt, at `again_ms`) or "asleep".
export class Stream {
  // `path` is relative to the page. on_message(text) is called for each message, on_state() after
  // each change.
  constructor(path, on_message, on_state) {
    this.path = path;
    this.on_message = on_message;
    this.on_state = on_state;
    this.attempt = 0;
    this.state = "asleep";
    this.status = null;  // HTTP status if the server refused the connection, and its reason
    this.why = "";
    this.again_ms = 0;
    this.timer = null;
    this.socket = null;
  }

  open() {
    if (this.state !== "asleep" && this.state !== "waiting") return;
    clearTimeout(this.timer);
    const socket = new WebSocket(web_socket_address(this.path, location.href));
    this.socket = socket;
    this.change("connecting");
    let has_message = false;
    socket.onmessage = event => {
      if (this.socket !== socket) return;
      if (!has_message) {
        has_message = true;
        this.attempt = 0;
        this.status = null;
        this.change("open");
      }
      this.on_message(event.data);
    };
    socket.onclose = () => {
      if (this.socket === socket) this.retry(has_message);
    };
  }

  close() {
    clearTimeout(this.timer);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.attempt = 0;
    this.change("asleep");
  }

  retry(had_message) {
    this.socket = null;
    const wait_ms = reconnect_ms(this.attempt++, Math.random());
    this.again_ms = performance.now() + wait_ms;
    this.timer = setTimeout(() => this.open(), wait_ms);
    this.change("waiting");
    if (!had_message) this.ask_why();
  }

  // A script cannot read why a WebSocket was refused, but it can read the answer to a plain
  // request.
  async ask_why() {
    try {
      const response = await fetch(this.path, {cache: "no-store"});
      this.status = response.status;
      this.why = (await response.text()).trim();
    } catch {
      this.status = null;
    }
    this.on_state();
  }

  change(state) {
    this.state = state;
    this.on_state();
  }
}
