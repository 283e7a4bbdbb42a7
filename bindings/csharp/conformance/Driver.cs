// The conformance driver for C#: see tests/conformance/bindings/README.md.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using Lapwing;

static class Driver
{
    const int UnknownResult = 36;

    static readonly Dictionary<string, Func<Step, string>> operations =
        new[]
            {
                LibrarySteps, PublisherSteps.All, SubscriberSteps.All, HistorySteps.All, ChannelSteps.All, MisuseSteps.All,
            }
            .SelectMany(some => some)
            .ToDictionary(one => one.Key, one => one.Value);

    static readonly Dictionary<string, Task<string>> begun = new Dictionary<string, Task<string>>();

    static Dictionary<string, Func<Step, string>> LibrarySteps => new Dictionary<string, Func<Step, string>>
    {
        { "library.version", step => $"ok abi={Library.Abi}" },
        {
            "library.errors",
            step => "ok " + string.Join(",", Enumerable.Range(0, UnknownResult + 1)
                .Select(number => $"{number}={Names.Of((ErrorCode)number)}"))
        },
        {
            "library.schema",
            step =>
            {
                var schema = step.Has("directory") ? Schema.OfBus(step.Text("directory")) : Schema.Named(step.Text("name"));
                var fields = schema.Fields.Select(field =>
                    $"{field.Name}:{(int)field.Type}:{field.Offset}:{field.Bytes}:{(int)field.Unit}:{(int)field.Role}");
                return $"ok name={schema.Name} version={schema.Version} record_bytes={schema.RecordBytes} " +
                    $"fields={string.Join(",", fields)}";
            }
        },
    };

    static string Run(string line)
    {
        var step = new Step(line);
        Func<Step, string> operation;
        if (!operations.TryGetValue(step.Operation, out operation)) return "unsupported-step";
        try
        {
            return operation(step);
        }
        catch (AnswerException answer)
        {
            return answer.Message;
        }
        catch (LapwingException error)
        {
            return Names.Of(error.Code);
        }
        catch (ObjectDisposedException)
        {
            return Names.Of(ErrorCode.Misuse);
        }
        catch (ArgumentException)
        {
            return Names.Of(ErrorCode.InvalidArgument);
        }
    }

    static string Answer(string line)
    {
        var words = line.Split(new[] { ' ' }, 3);
        if (words[0] == "end") return begun[words[1]].Result;
        if (words[0] != "begin") return Run(line);
        begun[words[1]] = Task.Factory.StartNew(() => Run(words[2]), TaskCreationOptions.LongRunning);
        return "ok";
    }

    static int Main()
    {
        Library.Require();
        for (var line = Console.In.ReadLine(); line != null; line = Console.In.ReadLine())
        {
            Console.Out.Write(Answer(line) + "\n.\n");
            Console.Out.Flush();
        }
        return 0;
    }
}
