#!/usr/bin/env python3
"""Writes lapwing.dashboard.json, the Grafana dashboard, with the package grafana-foundation-sdk.

    python=$(deploy/monitoring/venv.sh) && "$python" deploy/monitoring/dashboard.py

Change this script, not its output. dashboard_test.py compares the two.
"""

import json
from pathlib import Path

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    heatmap,
    prometheus,
    stat,
    statetimeline,
    timeseries,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as common_models, dashboard as models, units
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

PATH = Path(__file__).resolve().parent / "lapwing.dashboard.json"
SOURCE = models.DataSourceRef(type_val="prometheus", uid="${datasource}")
BUS = '{bus=~"$bus"}'
FAILED = '{bus=~"$bus",state=~"failed|shed"}'
SUBSCRIBER = '{bus=~"$bus",subscriber=~"$subscriber"}'
RATE = "[$__rate_interval]"
WHOLE = "[$__range]"
RECORDS_A_SECOND = "suffix: rec/s"
MESSAGES_A_SECOND = "suffix: msg/s"
TIMES_A_SECOND = "suffix: /s"

# Alert thresholds (lapwing.rules.yml) that panels show.
LAG_OF_RING = 0.5
DELAY_SECONDS = 5
CHECKPOINT_SECONDS = 3600


def query(expression, legend="", instant=False, as_heatmap=False):
    """One query; `legend` is a template of labels."""
    one = prometheus.Dataquery().expr(expression).datasource(SOURCE).legend_format(legend)
    if as_heatmap:
        one.format(PromQueryFormat.HEATMAP)
    return one.instant() if instant else one.range()


def steps(*values):
    """Colors of a value: green below the first limit, then each color from its limit upwards."""
    colors = [models.Threshold(value=None, color="green")]
    colors += [models.Threshold(value=limit, color=color) for limit, color in values]
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(colors)


def completed(panel, title, description, queries, unit, width, height):
    """Sets the properties that every panel has."""
    panel.title(title).description(description).datasource(SOURCE).unit(unit)
    panel.span(width).height(height)
    for number, one in enumerate(queries):
        panel.with_target(one.ref_id(chr(ord("A") + number)))
    return panel


def number(title, description, expression, unit=units.Short, width=4, bad_from=None):
    """The current value, red from `bad_from` upwards."""
    panel = stat.Panel().color_mode(common_models.BigValueColorMode.VALUE)
    panel.graph_mode(common_models.BigValueGraphMode.NONE)
    panel.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    panel.thresholds(steps() if bad_from is None else steps((bad_from, "red")))
    return completed(panel, title, description, [query(expression, instant=True)], unit, width, 4)


def lines(title, description, queries, unit=units.Short, width=8, limit=None, floor=True):
    """Values over time, with a dashed line at `limit`, where an alert begins."""
    panel = timeseries.Panel().line_width(1).fill_opacity(8).span_nulls(False)
    panel.show_points(common_models.VisibilityMode.NEVER)
    legend = common.VizLegendOptions().show_legend(True)
    legend.display_mode(common_models.LegendDisplayMode.LIST)
    panel.legend(legend.placement(common_models.LegendPlacement.BOTTOM))
    panel.tooltip(common.VizTooltipOptions().mode(common_models.TooltipDisplayMode.MULTI)
                  .sort(common_models.SortOrder.DESCENDING))
    if floor:
        panel.min(0)
    if limit is not None:
        style = common_models.GraphThresholdsStyleMode.DASHED
        panel.thresholds(steps((limit, "red")))
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(style))
    pairs = [query(expression, legend) for expression, legend in queries]
    return completed(panel, title, description, pairs, unit, width, 8)


def states(title, description, expression, legend, names, width=8):
    """A bar over time for each series. `names` is {value: (word, color)}."""
    mapping = models.ValueMap({value: models.ValueMappingResult(text=word, color=color, index=index)
                               for index, (value, (word, color)) in enumerate(names.items())})
    panel = statetimeline.Panel().mappings([mapping])
    panel.show_value(common_models.VisibilityMode.NEVER).merge_values(True)
    panel.fill_opacity(70).line_width(0)
    return completed(panel, title, description, [query(expression, legend)], units.NoUnit, width, 8)


def row(title):
    return dashboard.Row(title)


def overview():
    yield row("Overview")
    yield number("Buses up", "Buses whose publisher is running and renews its heartbeat.",
                 f"sum(lapwing_bus_up{BUS})")
    yield number("Buses down", "Buses whose publisher was killed, is stopped or does not renew its heartbeat. "
                 "Buses that were closed cleanly are not counted.",
                 f"count(lapwing_bus_up{BUS} == 0) or vector(0)", bad_from=1)
    yield number("Journals failed", "Journals that failed or were stopped. Their buses continue without a journal, "
                 "and subscribers lose lapped records.",
                 f"count(lapwing_journal_state{FAILED} == 1) or vector(0)", bad_from=1)
    yield number("Records lost", "Records lost by all subscribers in the selected time range, including subscribers "
                 "that have detached.",
                 f"sum(increase(lapwing_bus_lost_records_total{BUS}{WHOLE}))", bad_from=0.5)
    yield number("Time stalled", "How long publishing waited for the journal in the selected time range.",
                 f"sum(increase(lapwing_publisher_stall_seconds_sum{BUS}{WHOLE}))", units.Seconds,
                 bad_from=0.1)
    yield number("Subscribers", "Attached subscribers.",
                 f'sum(lapwing_subscriber_up{BUS})')
    yield lines("Records", "Published records per second.",
                [(f"rate(lapwing_bus_records_total{BUS}{RATE})", "{{bus}}")], RECORDS_A_SECOND)
    yield lines("Stalls", "Share of time in which publishing waited because the journal was a whole ring behind.",
                [(f"rate(lapwing_publisher_stall_seconds_sum{BUS}{RATE})", "{{bus}}")],
                units.PercentUnit)
    yield lines("Lost records", "Records lost by all subscribers of a bus.",
                [(f"increase(lapwing_bus_lost_records_total{BUS}{RATE})", "{{bus}}")])
    yield states("Publishers", "Whether the publisher is running. No bar: the bus is closed.",
                 f"lapwing_bus_up{BUS}", "{{bus}}", {"0": ("down", "red"), "1": ("up", "green")}, 12)
    yield lines("Starts", "Starts of a publisher. Each start begins a session. Many starts in a short time "
                "indicate crashes.",
                [(f"increase(lapwing_bus_starts_total{BUS}{RATE})", "{{bus}}")], width=12)


def journal():
    yield row("Journal")
    yield lines("Journal lag", "How far the journal files are behind head, as a share of the ring. At 100 %, "
                "publishing waits. LapwingJournalLagging fires above the line.",
                [(f"lapwing_journal_lag_records{BUS} / lapwing_bus_capacity_records{BUS}", "{{bus}}")],
                units.PercentUnit, limit=LAG_OF_RING)
    yield lines("Records not durable", "Records that a power cut would lose now.",
                [(f"lapwing_journal_undurable_records{BUS}", "{{bus}}")])
    yield lines("Sync time", "Duration of a sync.", [
        (f"histogram_quantile(0.99, sum by (bus, le) "
         f"(rate(lapwing_journal_sync_seconds_bucket{BUS}{RATE})))", "{{bus}} p99"),
        (f"histogram_quantile(0.5, sum by (bus, le) "
         f"(rate(lapwing_journal_sync_seconds_bucket{BUS}{RATE})))", "{{bus}} p50")], units.Seconds)
    yield lines("Written", "Bytes written to segments per second.",
                [(f"rate(lapwing_journal_written_bytes_total{BUS}{RATE})", "{{bus}}")],
                units.BytesPerSecondSI)
    yield lines("Disk space", "Free space on the journal's disk, and the size of the journal.", [
        (f"lapwing_journal_free_bytes{BUS}", "{{bus}} free"),
        (f"lapwing_journal_size_bytes{BUS}", "{{bus}} journal")], units.BytesIEC)
    yield lines("Refused and dropped clients", "Clients that the publisher refused or disconnected per "
                "second, by reason.", [
                    (f"rate(lapwing_clients_refused_total{BUS}{RATE})", "{{bus}} refused, {{reason}}"),
                    (f"rate(lapwing_clients_dropped_total{BUS}{RATE})", "{{bus}} dropped, {{reason}}")],
                TIMES_A_SECOND)


def subscribers():
    name = "{{bus}} {{subscriber}}"
    yield row("Subscribers")
    furthest = bargauge.Panel().orientation(common_models.VizOrientation.HORIZONTAL)
    furthest.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"])).min(0)
    furthest.thresholds(steps((1, "yellow"), (DELAY_SECONDS, "red")))
    furthest.display_mode(common_models.BarGaugeDisplayMode.BASIC)
    yield completed(furthest, "Furthest behind", "The ten subscribers with the longest delay now.",
                    [query(f"topk(10, lapwing_subscriber_delay_seconds{SUBSCRIBER})", name, True)],
                    units.Seconds, 8, 8)
    yield lines("Delay", "Age of the next record that a subscriber will read. "
                "LapwingSubscriberLagging fires above the line.",
                [(f"lapwing_subscriber_delay_seconds{SUBSCRIBER}", name)], units.Seconds,
                limit=DELAY_SECONDS)
    yield lines("Lag", "Number of records by which a subscriber is behind head.",
                [(f"lapwing_subscriber_lag_records{SUBSCRIBER}", name)])
    of_latency = f"rate(lapwing_subscriber_latency_seconds_bucket{SUBSCRIBER}{RATE})"
    yield lines("Latency, p99", "Age of records when they are delivered. Only subscribers that run with "
                "--measure have a line.",
                [(f"histogram_quantile(0.99, sum by (bus, subscriber, le) ({of_latency}))", name)],
                units.Seconds)
    heat = heatmap.Panel().calculate(False)
    heat.scale_distribution(
        common.ScaleDistributionConfig().type(common_models.ScaleDistribution.LINEAR))
    heat.y_axis(heatmap.YAxisConfig().unit(units.Seconds))
    yield completed(heat, "Latency", "Delivered records per second, by their age at delivery.",
                    [query(f"sum by (le) ({of_latency})", "{{le}}", as_heatmap=True)],
                    units.Seconds, 8, 8)
    yield states("Attached", "Whether a subscriber is attached. Red: it is expected but not attached. No bar: "
                 "it has detached.", f"lapwing_subscriber_up{SUBSCRIBER}", name,
                 {"0": ("missing", "red"), "1": ("attached", "green")})
    yield lines("Gaps", "Gaps of a subscriber, records that it read from the journal after a gap, and records "
                "that it lost.", [
                    (f"increase(lapwing_subscriber_gaps_total{SUBSCRIBER}{RATE})", f"{name} gaps"),
                    (f"increase(lapwing_subscriber_filled_records_total{SUBSCRIBER}{RATE})",
                     f"{name} filled"),
                    (f"increase(lapwing_subscriber_lost_records_total{SUBSCRIBER}{RATE})",
                     f"{name} lost")])
    yield lines("Delivered", "Records delivered to a subscriber per second.",
                [(f"rate(lapwing_subscriber_records_total{SUBSCRIBER}{RATE})", name)],
                RECORDS_A_SECOND)
    yield lines("Last report", "Time since a subscriber last reported. A running subscriber reports at least every "
                "5 s. LapwingSubscriberStopped fires above the line.",
                [(f"lapwing_subscriber_report_age_seconds{SUBSCRIBER}", name)], units.Seconds, limit=30)


def channels():
    name = "{{channel}} {{sender}}"
    yield row("Channels")
    yield lines("Messages", "Messages sent per second in each direction.",
                [(f"rate(lapwing_channel_messages_total{RATE})", name)], MESSAGES_A_SECOND)
    yield lines("Bytes", "Bytes of frames sent per second.",
                [(f"rate(lapwing_channel_frame_bytes_total{RATE})", name)], units.BytesPerSecondSI)
    yield lines("In flight", "Messages that were sent but not yet received.",
                [("lapwing_channel_in_flight_messages", name)])
    yield lines("Waits for space", "How often per second the sender found the channel full. If this is high, "
                "the receiver is the slower side.", [(f"rate(lapwing_channel_full_waits_total{RATE})", name)], TIMES_A_SECOND)
    yield lines("Waits for a message", "How often per second the receiver found the channel empty. If this "
                "is high, the sender is the slower side.", [(f"rate(lapwing_channel_empty_waits_total{RATE})", name)],
                TIMES_A_SECOND)
    yield states("Stopped", "Whether a signal or a debugger has stopped one of the two processes.",
                 "lapwing_channel_stopped", name, {"0": ("runs", "green"), "1": ("stopped", "red")})


def checkpoints():
    name = "{{bus}} {{fold}}"
    yield row("Checkpoints")
    yield lines("Age", "Time since the newest checkpoint was written. LapwingCheckpointOld fires above the "
                "line if records were published since.",
                [(f"time() - lapwing_checkpoint_timestamp_seconds{BUS}", name)], units.Seconds,
                limit=CHECKPOINT_SECONDS)
    yield lines("Behind head", "Records that a subscriber must read if it starts from the newest checkpoint.",
                [(f"lapwing_checkpoint_lag_records{BUS}", name)])
    yield lines("Size", "File size of the newest checkpoint.",
                [(f"lapwing_checkpoint_size_bytes{BUS}", name)], units.BytesIEC)


def monitor():
    yield row("Monitor")
    yield lines("Sample time, p99", "How long `lapwing serve` takes to sample all buses.",
                [(f"histogram_quantile(0.99, sum by (instance, le) "
                  f"(rate(lapwing_monitor_sample_seconds_bucket{RATE})))", "{{instance}}")],
                units.Seconds)
    yield lines("Errors", "Buses that could not be read, and announcements that were rejected, per second.",
                [(f"rate(lapwing_monitor_errors_total{RATE})", "{{instance}} {{reason}}")],
                TIMES_A_SECOND)
    yield lines("Requests", "Requests answered per second, by route and status code.",
                [(f"sum by (route, code) (rate(lapwing_http_requests_total{RATE}))",
                  "{{route}} {{code}}")], TIMES_A_SECOND)
    yield lines("Response time, p99", "How long `lapwing serve` takes to answer a request.",
                [(f"histogram_quantile(0.99, sum by (route, le) "
                  f"(rate(lapwing_http_request_duration_seconds_bucket{RATE})))", "{{route}}")],
                units.Seconds)
    yield lines("Connections", "Open connections, and clients of /api/v1/stream.", [
        ("lapwing_http_connections", "{{instance}} connections"),
        ("lapwing_http_stream_clients", "{{instance}} stream")])
    yield lines("Rejected", "Connections and requests rejected per second, by reason.",
                [(f"rate(lapwing_http_rejected_total{RATE})", "{{instance}} {{reason}}")],
                TIMES_A_SECOND)
    yield lines("Stream", "Messages sent to clients of /api/v1/stream per second, and messages that a newer "
                "one replaced before they were sent.", [
                    (f"rate(lapwing_http_stream_messages_total{RATE})", "{{instance}} sent"),
                    (f"rate(lapwing_http_stream_conflated_messages_total{RATE})",
                     "{{instance}} replaced")], MESSAGES_A_SECOND)
    yield lines("Process", "Processor time of the monitor as a share of one core.",
                [('rate(process_cpu_seconds_total{job="lapwing"}' + RATE + ")", "{{instance}}")],
                units.PercentUnit)
    yield lines("Memory", "Resident memory of the monitor.",
                [('process_resident_memory_bytes{job="lapwing"}', "{{instance}}")], units.BytesIEC)


def variables():
    option = models.VariableOption(selected=True, text=["All"], value=["$__all"])
    yield dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
    for name, label, expression in (
            ("bus", "Bus", "label_values(lapwing_bus_up, bus)"),
            ("subscriber", "Subscriber", f"label_values(lapwing_subscriber_up{BUS}, subscriber)")):
        variable = dashboard.QueryVariable(name).label(label).datasource(SOURCE).query(expression)
        variable.multi(True).include_all(True).all_value(".*").current(option)
        variable.refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        yield variable.sort(models.VariableSort.ALPHABETICAL_ASC)


def build():
    """The dashboard as a model of the SDK."""
    made = dashboard.Dashboard("Lapwing").uid("lapwing").tags(["lapwing"]).timezone("browser")
    made.description("Lapwing buses with their journals and subscribers, channels, and the monitor "
                     "(`lapwing serve`).")
    made.refresh("10s").time("now-1h", "now").tooltip(models.DashboardCursorSync.CROSSHAIR).editable()
    for variable in variables():
        made.with_variable(variable)
    for part in (overview, journal, subscribers, channels, checkpoints, monitor):
        for panel in part():
            if isinstance(panel, dashboard.Row):
                made.with_row(panel)
            else:
                made.with_panel(panel)
    model = made.build()
    for number_of_panel, panel in enumerate(model.panels, 1):
        panel.id_val = number_of_panel
    return model


def line_of(part):
    return json.dumps(part, sort_keys=True, ensure_ascii=False)


def text_of(model):
    """The text of the file: one line for each panel, and one line for everything else."""
    parts = json.loads(json.dumps(model, cls=JSONEncoder))
    panels = ",\n".join(line_of(panel) for panel in parts.pop("panels"))
    return f'{line_of(parts)[:-1]}, "panels": [\n{panels}\n]}}\n'


if __name__ == "__main__":
    PATH.write_text(text_of(build()), encoding="utf-8")
