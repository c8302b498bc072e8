// A page that was opened from disk may not start a worker, so its search runs in a hidden frame.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "Search";
      document.body.append(frame);
      const inner = (this.inner = frame.contentWindow);
      const load = (from) =>
        new Promise((done) => {
          const script = inner.document.createElement("script");
          script.src = from;
          script.onload = script.onerror = done;
          inner.document.body.append(script);
        });
      inner.importScripts = (...all) =>
        all.reduce((before, from) => before.then(() => load(from)), Promise.resolve());
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.ready = load(url);
    }
    postMessage(data) {
      this.ready.then(() =>
        this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })),
      );
    }
    terminate() {
      this.inner.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
