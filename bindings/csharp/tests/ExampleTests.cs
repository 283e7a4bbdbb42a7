using System;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using Lapwing;

static class ExampleTests
{
    internal static string PathOf(string name) =>
        Path.Combine(Path.GetDirectoryName(Assembly.GetExecutingAssembly().Location), name);

    static Process StartExample(string name, string words) =>
        Process.Start(new ProcessStartInfo("mono", $"{PathOf(name)} {words}") { RedirectStandardOutput = true, UseShellExecute = false });

    static void Ends(Process process)
    {
        if (!process.WaitForExit((int)Check.Hang.TotalMilliseconds)) process.Kill();
        Check.Equal(0, process.ExitCode);
    }

    [Test("TopOfBook prints the best prices of a bus")]
    static void TopOfBook()
    {
        using (var folder = new Folder())
        using (var publisher = BusTests.PublisherOf(folder["es"], options =>
        {
            options.RecordBytes = 0;
            options.SchemaName = "dbn.mbo";
        }))
        using (var example = StartExample("TopOfBook.exe", $"{folder["es"]} 1 7"))
        {
            publisher.PublishRecords(RecordTests.Orders("B -1 5", "A 2 9"), 0, 2);
            var line = example.StandardOutput.ReadLine();
            while (line != null && !line.EndsWith("| 100.5 x 9")) line = example.StandardOutput.ReadLine();
            Check.Equal("2 99.75 x 5 | 100.5 x 9", line);
            publisher.Close();
            Ends(example);
        }
    }

    [Test("Publish publishes quotes that every subscriber knows by name")]
    static void PublishExample()
    {
        using (var folder = new Folder())
        using (var example = StartExample("Publish.exe", $"{folder["quotes"]} 20"))
        {
            Check.That(example.StandardOutput.ReadToEnd().StartsWith("20 quotes are durable"), "other words");
            Ends(example);
            using (var history = History.Open(folder["quotes"])) Check.Equal(20ul, history.Inspect().Archived);
        }
    }

    [Test("TwoBuses prints the records of both buses, and ends when both are closed")]
    static void TwoBuses()
    {
        using (var folder = new Folder())
        using (var a = BusTests.PublisherOf(folder["a"]))
        using (var b = BusTests.PublisherOf(folder["b"]))
        {
            BusTests.Publish(a, 1, 3);
            using (var example = StartExample("TwoBuses.exe", $"{folder["a"]} {folder["b"]}"))
            {
                Func<string, string> read = end =>
                {
                    var line = example.StandardOutput.ReadLine();
                    while (line != null && !line.EndsWith(end)) line = example.StandardOutput.ReadLine();
                    return line;
                };
                Check.Equal($"{folder["a"]}: 3 records from 1 on", read("from 1 on"));
                BusTests.Publish(b, 1, 1);
                Check.Equal($"{folder["b"]}: 1 records from 1 on", read("from 1 on"));
                Check.Equal("3 and 1 records so far", read("so far"));
                a.Close();
                BusTests.Publish(b, 2, 1);
                Check.Equal($"{folder["b"]}: 1 records from 2 on", read("from 2 on"));
                b.Close();
                Check.That(example.StandardOutput.ReadToEnd().Contains($"{folder["b"]}: Closed 2"), "b was not closed");
                Ends(example);
            }
        }
    }

    [Test("SquareClient calls SquareServer")]
    static void Squares()
    {
        using (var folder = new Folder())
        using (var server = StartExample("SquareServer.exe", folder["square.sock"]))
        {
            Check.Equal("listening", server.StandardOutput.ReadLine());
            using (var client = StartExample("SquareClient.exe", $"{folder["square.sock"]} 3 -4 3000000000"))
            {
                Check.Equal("9 16 9000000000000000000\n", client.StandardOutput.ReadToEnd());
                Ends(client);
            }
            Ends(server);
        }
    }
}
