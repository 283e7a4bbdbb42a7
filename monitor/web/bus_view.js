// One bus: its numbers, its subscribers, charts over time, and its newest records.
import {DepthChart, Ladder, RecordsPanel, TapePanel} from "./book_panels.js";
import {bus_link, bus_name} from "./bus_names.js";
import {behind_head} from "./bus_series.js";
import {bad_count, delay_text, kP99Help, kRingShareHelp, p99_text, quiet_count, ring_share_text, subscriber_state} from "./cells.js";
import {draw_heat, series_colour, theme, TimeChart} from "./charts.js";
import {element, number_column, panel, set_class, set_text, Table, text_column} from "./dom.js";
import {percentile} from "./histogram.js";
import {count_text, duration_text, parse_exact, price_decimals, price_text, short_text} from "./numbers.js";
import {ObserversBox} from "./observers_box.js";
import {is_bad_subscriber} from "./problems.js";
import {QuoteBoard} from "./quote_board.js";
import {Tape} from "./series.js";
import {Stream} from "./stream.js";
import {is_missing, subscriber_key, subscriber_labels, visible_subscribers} from "./subscribers.js";
import {view_sentence} from "./verdict.js";

const kLinesMax = 8;  // of a chart: the worst ones
const kOrderBookSchema = "dbn.mbo";

export class BusView {
  // changed() is called when there is something new to show, on_view(message) for each view
  // message.
  constructor(directory, instrument, changed, on_view) {
    this.directory = directory;
    this.instrument = instrument;
    this.changed = changed;
    this.on_view = on_view;
    this.view = null;
    this.view_arrived_ms = 0;
    this.tape = new Tape();
    this.tape_instrument = null;
    this.shown = null;  // the message that is on the screen

    this.title = element("h1");
    this.state = element("span", {class: "state"});
    this.tiles = new Map();
    this.tile_list = element("dl", {class: "tiles"});
    const head = element(
        "section", {class: "bus_head", "aria-label": "Bus"},
        element("div", {class: "bus_name"}, this.title, this.state), this.tile_list);

    const subscribers = panel("Subscribers");
    this.subscribers_note = subscribers.note;
    this.subscribers = new Table("Subscribers", [
      text_column("subscriber"), text_column("state"), number_column("position"),
      number_column("lag"), number_column("of ring", kRingShareHelp), number_column("lag/s"),
      number_column("delay"), number_column("p99", kP99Help), number_column("gaps"),
      number_column("lost"), number_column("filled"), text_column("wait"), text_column("on gap"),
      number_column("pid"), number_column("user")
    ]);
    this.observers = new ObserversBox();
    subscribers.heading.after(this.observers.root);
    subscribers.root.append(this.subscribers.root);
    this.names = new Map();  // of subscribers: their cells with a sample of their colour

    this.charts = [];
    const group = this.charts;
    this.rate = new TimeChart("Rate, records/s", short_text, {group, is_filled: true});
    this.lag = new TimeChart("Lag, records", short_text, {group});
    this.delay = new TimeChart("Delay", seconds => duration_text(seconds * 1e9), {group});
    this.stalls = new TimeChart("Stalls, ms/s", short_text, {group, is_filled: true});
    const charts = element("div", {class: "charts"}, ...this.charts.map(chart => chart.root));

    const heat = panel("Latency");
    this.heat_note = heat.note;
    this.heat_choice =
        element("select", {"aria-label": "Subscriber whose latency is shown", hidden: true});
    this.heat_choice.addEventListener("change", changed);
    this.heat_canvas =
        element("canvas", {class: "heat", role: "img", "aria-label": "Ages of records over time"});
    this.heat_why = element("p", {class: "why"});
    heat.heading.after(this.heat_choice);
    heat.root.append(this.heat_canvas, this.heat_why);

    this.view_status = element("span", {class: "view_status", role: "status"});
    this.choice = element("select", {"aria-label": "Instrument", hidden: true});
    this.choice.addEventListener("change", () => {
      location.hash = bus_link(this.directory, this.choice.value);
    });
    this.quote = element("span", {class: "quote"});
    this.ladder = new Ladder();
    this.depth = new DepthChart();
    this.trades = new TapePanel();
    this.records = new RecordsPanel();
    this.books = element(
        "div", {class: "books", hidden: true}, this.ladder.root,
        element("div", {class: "beside"}, this.depth.root, this.trades.root));
    this.records.root.hidden = true;
    this.board = new QuoteBoard(directory);
    this.board.root.hidden = true;
    this.market = element(
        "section", {class: "market", "aria-label": "Records"},
        element("div", {class: "market_head"}, this.choice, this.quote, this.view_status),
        this.board.root, this.books, this.records.root);

    this.nodes = [
      head, subscribers.root,
      element("div", {class: "halves"}, element("div", {}, charts, heat.root), this.market)
    ];

    const parameters = new URLSearchParams({bus: directory});
    if (instrument !== null) parameters.set("instrument", instrument);
    this.stream = new Stream(`api/v1/view?${parameters}`, text => this.take(text), changed);
    this.stream.open();
  }

  // Takes a view message.
  take(text) {
    const view = parse_exact(text);
    this.view = view;
    this.view_arrived_ms = performance.now();
    const instrument = view.book?.instrument_id ?? null;
    if (instrument !== this.tape_instrument) {
      this.tape = new Tape();
      this.tape_instrument = instrument;
    }
    this.tape.add(view.trades ?? []);
    this.on_view(view);
    this.changed();
  }

  show(context) {
    const {readings, window_ms} = context;
    const bus = readings.bus(this.directory);
    const to_ms = readings.time_ms();
    const from_ms = to_ms - window_ms;
    set_text(this.title, bus ? bus_name(bus) : this.directory);
    set_text(
        this.state,
        bus ? bus.state : "not listed: closed, never started, or not shown by this server");
    set_class(this.state, bus && ["running", "closed"].includes(bus.state) ? "state" : "state bad");
    if (bus) {
      const series = readings.series.get(this.directory);
      const subscribers = visible_subscribers(bus, context.shows_observers);
      this.show_tiles(bus);
      this.observers.show([bus], context);
      this.show_subscribers(bus, subscribers, series, context.ranks);
      this.show_charts(bus, subscribers, series, from_ms, to_ms);
    }
    this.show_view();
  }

  show_tiles(bus) {
    const {ring} = bus;
    const counters = ring?.counters;
    const stalls = counters?.stalls;
    const tiles = [
      ["records/s", ring ? count_text(bus.rate) : "–"], ["head", count_text(ring?.head)],
      ["unarchived", quiet_count(behind_head(bus, ring?.archived))],
      ["undurable", quiet_count(behind_head(bus, ring?.durable))],
      ["oldest", count_text(ring?.oldest)],
      [
        "journal",
        {text: ring?.journal ?? "–", class: ["failed", "shed"].includes(ring?.journal) ? "bad" : ""}
      ],
      ["stalls", stalls ? `${count_text(stalls.count)}, ${duration_text(stalls.sum_ns)}` : "–"],
      ["gaps", quiet_count(counters?.gaps ?? null)], ["lost", bad_count(counters?.lost ?? null)],
      ["refused", quiet_count(bus.refused ?? null)], ["dropped", quiet_count(bus.dropped ?? null)],
      ["publisher", ring ? `pid ${ring.publisher_pid}` : "–"],
      ...(bus.user !== undefined ? [["user", String(bus.user)]] : []),
      ...(bus.schema ? [["schema", bus.schema]] : []),
      ...(bus.capacity ? [["ring", `${short_text(bus.capacity)} slots`]] : [])
    ];
    for (const [name, value] of tiles) {
      let tile = this.tiles.get(name);
      if (!tile) {
        tile = element("dd");
        this.tiles.set(name, tile);
        this.tile_list.append(element("div", {}, element("dt", {}, name), tile));
      }
      set_text(tile, value.text ?? value);
      set_class(tile, value.class ?? "");
    }
  }

  show_subscribers(bus, subscribers, series, ranks) {
    const labels = subscriber_labels(subscribers);
    this.labels = labels;
    set_text(
        this.subscribers_note,
        bus.subscribers === null ? bus.subscribers_why :
            subscribers.length   ? "" :
                                   "none");
    for (const key of this.names.keys())
      if (!labels.has(key)) this.names.delete(key);
    const sorted =
        [...subscribers].sort((a, b) => ranks.subscriber(bus, a) - ranks.subscriber(bus, b));
    this.subscribers.show(sorted.map(subscriber => {
      const key = subscriber_key(subscriber);
      if (!this.names.has(key)) {
        const sample = element("span", {class: "sample", "aria-hidden": "true"});
        const name = element("span");
        this.names.set(key, {sample, name, node: element("span", {class: "named"}, sample, name)});
      }
      const {sample, name, node} = this.names.get(key);
      sample.style.backgroundColor = series_colour(series.colours.get(key));
      set_text(name, labels.get(key));
      return {
        key,
        class: is_bad_subscriber(subscriber) ? "is_bad" : "",
        cells: [
          node, subscriber_state(subscriber), count_text(subscriber.position),
          quiet_count(subscriber.lag), ring_share_text(subscriber, bus),
          count_text(subscriber.lag_rate), delay_text(subscriber), p99_text(subscriber),
          quiet_count(subscriber.gaps), bad_count(subscriber.lost), quiet_count(subscriber.filled),
          subscriber.wait ?? "–", subscriber.on_gap ?? "–", String(subscriber.pid),
          String(subscriber.uid)
        ]
      };
    }));
  }

  show_charts(bus, subscribers, series, from_ms, to_ms) {
    const attached = subscribers.filter(subscriber => !is_missing(subscriber));
    const accent = theme().accent;
    this.rate.show(
        series.bus.rows(["rate"], from_ms), [{label: "rate", colour: accent}], from_ms, to_ms,
        bus.ring ? count_text(bus.rate) : "no ring");
    const worst_text = (key, format) => {
      const most =
          attached.reduce((worst, s) => (worst === null || s[key] > worst[key] ? s : worst), null);
      if (!most) return "no subscribers";
      return most[key] > 0 ? `most: ${this.labels.get(subscriber_key(most))} ${format(most[key])}` :
                             "0";
    };
    for (const [chart, history, key, format] of [[this.lag, series.lag, "lag", count_text], [
           this.delay, series.delay, "delay_seconds", seconds => duration_text(seconds * 1e9)
         ]]) {
      const worst =
          [...subscribers].sort((a, b) => b[key] - a[key]).slice(0, kLinesMax).map(subscriber_key);
      const keys = [...series.colours.keys()].filter(name => worst.includes(name));
      chart.show(
          history.rows(keys, from_ms),
          keys.map(
              name => (
                  {label: this.labels.get(name), colour: series_colour(series.colours.get(name))})),
          from_ms, to_ms, worst_text(key, format));
    }
    const stalls = bus.ring?.counters?.stalls;
    this.stalls.show(
        series.bus.rows(["stalls_ms"], from_ms), [{label: "stalls", colour: accent}], from_ms,
        to_ms,
        stalls ? `${count_text(stalls.count)} in all, ${duration_text(stalls.sum_ns)}` :
                 "not counted");
    this.show_heat(subscribers, series, from_ms, to_ms);
  }

  show_heat(subscribers, series, from_ms, to_ms) {
    const measured = subscribers.filter(
        s => s.latency && s.latency.count > 0 && series.heat.has(subscriber_key(s)));
    const keys = measured.map(subscriber_key);
    const before = this.heat_choice.value;
    const options = [...this.heat_choice.options].map(option => option.value);
    if (keys.join("\n") !== options.join("\n")) {
      this.heat_choice.replaceChildren(...keys.map(key => {
        const option = element("option", {}, this.labels.get(key));
        option.value = key;
        return option;
      }));
      if (keys.includes(before)) this.heat_choice.value = before;
    }
    this.heat_choice.hidden = keys.length < 2;
    const map = series.heat.get(this.heat_choice.value);
    this.heat_canvas.hidden = keys.length === 0;
    this.heat_why.hidden = keys.length > 0;
    if (keys.length === 0) {
      set_text(this.heat_why, this.why_no_ages(subscribers));
      set_text(this.heat_note, "");
      return;
    }
    const sum = map.sum(from_ms);
    set_text(
        this.heat_note,
        sum.length ? `${keys.length < 2 ? `${this.labels.get(keys[0])}: ` : ""}p50 ${
                         duration_text(percentile(sum, 0.5))}, ` +
                `p99 ${duration_text(percentile(sum, 0.99))}, p99.9 ${
                         duration_text(percentile(sum, 0.999))}` :
                     "");
    draw_heat(this.heat_canvas, map, from_ms, to_ms);
  }

  why_no_ages(subscribers) {
    if (subscribers.length === 0) return "There are no subscribers.";
    if (subscribers.some(s => s.latency?.unstamped > 0)) {
      return "The records have no publishing time, so their ages are not known.";
    }
    if (subscribers.some(s => s.latency?.count > 0))
      return "This server sends no histograms of ages.";
    if (subscribers.some(s => s.latency)) return "No age has been measured yet.";
    return "No subscriber reports ages. Start it with --measure N (tail, record, book) or set " +
        "measure_every in a program. The records need a publishing time (DBN: publish --restamp).";
  }

  show_view() {
    const {view} = this;
    const sentence = view_sentence(this.stream, view, performance.now() - this.view_arrived_ms);
    const is_unknown = !sentence.is_old && this.instrument !== null && !view?.book &&
        view?.instruments?.length > 0;
    set_text(
        this.view_status,
        is_unknown ? `This bus has no instrument ${this.instrument}. Write a number as id:N.` :
                     sentence.text);
    set_class(this.view_status, sentence.is_bad ? "view_status bad" : "view_status");
    this.market.classList.toggle("old", sentence.is_old && view !== null);
    if (!view || view === this.shown) return;
    this.shown = view;
    const has_books = view.schema === kOrderBookSchema;
    this.books.hidden = !has_books;
    const has_quotes = Array.isArray(view.quotes);
    this.board.root.hidden = !has_quotes;
    this.records.root.hidden = view.records === null || has_quotes;
    this.show_instruments(view);
    if (has_books) {
      this.ladder.show(view.book, view.sequence);
      this.depth.show(view.book);
      this.trades.show(this.tape.trades);
    }
    if (has_quotes) this.board.show(view.quotes, view.book?.instrument_id ?? null, has_books);
    if (view.records && !has_quotes) this.records.show(view.records, view.schema);
  }

  show_instruments(view) {
    const instruments = view.instruments ?? [];
    const wanted =
        instruments.map(({instrument_id: id,
                          symbol,
                          stale}) => [`id:${id}`, `${symbol ?? id}${stale ? " (stale)" : ""}`]);
    const options = [...this.choice.options].map(option => [option.value, option.text]);
    if (JSON.stringify(wanted) !== JSON.stringify(options)) {
      this.choice.replaceChildren(...wanted.map(([id, text]) => {
        const option = element("option", {}, text);
        option.value = id;
        return option;
      }));
    }
    const id = view.book ? `id:${view.book.instrument_id}` : this.instrument ?? "";
    if (this.choice.value !== id && document.activeElement !== this.choice) this.choice.value = id;
    this.choice.hidden = instruments.length === 0;
    const shown = instruments.find(instrument => `id:${instrument.instrument_id}` === id);
    const more = view.instruments_total > instruments.length ?
        ` (${count_text(view.instruments_total)} instruments)` :
        "";
    const decimals = shown ?
        price_decimals(
            [shown.bid, shown.ask, ...(view.book?.bids ?? []).map(level => level.price)]) :
        0;
    set_text(
        this.quote,
        shown ? `${price_text(shown.bid, decimals)} × ${price_text(shown.ask, decimals)}${more}` :
                more);
  }

  destroy() {
    this.stream.close();
    for (const chart of this.charts) chart.destroy();
  }
}
