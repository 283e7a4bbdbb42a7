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

    public sealed class SubscriberOptions
    {
        /// <summary>Of the bus.</summary>
        public string Directory { get; set; }

        /// <summary>Shown by `lapwing subscribers`.</summary>
        public string Name { get; set; }

        /// <summary>null: live.</summary>
        public Start Start { get; set; }

        /// <summary>null: fill.</summary>
        public OnGap? OnGap { get; set; }

        /// <summary>null: backoff.</summary>
        public WaitStrategy? Wait { get; set; }

        /// <summary>Of a state; null: the schema's default.</summary>
        public string Fold { get; set; }

        /// <summary>What the records have to be (Schema.Json); null: anything.</summary>
        public string Expect { get; set; }

        /// <summary>Symbols, even of digits ("005930"), or numbers as "id:5930"; null: all.</summary>
        public IReadOnlyList<string> Instruments { get; set; }

        /// <summary>A clean close is the end: an iteration ends, a read fails with closed.</summary>
        public bool EndAtClose { get; set; }

        /// <summary>For how long a bus or publisher is waited for; null: 30 s.</summary>
        public TimeSpan? Reattach { get; set; }

        /// <summary>How long the publisher may take for the join; null: 10 s.</summary>
        public TimeSpan? FlushTimeout { get; set; }

        /// <summary>null: never.</summary>
        public TimeSpan? StaleAfter { get; set; }

        /// <summary>Behind and Live events by records; 0: not by this measure.</summary>
        public int BehindRecords { get; set; }

        /// <summary>Likewise by time.</summary>
        public TimeSpan? BehindTime { get; set; }

        /// <summary>The newest record of each key, once an interval.</summary>
        public bool Conflate { get; set; }

        /// <summary>With Conflate; null: 250 ms.</summary>
        public TimeSpan? ConflateInterval { get; set; }

        /// <summary>With Conflate; 0: 65,536. More keys end the interval early.</summary>
        public int ConflateKeysMax { get; set; }

        internal bool IsSparse => Conflate || Instruments != null;

        internal unsafe lapwing_subscriber_options Raw(Kept kept)
        {
            var start = Start ?? Start.Live;
            return new lapwing_subscriber_options
            {
                struct_size = (uint)sizeof(lapwing_subscriber_options),
                flags = (EndAtClose ? Native.SubscriberEndAtClose : 0) | (Conflate ? Native.SubscriberConflate : 0),
                directory = kept.Add(Directory),
                name = kept.Add(Name),
                start = (uint)start.Kind,
                on_gap = Option.Choice(nameof(OnGap), OnGap),
                wait = Option.Choice(nameof(Wait), Wait),
                behind_records = Option.Size(nameof(BehindRecords), BehindRecords),
                start_value = start.Value,
                start_position = start.Position?.Raw ?? new lapwing_position(),
                fold = kept.Add(Fold),
                expect = kept.Add(Expect),
                instruments = kept.Add(Instruments?.Select(name => kept.Add(name)).ToArray()),
                instrument_count = (UIntPtr)(Instruments?.Count ?? 0),
                reattach_ns = Option.Span(nameof(Reattach), Reattach),
                flush_timeout_ns = Option.Span(nameof(FlushTimeout), FlushTimeout),
                stale_after_ns = Option.Span(nameof(StaleAfter), StaleAfter),
                behind_ns = Option.Span(nameof(BehindTime), BehindTime),
                conflate_interval_ns = Option.Span(nameof(ConflateInterval), ConflateInterval),
                conflate_keys_max = Option.Size(nameof(ConflateKeysMax), ConflateKeysMax),
            };
        }
    }
}
