// Browsers do not start workers from local files. This runs the search worker in a hidden frame
// instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      this.loaded = new Promise((resolve) => this.frame.addEventListener("load", resolve));
      addEventListener("message", (event) => {
        if (event.source === inner) {
          this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        }
      });
      inner.document.open();
      inner.document.write(`<body><script>
        postMessage = (data) => parent.postMessage(data, "*");
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() =>
          new Promise((resolve) => {
            const script = document.createElement("script");
            script.src = url;
            script.onload = resolve;
            document.body.append(script);
          })), Promise.resolve());
      </script><script src="${url}"></script>`);
      inner.document.close();
    }

    postMessage(data) {
      this.loaded.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
