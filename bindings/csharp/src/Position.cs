using System;
using System.Globalization;

namespace Lapwing
{
    /// <summary>A random id of 16 bytes. The default value means no id.</summary>
    public struct Id : IEquatable<Id>
    {
        readonly ulong first;
        readonly ulong last;

        Id(ulong first, ulong last)
        {
            this.first = first;
            this.last = last;
        }

        internal static unsafe Id Of(lapwing_id id) => new Id(((ulong*)id.bytes)[0], ((ulong*)id.bytes)[1]);

        internal unsafe lapwing_id Raw
        {
            get
            {
                var raw = new lapwing_id();
                ((ulong*)raw.bytes)[0] = first;
                ((ulong*)raw.bytes)[1] = last;
                return raw;
            }
        }

        /// <summary>Parses 32 hexadecimal digits.</summary>
        public static Id Parse(string text)
        {
            if (text == null || text.Length != 32) throw new FormatException("an id has 32 hexadecimal digits");
            return new Id(Half(text.Substring(0, 16)), Half(text.Substring(16)));
        }

        static ulong Half(string digits) => Swap(ulong.Parse(digits, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture));

        static ulong Swap(ulong number)
        {
            var bytes = BitConverter.GetBytes(number);
            Array.Reverse(bytes);
            return BitConverter.ToUInt64(bytes, 0);
        }

        /// <summary>Returns 32 hexadecimal digits, in the order of the bytes.</summary>
        public override string ToString() => $"{Swap(first):x16}{Swap(last):x16}";

        public bool Equals(Id other) => first == other.first && last == other.last;

        public override bool Equals(object other) => other is Id && Equals((Id)other);

        public override int GetHashCode() => first.GetHashCode();
    }

    /// <summary>A position that can be stored, and from which a subscriber can resume.</summary>
    public sealed class Position
    {
        public Position(Id journalId, Id sessionId, ulong sequence)
        {
            JournalId = journalId;
            SessionId = sessionId;
            Sequence = sequence;
        }

        internal Position(lapwing_position raw)
            : this(Id.Of(raw.journal_id), Id.Of(raw.session_id), raw.sequence) { }

        public Id JournalId { get; }

        public Id SessionId { get; }

        /// <summary>The last record that was taken, or 0 if there is none to resume from.</summary>
        public ulong Sequence { get; }

        internal lapwing_position Raw => new lapwing_position
        {
            journal_id = JournalId.Raw,
            session_id = SessionId.Raw,
            sequence = Sequence,
        };
    }
}
