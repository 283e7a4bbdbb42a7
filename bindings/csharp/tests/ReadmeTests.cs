// The programs in README.md compile, and the first one runs.
using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text.RegularExpressions;
using Lapwing;

static class ReadmeTests
{
    const int LoopLinesMax = 15;
    const int Quotes = 20;

    // Declarations that the fragments use.
    const string Surroundings = @"using System; using System.Threading; using Lapwing;
        struct Quote { public ulong Ts; public uint Instrument, Size; public long Bid, Ask; }
        static class Surroundings
        {
            static Subscriber subscriber, es, nq;
            static WaitSet set;
            static void Use(Quote[] quotes, int count) { }
            static void Use(Subscriber subscriber, Item item) { }
            static void Report() { }
            static void Fragment()
            {
                FRAGMENT
            }
        }";

    static string[] Programs
    {
        get
        {
            var readme = ExampleTests.PathOf("../../../bindings/csharp/README.md");
            return Regex.Matches(File.ReadAllText(readme), "```csharp\n(.*?)```", RegexOptions.Singleline).Cast<Match>()
                .Select(match => match.Groups[1].Value).ToArray();
        }
    }

    static void Run(Folder folder, string program, string words, Action<string> check)
    {
        var start = new ProcessStartInfo(program, words)
        {
            RedirectStandardOutput = true, RedirectStandardError = true, UseShellExecute = false,
            WorkingDirectory = folder.Path,
        };
        start.EnvironmentVariables["MONO_PATH"] = ExampleTests.PathOf("");
        using (var process = Process.Start(start))
        {
            var output = process.StandardOutput.ReadToEnd();
            var errors = process.StandardError.ReadToEnd();
            process.WaitForExit();
            Check.That(process.ExitCode == 0, $"{program} {words}: {output}{errors}");
            check(output);
        }
    }

    static void Compile(Folder folder, string text, string name, string target)
    {
        File.WriteAllText(folder[$"{name}.cs"], text);
        Run(folder, "mcs", $"-nologo -langversion:7 -unsafe -warnaserror -nowarn:0649,0169 -target:{target} " +
            $"-r:{ExampleTests.PathOf("Lapwing.dll")} -out:{name}.exe {name}.cs", output => { });
    }

    [Test("The main loop of README.md has at most 15 lines, compiles, and prints every quote and the end")]
    static void MainLoop()
    {
        var program = Programs[0];
        var body = Regex.Match(program, "static void Main\\(\\)\n    {\n(.*?)\n    }\n", RegexOptions.Singleline).Groups[1].Value;
        Check.That(body.Contains("Subscriber.Open"), "the main loop was not found");
        Check.That(body.Split('\n').Length <= LoopLinesMax, $"it has {body.Split('\n').Length} lines");
        using (var folder = new Folder())
        {
            Run(folder, "mono", $"{ExampleTests.PathOf("Publish.exe")} quotes {Quotes}", output => { });
            Compile(folder, program, "Main", "exe");
            Run(folder, "mono", "Main.exe", output =>
            {
                var lines = output.TrimEnd('\n').Split('\n');
                Check.Equal(Quotes, lines.Count(line => line.StartsWith("bid ")));
                Check.That(lines.Contains("bid 4504.75, ask 4505"), output);
                Check.That(lines.Contains($"CaughtUp {Quotes}"), output);
                Check.Equal("closed", lines.Last());
            });
        }
    }

    [Test("The other programs of README.md compile")]
    static void Fragments()
    {
        var fragments = Programs.Skip(1).ToArray();
        Check.That(fragments.Length >= 2, $"there are {fragments.Length}");
        using (var folder = new Folder())
        {
            for (var i = 0; i < fragments.Length; ++i)
            {
                Compile(folder, Surroundings.Replace("FRAGMENT", fragments[i]), $"Fragment{i}", "library");
            }
        }
    }
}
