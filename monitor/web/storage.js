// Settings that the browser stores for this page. Without localStorage, they last until the page is
// closed.

const kPrefix = "lapwing ";

// `area` is a Storage, or null if the browser does not allow it.
export class Settings {
  constructor(area) {
    this.area = area;
    this.values = new Map();  // name -> the text of what was set last
  }

  // Null if nothing valid is stored.
  get(name) {
    let text = this.values.get(name) ?? null;
    try {
      text = this.area?.getItem(kPrefix + name) ?? text;
      return text === null ? null : JSON.parse(text);
    } catch {
      return null;
    }
  }

  set(name, value) {
    const text = JSON.stringify(value);
    this.values.set(name, text);
    try {
      this.area?.setItem(kPrefix + name, text);
    } catch {
      // The area is full or not allowed, so the value lasts until the page is closed.
    }
  }
}

// Reading the property throws if the browser forbids storage.
export function browser_settings() {
  try {
    return new Settings(globalThis.localStorage ?? null);
  } catch {
    return new Settings(null);
  }
}
