// Shared parts of all steps: parsing, named handles, rows and digests.
using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Globalization;
using System.Threading;
using Lapwing;

/// <summary>An answer that is not the name of a library error, or that has more text after the name.</summary>
sealed class AnswerException : Exception
{
    internal AnswerException(string lines) : base(lines) { }
}

sealed class Step
{
    readonly Dictionary<string, string> values = new Dictionary<string, string>();

    internal Step(string line)
    {
        var words = line.Split(' ');
        Operation = words[0];
        for (var i = 1; i < words.Length; ++i)
        {
            var equals = words[i].IndexOf('=');
            values[words[i].Substring(0, equals)] = Uri.UnescapeDataString(words[i].Substring(equals + 1));
        }
    }

    internal string Operation { get; }

    internal bool Has(string key) => values.ContainsKey(key);

    internal string Text(string key)
    {
        string value;
        return values.TryGetValue(key, out value) ? value : null;
    }

    internal ulong Number(string key, ulong missing = 0) =>
        Has(key) ? ulong.Parse(Text(key), CultureInfo.InvariantCulture) : missing;

    internal int Int(string key, int missing = 0) => Has(key) ? (int)Number(key) : missing;

    internal int? IntOrNull(string key) => Has(key) ? (int)Number(key) : (int?)null;

    internal bool IsOn(string key) => Number(key) != 0;

    internal TimeSpan? Time(string key) => Has(key) ? TimeSpan.FromMilliseconds(Number(key)) : (TimeSpan?)null;

    internal TimeSpan Timeout => Text("timeout_ms") == "forever"
        ? System.Threading.Timeout.InfiniteTimeSpan
        : Time("timeout_ms") ?? TimeSpan.Zero;

    /// <summary>Returns an enumeration value from its lower-case name.</summary>
    internal T? Choice<T>(string key)
        where T : struct => Has(key) ? (T)Enum.Parse(typeof(T), Text(key), true) : (T?)null;
}

/// <summary>Handles by their names in the scenario.</summary>
sealed class Handles<T>
    where T : class, IDisposable
{
    readonly ConcurrentDictionary<string, T> handles = new ConcurrentDictionary<string, T>();

    internal string Put(Step step, T handle)
    {
        handles[step.Text("as")] = handle;
        return "ok";
    }

    internal bool Has(string name) => handles.ContainsKey(name);

    internal T Named(string name)
    {
        T handle;
        if (handles.TryGetValue(name, out handle)) return handle;
        throw new AnswerException("misuse");
    }

    internal T Of(Step step) => Named(step.Text("on"));

    internal string Destroy(Step step)
    {
        Of(step).Dispose();
        T handle;
        handles.TryRemove(step.Text("on"), out handle);
        return "ok";
    }
}

/// <summary>64-bit FNV-1a.</summary>
sealed class Digest
{
    ulong value = 0xcbf29ce484222325;

    internal Digest Add(byte[] bytes, int count)
    {
        for (var i = 0; i < count; ++i) value = unchecked((value ^ bytes[i]) * 0x100000001b3);
        return this;
    }

    public override string ToString() => value.ToString("x16");

    internal static string Of(byte[] bytes) => new Digest().Add(bytes, bytes.Length).ToString();
}

static class Records
{
    internal static void Write(byte[] into, int offset, ulong n, int bytes)
    {
        for (var k = 0; k < bytes; ++k) into[offset + k] = (byte)(k < 8 ? n >> (8 * k) : n + (ulong)k);
    }

    internal static byte[] Of(ulong n, int bytes)
    {
        var record = new byte[bytes];
        Write(record, 0, n, bytes);
        return record;
    }
}

static class Names
{
    static readonly bool isBroken = Environment.GetEnvironmentVariable("LAPWING_CONFORMANCE_BREAK") != null;

    internal static string Of(ErrorCode code)
    {
        if (isBroken && code == ErrorCode.TimedOut) code = ErrorCode.WouldBlock;
        else if (isBroken && code == ErrorCode.WouldBlock) code = ErrorCode.TimedOut;
        return Library.NameOf(code);
    }

    /// <summary>Converts a name such as SnapshotComplete to "snapshot-complete".</summary>
    internal static string Of(Enum value) =>
        System.Text.RegularExpressions.Regex.Replace(value.ToString(), "(?<=[a-z])(?=[A-Z])", "-").ToLowerInvariant();

    internal static int Bit(bool truth) => truth ? 1 : 0;
}
