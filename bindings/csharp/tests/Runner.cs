// Runs the methods of this assembly marked [Test], or those whose names contain a word from the command line.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Threading;
using Lapwing;

/// <summary>Marks a test. Its text is the claim that the test checks.</summary>
[AttributeUsage(AttributeTargets.Method)]
sealed class TestAttribute : Attribute
{
    internal TestAttribute(string claim)
    {
        Claim = claim;
    }

    internal string Claim { get; }
}

sealed class FailedException : Exception
{
    internal FailedException(string message) : base(message) { }
}

static class Check
{
    internal static readonly TimeSpan Hang = TimeSpan.FromSeconds(30); // only ends a hang

    internal static void That(bool truth, string what)
    {
        if (!truth) throw new FailedException(what);
    }

    internal static void Equal<T>(T expected, T found)
    {
        if (!EqualityComparer<T>.Default.Equals(expected, found)) throw new FailedException($"expected {expected}, got {found}");
    }

    internal static void Same<T>(IEnumerable<T> expected, IEnumerable<T> found)
    {
        if (expected.SequenceEqual(found)) return;
        throw new FailedException($"expected {string.Join(",", expected)}, got {string.Join(",", found)}");
    }

    internal static T Throws<T>(Action action)
        where T : Exception
    {
        try
        {
            action();
        }
        catch (AggregateException all) when (all.InnerException is T)
        {
            return (T)all.InnerException;
        }
        catch (T expected)
        {
            return expected;
        }
        throw new FailedException($"no {typeof(T).Name} was thrown");
    }

    internal static LapwingException Fails(ErrorCode code, Action action)
    {
        var error = Throws<LapwingException>(action);
        if (error.Code != code) throw new FailedException($"expected {code}, got {error.Code}: {error.Message}");
        return error;
    }
}

/// <summary>A folder that is removed after the test.</summary>
sealed class Folder : IDisposable
{
    const int AttemptsMax = 500;

    static int made;

    internal Folder()
    {
        Path = System.IO.Path.Combine(
            System.IO.Path.GetTempPath(), $"lw-cs-{Process.GetCurrentProcess().Id}-{Interlocked.Increment(ref made)}");
        Directory.CreateDirectory(Path);
    }

    internal string Path { get; }

    internal string this[string name] => System.IO.Path.Combine(Path, name);

    /// <summary>Removes the folder. It retries, since a publisher's threads may still write to it briefly.</summary>
    public void Dispose()
    {
        for (var attempt = 1; ; ++attempt)
        {
            try
            {
                Directory.Delete(Path, true);
                return;
            }
            catch (IOException) when (attempt < AttemptsMax)
            {
                Thread.Sleep(10);
            }
        }
    }
}

static class Runner
{
    static int Main(string[] words)
    {
        var passed = 0;
        var failed = 0;
        foreach (var method in Assembly.GetExecutingAssembly().GetTypes()
            .SelectMany(type => type.GetMethods(BindingFlags.Static | BindingFlags.NonPublic)))
        {
            var test = method.GetCustomAttribute<TestAttribute>();
            if (test == null || words.Length > 0 && !words.Any(test.Claim.Contains)) continue;
            try
            {
                method.Invoke(null, null);
                ++passed;
                Console.WriteLine($"ok      {test.Claim}");
            }
            catch (TargetInvocationException error)
            {
                ++failed;
                Console.WriteLine($"FAILED  {test.Claim}: {error.InnerException}");
            }
        }
        Console.WriteLine($"{passed} passed, {failed} failed");
        return failed == 0 && passed > 0 ? 0 : 1;
    }
}
