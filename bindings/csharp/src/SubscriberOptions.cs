using System;
using System.Collections.Generic;
using System.Linq;

namespace Lapwing
{
    /// <summary>Where a subscriber starts.</summary>
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

        /// <summary>Starts with the next record that is published.</summary>
        public static Start Live { get; } = new Start(StartKind.Live);

        /// <summary>Starts with the oldest retained record.</summary>
        public static Start Oldest { get; } = new Start(StartKind.Oldest);

        /// <summary>Starts with the state of the newest checkpoint, then the records after it.</summary>
        public static Start Snapshot { get; } = new Start(StartKind.Snapshot);

        public static Start Sequence(ulong sequence) => new Start(StartKind.Sequence, sequence);

        /// <summary>Starts at that publish time in UTC ns, or slightly earlier.</summary>
        public static Start Time(ulong utcNs) => new Start(StartKind.Time, utcNs);

        public static Start After(Position position) =>
            new Start(StartKind.After, 0, position ?? throw new ArgumentNullException(nameof(position)));
    }

    /// <summary>How a subscriber reads. Null selects the default; a time of zero does not.</summary>
    public sealed class SubscriberOptions
    {
        /// <summary>Directory of the bus.</summary>
        public string Directory { get; set; }

        /// <summary>Shown by `lapwing subscribers`.</summary>
        public string Name { get; set; }

        /// <summary>Where to start; null: live.</summary>
        public Start Start { get; set; }

        /// <summary>How to handle gaps; null: fill them from the journal.</summary>
        public OnGap? OnGap { get; set; }

        /// <summary>How to wait; null: backoff.</summary>
        public WaitStrategy? Wait { get; set; }

        /// <summary>Fold of the state; null: the schema's default fold.</summary>
        public string Fold { get; set; }

        /// <summary>The schema that the records must match: a Schema or its JSON text; null: any.</summary>
        public string Expect { get; set; }

        /// <summary>Symbols, even if all digits ("005930"), or numbers as "id:5930"; null: all.</summary>
        public IReadOnlyList<string> Instruments { get; set; }

        /// <summary>
        /// After a clean close, end iterations and fail reads with closed, instead of waiting for the next session.
        /// </summary>
        public bool EndAtClose { get; set; }

        /// <summary>How long to wait for the bus or a publisher; null: 30 s; Timeout.InfiniteTimeSpan:
        /// forever.</summary>
        public TimeSpan? Reattach { get; set; }

        /// <summary>
        /// How long the publisher may take to answer the join; null: 10 s; Timeout.InfiniteTimeSpan: forever.
        /// </summary>
        public TimeSpan? FlushTimeout { get; set; }

        /// <summary>Time without a record until the event Stale; null and Timeout.InfiniteTimeSpan: never.</summary>
        public TimeSpan? StaleAfter { get; set; }

        /// <summary>Records behind the publisher until the event Behind; 0: no limit.</summary>
        public int BehindRecords { get; set; }

        /// <summary>Time behind the publisher until the event Behind; null and Timeout.InfiniteTimeSpan: no
        /// limit.</summary>
        public TimeSpan? BehindTime { get; set; }

        /// <summary>Deliver only the newest record of each key, once per interval.</summary>
        public bool Conflate { get; set; }

        /// <summary>With Conflate; null: 250 ms.</summary>
        public TimeSpan? ConflateInterval { get; set; }

        /// <summary>With Conflate; null: 65,536. More keys end the interval early.</summary>
        public int? ConflateKeysMax { get; set; }

        /// <summary>Measure the age of every Nth record, for Subscriber.Ages; 0: no record.</summary>
        public int MeasureEvery { get; set; }

        /// <summary>
        /// Set this if the program only displays records. The totals of the bus do not include its gaps and losses.
        /// </summary>
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
