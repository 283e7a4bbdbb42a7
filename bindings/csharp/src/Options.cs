// Checks of options. Their errors name the option and its valid values.
using System;
using System.Threading;

namespace Lapwing
{
    static class Option
    {
        static LapwingException Invalid(string words) => new LapwingException(ErrorCode.InvalidArgument, words);

        /// <summary>The number of an enumeration's value; 0, the default, if it is null.</summary>
        internal static uint Choice<T>(string name, T? value)
            where T : struct
        {
            if (value == null) return 0;
            if (Enum.IsDefined(typeof(T), value.Value)) return Convert.ToUInt32(value.Value);
            throw Invalid($"{name} is {value}; it can be: {string.Join(", ", Enum.GetNames(typeof(T)))}");
        }

        /// <summary>A size or a count: 0 is the default.</summary>
        internal static ulong Size(string name, long value) =>
            value >= 0 ? (ulong)value : throw Invalid($"{name} is {value}; it can be: 0 or more");

        internal static uint Size(string name, int value) => (uint)Size(name, (long)value);

        /// <summary>Nanoseconds; 0, the library's default, if it is null.</summary>
        internal static long Span(string name, TimeSpan? value)
        {
            if (value == null) return 0;
            if (value >= TimeSpan.Zero) return Time.Ns(value);
            throw Invalid($"{name} is {value}; it can be: zero or more, or null for the default");
        }

        /// <summary>The same; Timeout.InfiniteTimeSpan is -1.</summary>
        internal static long SpanOrNever(string name, TimeSpan? value) =>
            value == Timeout.InfiniteTimeSpan ? -1 : Span(name, value);
    }
}
