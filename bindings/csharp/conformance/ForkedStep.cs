// A fork by native code while objects are open. The child has only the thread that forked. It must not collect garbage,
// and ends without the runtime.
using System;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;
using Lapwing;

static class ForkedStep
{
    const string Path = "forked.sock";
    const int NamesBytesMax = 512;
    const int SigKill = 9;

    [DllImport("libc")]
    static extern int fork();

    [DllImport("libc")]
    static extern int pipe(int[] ends);

    [DllImport("libc")]
    static extern IntPtr read(int fd, byte[] bytes, UIntPtr count);

    [DllImport("libc")]
    static extern IntPtr write(int fd, byte[] bytes, UIntPtr count);

    [DllImport("libc")]
    static extern int close(int fd);

    [DllImport("libc")]
    static extern int kill(int process, int signal);

    [DllImport("libc")]
    static extern int waitpid(int process, out int status, int options);

    [DllImport("libc")]
    static extern void _exit(int code);

    /// <summary>Makes each call and returns the distinct outcomes.</summary>
    static string Use(params Action[] calls) => MisuseSteps.Different(calls.Select(MisuseSteps.Outcome));

    static void RunChild(int pipeEnd, Func<string> use)
    {
        try
        {
            var names = Encoding.ASCII.GetBytes(use());
            write(pipeEnd, names, (UIntPtr)names.Length);
        }
        finally
        {
            _exit(0);
        }
    }

    /// <summary>Returns the text that the child has written, or how it ended if it has written nothing.</summary>
    static string NamesOf(int child, int pipeEnd)
    {
        var names = new byte[NamesBytesMax];
        var isThere = Poll.IsReadable(pipeEnd, MisuseSteps.Hang);
        var bytes = isThere ? (int)read(pipeEnd, names, (UIntPtr)names.Length) : 0;
        if (!isThere) kill(child, SigKill);
        int status;
        waitpid(child, out status, 0);
        close(pipeEnd);
        if (bytes > 0) return Encoding.ASCII.GetString(names, 0, bytes);
        return isThere ? $"ended-{status}" : "hang";
    }

    /// <summary>Forks, runs `use` in the child, and returns its result.</summary>
    static string InChild(Func<string> use)
    {
        var ends = new int[2];
        if (pipe(ends) != 0) throw new AnswerException("system");
        GC.Collect();
        var child = fork();
        if (child == 0) RunChild(ends[1], use);
        close(ends[1]);
        if (child > 0) return NamesOf(child, ends[0]);
        close(ends[0]);
        throw new AnswerException("system");
    }

    internal static string Run(Step step)
    {
        Producer producer;
        var message = new Message(1, new byte[MisuseSteps.RowBytes]);
        using (var publisher = MisuseSteps.PublisherOf("own"))
        using (var subscriber = MisuseSteps.SubscriberOf(step.Text("directory"), Start.Oldest))
        using (var batch = new Batch(1, MisuseSteps.RowBytes))
        using (var listener = Listener.Open(Path))
        using (var consumer = MisuseSteps.Connected(listener, Path, out producer))
        using (producer)
        {
            Action publish = () => publisher.Publish(new byte[MisuseSteps.RowBytes], MisuseSteps.Hang);
            Action read = () => MisuseSteps.ReadRecords(subscriber, batch);
            Action send = () => producer.Send(message, MisuseSteps.Hang);
            Action receive = () => consumer.Receive(MisuseSteps.Hang);
            var before = Use(publish, read, send, receive);
            if (before != "ok") throw new AnswerException(before);
            var inChild = InChild(() =>
            {
                var names = Use(publish, read, send, receive);
                foreach (var one in new IDisposable[] { publisher, subscriber, producer, consumer }) one.Dispose();
                return names;
            });
            return $"ok child={inChild} parent={Use(publish, read, send, receive)}";
        }
    }
}
