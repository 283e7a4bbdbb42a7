using System;
using System.Collections.Generic;
using System.Linq;

namespace Lapwing
{
    /// <summary>Where a subscriber begins.</summary>
    public sealed class Start
    {
        Start(StartKind kind, ulong value = 0, Position position = null)
        {
            Kind = kind;
            Value = value;
            Position = position;
        }

        internal StartKind Kind { get; }

        internal ulong Value { get; }

        internal Position Position { get; }

        /// <summary>The next record that is published.</summary>
        public static Start Live { get; } = new Start(StartKind.Live);

        /// <summary>The oldest that is kept.</summary>
        public static Start Oldest { get; } = new Start(StartKind.Oldest);

        /// <summary>The state of the newest checkpoint, then what follows.</summary>
        public static Start Snapshot { get; } = new Start(StartKind.Snapshot);

        public static Start Sequence(ulong sequence) => new Start(StartKind.Sequence, sequence);

        /// <summary>UTC ns: at or a little before.</summary>
        public static Start Time(ulong utcNs) => new Start(StartKind.Time, utcNs);

        public static Start After(Position position) =>
            new Start(StartKind.After, 0, position ?? throw new ArgumentNullException(nameof(position)));
    }

    /// <summary>How a subscriber reads. An option that is null has its default; a time of zero is zero.</summary>
    public sealed class SubscriberOptions
    {
        /// <summary>Directory of the bus.</summary>
        public string Directory { get; set; }

        /// <summary>Shown by `lapwing subscribers`.</summary>
        public string Name { get; set; }

        /// <summary>null: live.</summary>
        public Start Start { get; set; }

        /// <summary>null: fill.</summary>
        public OnGap? OnGap { get; set; }

        /// <summary>null: backoff.</summary>
        public WaitStrategy? Wait { get; set; }

        /// <summary>Fold of a state; null: the schema's default.</summary>
        public string Fold { get; set; }

        /// <summary>The expected records: a Schema or its JSON text; null: any records.</summary>
        public string Expect { get; set; }

        /// <summary>Symbols, even of digits ("005930"), or numbers as "id:5930"; null: all.</summary>
        public IReadOnlyList<string> Instruments { get; set; }

        /// <summary>A clean close is the end: an iteration ends, a read fails with closed.</summary>
        public bool EndAtClose { get; set; }

        /// <summary>How long to wait for a bus or a publisher; null: 30 s. Timeout.InfiniteTimeSpan: without end.</summary>
        public TimeSpan? Reattach { get; set; }

        /// <summary>How long the publisher may take for the join; null: 10 s. Timeout.InfiniteTimeSpan: without end.</summary>
        public TimeSpan? FlushTimeout { get; set; }

        /// <summary>After such a silence comes an event; null and Timeout.InfiniteTimeSpan: never.</summary>
        public TimeSpan? StaleAfter { get; set; }

        /// <summary>Behind and Live events by records; 0: not by this measure.</summary>
        public int BehindRecords { get; set; }

        /// <summary>Behind and Live events by time; null and Timeout.InfiniteTimeSpan: not by this measure.</summary>
        public TimeSpan? BehindTime { get; set; }

        /// <summary>The newest record of each key, once an interval.</summary>
        public bool Conflate { get; set; }

        /// <summary>With Conflate; null: 250 ms.</summary>
        public TimeSpan? ConflateInterval { get; set; }

        /// <summary>With Conflate; null: 65,536. More keys end the interval early.</summary>
        public int? ConflateKeysMax { get; set; }

        /// <summary>The age of every Nth record is measured: Subscriber.Ages. 0: of none.</summary>
        public int MeasureEvery { get; set; }

        /// <summary>It shows records to operators: its gaps and losses do not count in the bus's totals.</summary>
        public bool Observes { get; set; }

        internal bool IsSparse => Conflate || Instruments != null;

        internal unsafe lapwing_subscriber_options Raw(Kept kept)
        {
            var start = Start ?? Start.Live;
            lapwing_subscriber_options raw;
            Native.lapwing_subscriber_options_init(&raw, (uint)sizeof(lapwing_subscriber_options));
            raw.flags = (EndAtClose ? Native.SubscriberEndAtClose : 0) | (Conflate ? Native.SubscriberConflate : 0) |
                (Observes ? Native.SubscriberObserves : 0);
            raw.directory = kept.Add(Directory);
            raw.name = kept.Add(Name);
            raw.start = (uint)start.Kind;
            Option.Choice(nameof(OnGap), OnGap, ref raw.on_gap);
            Option.Choice(nameof(Wait), Wait, ref raw.wait);
            raw.behind_records = Option.Size(nameof(BehindRecords), BehindRecords);
            raw.start_value = start.Value;
            raw.start_position = start.Position?.Raw ?? new lapwing_position();
            raw.fold = kept.Add(Fold);
            raw.expect = kept.Add(Expect);
            raw.instruments = kept.Add(Instruments?.Select(name => kept.Add(name)).ToArray());
            raw.instrument_count = (UIntPtr)(Instruments?.Count ?? 0);
            Option.SpanOrInfinite(nameof(Reattach), Reattach, ref raw.reattach_ns);
            Option.SpanOrInfinite(nameof(FlushTimeout), FlushTimeout, ref raw.flush_timeout_ns);
            Option.SpanOrInfinite(nameof(StaleAfter), StaleAfter, ref raw.stale_after_ns);
            Option.SpanOrInfinite(nameof(BehindTime), BehindTime, ref raw.behind_time_ns);
            Option.Span(nameof(ConflateInterval), ConflateInterval, ref raw.conflate_interval_ns);
            Option.Size(nameof(ConflateKeysMax), ConflateKeysMax, ref raw.conflate_keys_max);
            raw.measure_every = Option.Size(nameof(MeasureEvery), MeasureEvery);
            return raw;
        }
    }
}
