// Checks options. The errors name the option and its valid values.
using System;
using System.Threading;

namespace Lapwing
{
    static class Option
    {
        static LapwingException Invalid(string words) => new LapwingException(ErrorCode.InvalidArgument, words);

        /// <summary>Sets `to`, which contains the default, to an enumeration value unless it is null.</summary>
        internal static void Choice<T>(string name, T? value, ref uint to)
            where T : struct
        {
            if (value != null) to = Choice(name, value.Value);
        }

        internal static uint Choice<T>(string name, T value)
            where T : struct
        {
            if (Enum.IsDefined(typeof(T), value)) return Convert.ToUInt32(value);
            throw Invalid($"{name} is {value}; it can be: {string.Join(", ", Enum.GetNames(typeof(T)))}");
        }

        /// <summary>Checks a size or a count.</summary>
        internal static ulong Size(string name, long value) =>
            value >= 0 ? (ulong)value : throw Invalid($"{name} is {value}; it can be: 0 or more");

        internal static uint Size(string name, int value) => (uint)Size(name, (long)value);

        internal static void Size(string name, long? value, ref ulong to)
        {
            if (value != null) to = Size(name, value.Value);
        }

        internal static void Size(string name, int? value, ref uint to)
        {
            if (value != null) to = Size(name, value.Value);
        }

        /// <summary>Sets `to`, which contains the default in nanoseconds, unless the value is null.</summary>
        internal static void Span(string name, TimeSpan? value, ref long to)
        {
            if (value == null) return;
            if (value < TimeSpan.Zero) throw Invalid($"{name} is {value}; it can be: zero or more, or null for the default");
            to = Time.Ns(value);
        }

        /// <summary>The same, but Timeout.InfiniteTimeSpan sets -1.</summary>
        internal static void SpanOrInfinite(string name, TimeSpan? value, ref long to)
        {
            if (value == Timeout.InfiniteTimeSpan) to = -1;
            else Span(name, value, ref to);
        }
    }
}
