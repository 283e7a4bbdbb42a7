// Addresses of the server, relative to the page: it may be below a path such as /lapwing/.
//
// Pure: no document.

// The WebSocket URL of a path: wss if the page was loaded over https.
export function web_socket_address(path, page) {
  const address = new URL(path, page);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  address.hash = "";
  return address.href;
}
