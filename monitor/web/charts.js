// Charts over time (dygraphs), a small chart for a table cell, and the heat map of ages.
/* global Dygraph */
import {element, panel, set_text} from "./dom.js";
import {band_limit_ns, kBands} from "./histogram.js";
import {duration_text} from "./numbers.js";

// The dygraphs legend writes HTML with names and style attributes, which the page's policy
// forbids.
if (globalThis.Dygraph) Dygraph.PLUGINS = [Dygraph.Plugins.Grid, Dygraph.Plugins.Axes];

let colours = null;
export const kSeriesColours = 8;

// The page's colours from the style sheet, for the current theme.
export function theme() {
  if (!colours) {
    const style = getComputedStyle(document.documentElement);
    const of = name => style.getPropertyValue(name).trim();
    colours = {
      accent: of("--accent"),
      line: of("--line"),
      muted: of("--muted"),
      text: of("--text"),
      accent_rgb: of("--accent-rgb"),
      panel: of("--panel"),
      series: Array.from({length: kSeriesColours}, (_, i) => of(`--series-${i}`))
    };
  }
  return colours;
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colours = null;
});

export function series_colour(number) {
  return theme().series[number % kSeriesColours];
}

function axis_time(date) {
  return date.toISOString().slice(11, 19);
}

// One chart with a line for each series, from 0. All charts in a group show the same time range.
export class TimeChart {
  constructor(title, format, {group = [], height_class = "chart", is_filled = false} = {}) {
    const shell = panel(title);
    this.root = shell.root;
    this.note = shell.note;
    this.format = format;
    this.group = group;
    this.is_filled = is_filled;
    group.push(this);
    this.place = element("div", {class: height_class, role: "img", "aria-label": title});
    this.root.append(this.place);
    this.chart = null;
    this.rows = [];
    this.hovered = null;  // a row
  }

  // lines: [{label, colour}]; rows: [[time_ms, a number for each line]]. The note shows `now`
  // unless the pointer is over the chart.
  show(rows, lines, from_ms, to_ms, now) {
    this.rows = rows;
    this.lines = lines;
    this.now = now;
    if (!this.place.isConnected || this.place.clientWidth === 0) return;
    const has_lines = lines.length > 0;
    const labels = ["time", ...(has_lines ? lines.map((_, i) => `line ${i}`) : ["line"])];
    const file = (rows.length ? rows : [
                   [to_ms]
                 ]).map(row => [new Date(row[0]), ...(has_lines ? row.slice(1) : [NaN])]);
    while (file[0].length < labels.length) file[0].push(NaN);
    let most = 0;
    for (const row of rows)
      for (let i = 1; i < row.length; ++i)
        if (row[i] > most) most = row[i];
    const options = {
      file,
      labels,
      dateWindow: [from_ms, to_ms],
      valueRange: [0, most > 0 ? most * 1.12 : 1],
      colors: has_lines ? lines.map(line => line.colour) : [theme().muted],
      gridLineColor: theme().line,
      axisLineColor: theme().line
    };
    if (this.chart) {
      this.chart.updateOptions(options);
    } else {
      const {file: data, ...others} = options;
      this.chart = new Dygraph(this.place, data, {
        ...others,
        labelsUTC: true,
        legend: "never",
        strokeWidth: 1.3,
        gridLineWidth: 1,
        fillGraph: this.is_filled,
        fillAlpha: 0.14,
        highlightCircleSize: 2.5,
        interactionModel: {},
        rightGap: 2,
        axisLabelFontSize: 11,
        axes: {
          x: {axisLabelFormatter: axis_time, pixelsPerLabel: 90, drawGrid: false},
          y: {
            axisLabelFormatter: value => this.format(value),
            axisLabelWidth: 52,
            pixelsPerLabel: 28
          }
        },
        highlightCallback: (event, x, points, row) => this.point_at(row),
        unhighlightCallback: () => this.point_at(null)
      });
    }
    this.write_note();
  }

  point_at(row) {
    for (const chart of this.group) {
      chart.hovered = row;
      if (chart !== this && chart.chart) {
        if (row === null || row >= chart.rows.length)
          chart.chart.clearSelection();
        else
          chart.chart.setSelection(row);
      }
      chart.write_note();
    }
    if (row === null && this.chart) this.chart.clearSelection();
  }

  write_note() {
    const row = this.hovered === null ? null : this.rows[this.hovered];
    if (!row) return set_text(this.note, this.now);
    const values = this.lines.map(
        (line, i) => (this.lines.length > 1 ? `${line.label} ` : "") + this.format(row[i + 1]));
    set_text(this.note, `${axis_time(new Date(row[0]))}  ${values.join("  ")}`);
  }

  destroy() {
    this.chart?.destroy();
    this.chart = null;
  }
}

// Makes a canvas as sharp as the screen. Returns its context, cleared, in CSS pixels.
export function begin_drawing(canvas, width, height) {
  const scale = globalThis.devicePixelRatio || 1;
  const wide = Math.round(width * scale);
  const high = Math.round(height * scale);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

export const kSparkWidth = 120;
export const kSparkHeight = 20;

// Draws the second column of the rows as a line.
export function draw_spark(canvas, rows, from_ms, to_ms) {
  const context = begin_drawing(canvas, kSparkWidth, kSparkHeight);
  let most = 0;
  for (const [, value] of rows)
    if (value > most) most = value;
  const x = time => (time - from_ms) / (to_ms - from_ms) * kSparkWidth;
  const y = value => kSparkHeight - 1.5 - (most > 0 ? value / most * (kSparkHeight - 4) : 0);
  context.strokeStyle = theme().accent;
  context.fillStyle = `rgba(${theme().accent_rgb}, 0.16)`;
  context.lineWidth = 1.2;
  // Draws each stretch without a break as a line with the area below it.
  for (let from = 0; from < rows.length; ++from) {
    if (Number.isNaN(rows[from][1])) continue;
    const line = new Path2D();
    let to = from;
    for (; to < rows.length && !Number.isNaN(rows[to][1]); ++to)
      line.lineTo(x(rows[to][0]), y(rows[to][1]));
    context.stroke(line);
    line.lineTo(x(rows[to - 1][0]), kSparkHeight);
    line.lineTo(x(rows[from][0]), kSparkHeight);
    context.fill(line);
    from = to;
  }
}

const kHeatLeft = 58;  // like the axis labels of a TimeChart
const kHeatBottom = 18;

// Ages go upwards and time to the right. More records give a stronger accent colour.
export function draw_heat(canvas, map, from_ms, to_ms) {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (width <= kHeatLeft || height <= kHeatBottom) return;
  const context = begin_drawing(canvas, width, height);
  const plot_width = width - kHeatLeft - 2;
  const plot_height = height - kHeatBottom;
  // Each column of the picture is at least as wide as a reading.
  const columns = Math.max(1, Math.min(Math.floor(plot_width / 3), 120));
  const cells = map ? map.cells(from_ms, to_ms, columns) : new Float64Array(0);
  let low = kBands;
  let high = 0;
  let most = 0;
  cells.forEach((count, index) => {
    if (count === 0) return;
    most = Math.max(most, count);
    low = Math.min(low, index % kBands);
    high = Math.max(high, index % kBands);
  });
  context.font = "11px system-ui, sans-serif";
  context.fillStyle = theme().muted;
  if (most === 0) {
    context.fillText("No ages in this time.", kHeatLeft, height / 2);
    return;
  }
  low = Math.max(0, Math.min(low - 1, high - 7));
  high = Math.min(kBands - 1, Math.max(high + 1, low + 8));
  const band_height = plot_height / (high - low + 1);
  const column_width = plot_width / columns;
  for (let x = 0; x < columns; ++x) {
    for (let band = low; band <= high; ++band) {
      const count = cells[x * kBands + band];
      if (count === 0) continue;
      const share = Math.log1p(count) / Math.log1p(most);
      context.fillStyle = `rgba(${theme().accent_rgb}, ${(0.12 + 0.88 * share).toFixed(3)})`;
      context.fillRect(
          kHeatLeft + x * column_width, plot_height - (band - low + 1) * band_height,
          Math.max(1, column_width - 0.5), Math.max(1, band_height - 0.5));
    }
  }
  context.fillStyle = theme().muted;
  context.textAlign = "right";
  const every = Math.ceil(16 / band_height);
  for (let band = low; band <= high; band += every) {
    context.fillText(
        duration_text(band_limit_ns(band)), kHeatLeft - 6,
        plot_height - (band - low + 0.5) * band_height + 4);
  }
  const labels = Math.max(1, Math.floor(plot_width / 110));
  for (let i = 0; i <= labels; ++i) {
    context.textAlign = i === 0 ? "left" : i === labels ? "right" : "center";
    context.fillText(
        axis_time(new Date(from_ms + (to_ms - from_ms) * i / labels)),
        kHeatLeft + plot_width * i / labels, height - 4);
  }
}
