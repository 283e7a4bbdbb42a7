using System;
using System.Diagnostics;
using System.IO.Pipes;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;
using Lapwing;

static class WaitSetTests
{
    const int SourcesMax = 127;
    const int Disposals = 100;

    static void WithTwoBuses(Action<Publisher, Publisher, Folder> use)
    {
        using (var folder = new Folder())
        using (var a = BusTests.PublisherOf(folder["a"]))
        using (var b = BusTests.PublisherOf(folder["b"])) use(a, b, folder);
    }

    static ulong Take(object token)
    {
        Item item;
        Check.That(((Subscriber)token).TryRead(out item), "the source was not ready");
        return ((Records)item).First;
    }

    [Test("Two buses are read in one thread, and the token is the subscriber unless another is given")]
    static void TwoBuses() => WithTwoBuses((a, b, folder) =>
    {
        using (var fromA = BusTests.CaughtUp(folder["a"]))
        using (var fromB = BusTests.CaughtUp(folder["b"]))
        using (var set = new WaitSet())
        {
            set.Add(fromA);
            var source = set.Add(fromB, "b");
            Check.Equal<object>("b", source.Token);
            BusTests.Publish(b, 1, 1);
            var ready = set.Wait(Check.Hang);
            Check.Equal(SourceKind.Subscriber, ready.Kind);
            Check.That(ready.Source == source && (string)ready.Token == "b", "another source");
            Take(fromB);
            BusTests.Publish(a, 1, 1);
            ready = set.Wait(Check.Hang);
            Check.That(ready.Token == fromA, "another token");
            Check.Equal(1ul, Take(ready.Token));
            Check.That(!set.TryWait(out ready), "a source is ready");
        }
    });

    [Test("A wait without a ready source fails with would-block or timed-out, or is false")]
    static void Timeouts()
    {
        using (var set = new WaitSet(WaitStrategy.Park))
        {
            Ready ready;
            Check.Fails(ErrorCode.WouldBlock, () => set.Wait(TimeSpan.Zero));
            Check.Fails(ErrorCode.TimedOut, () => set.Wait(TimeSpan.FromMilliseconds(20)));
            Check.That(!set.TryWait(out ready), "a source is ready");
            Check.That(!set.TryWait(out ready, TimeSpan.FromMilliseconds(20)), "a source was ready");
            Check.That(ready.Token == null && ready.Source == null, "it has a source");
            Check.Throws<ArgumentOutOfRangeException>(() => set.Wait(TimeSpan.FromSeconds(-1)));
        }
    }

    [Test("A set that could not be made is finalized without harm")]
    static void NotMade()
    {
        for (var i = 0; i < 20; ++i) Check.Fails(ErrorCode.InvalidArgument, () => new WaitSet((WaitStrategy)9));
        GC.Collect();
        GC.WaitForPendingFinalizers();
    }

    [Test("Listeners, both ends of a channel, descriptors and timers are sources")]
    static void Kinds()
    {
        using (var folder = new Folder())
        using (var set = new WaitSet())
        using (var listener = Listener.Open(folder["c.sock"]))
        {
            var source = set.Add(listener, "listener");
            var options = new ChannelOptions { Capacity = 4096, MessageBytesMax = 1024 };
            var connect = Task.Run(() => Producer.Connect(folder["c.sock"], options, Check.Hang));
            Consumer consumer = null;
            while (consumer == null)
            {
                Check.Equal<object>("listener", set.Wait(Check.Hang).Token);
                try
                {
                    consumer = listener.AcceptConsumer(null, TimeSpan.Zero);
                }
                catch (LapwingException error) when (error.Code == ErrorCode.WouldBlock)
                {
                    // A connection takes more than one call.
                }
            }
            set.Remove(source);
            using (consumer)
            using (var producer = connect.Result)
            {
                source = set.Add(producer, null, 1024);
                Check.Equal(SourceKind.Producer, set.Wait(Check.Hang).Kind);
                Check.Fails(ErrorCode.TimedOut, () =>
                    producer.Send(Enumerable.Repeat(new Message(1, new byte[1024]), 16).ToArray(), TimeSpan.FromMilliseconds(1)));
                Check.Fails(ErrorCode.WouldBlock, () => set.Wait(TimeSpan.Zero));
                set.Add(consumer);
                var ready = set.Wait(Check.Hang);
                Check.That(ready.Kind == SourceKind.Consumer && ready.Token == consumer, $"{ready.Kind} is ready");
                set.Remove(source);
            }
            Check.Fails(ErrorCode.WouldBlock, () => set.Wait(TimeSpan.Zero));
        }
    }

    [Test("A descriptor is ready with its events, until it is removed")]
    static void Descriptors()
    {
        using (var set = new WaitSet())
        using (var pipe = new AnonymousPipeServerStream(PipeDirection.Out))
        {
            var descriptor = (int)pipe.ClientSafePipeHandle.DangerousGetHandle();
            var source = set.AddDescriptor(descriptor, PollEvents.In, 5);
            Check.Fails(ErrorCode.WouldBlock, () => set.Wait(TimeSpan.Zero));
            pipe.WriteByte(1);
            var ready = set.Wait(Check.Hang);
            Check.Equal(SourceKind.Descriptor, ready.Kind);
            Check.Equal(PollEvents.In, ready.Events);
            Check.Equal<object>(5, ready.Token);
            set.Remove(source);
            Check.Fails(ErrorCode.WouldBlock, () => set.Wait(TimeSpan.Zero));
            Check.Fails(ErrorCode.NotFound, () => set.Remove(source));
            Check.Fails(ErrorCode.InvalidArgument, () => set.AddDescriptor(-1, PollEvents.In));
        }
    }

    [Test("A timer is ready once, or again and again, or never until it is set")]
    static void Timers()
    {
        using (var set = new WaitSet())
        using (var other = new WaitSet())
        {
            var timer = set.AddTimer(TimeSpan.FromMilliseconds(1), null, "timer");
            var ready = set.Wait(Check.Hang);
            Check.Equal(SourceKind.Timer, ready.Kind);
            Check.Equal<object>("timer", ready.Token);
            Check.Equal(1ul, ready.Expirations);
            Check.Fails(ErrorCode.TimedOut, () => set.Wait(TimeSpan.FromMilliseconds(20)));
            set.SetTimer(timer, TimeSpan.Zero, TimeSpan.FromMilliseconds(1));
            Thread.Sleep(20);
            Check.That(set.Wait(Check.Hang).Expirations > 1, "the period does not count");
            set.Wait(Check.Hang);
            set.SetTimer(timer, Timeout.InfiniteTimeSpan);
            Check.Fails(ErrorCode.WouldBlock, () => set.Wait(TimeSpan.Zero));
            Check.Throws<ArgumentException>(() => other.SetTimer(timer, TimeSpan.Zero));
            Check.Throws<ArgumentException>(() => other.Remove(timer));
            Check.Fails(ErrorCode.InvalidArgument, () => set.AddTimer(TimeSpan.Zero, TimeSpan.FromSeconds(-1)));
            set.Remove(timer);
            Check.Fails(ErrorCode.NotFound, () => set.SetTimer(timer, TimeSpan.Zero));
        }
    }

    /// <summary>Starts a wait, and returns once it has begun.</summary>
    static Task<Ready> Waiting(WaitSet set)
    {
        var waits = typeof(WaitSet).GetField("waits", BindingFlags.Instance | BindingFlags.NonPublic);
        var wait = set.WaitAsync();
        Ends(() => (int)waits.GetValue(set) == 1, "it does not begin");
        Thread.Sleep(20);
        return wait;
    }

    [Test("Interrupt ends the wait of a set, or else the next one, once; a cancellation ends its own wait")]
    static void Interrupts()
    {
        using (var set = new WaitSet(WaitStrategy.Park))
        {
            set.Interrupt();
            Check.Fails(ErrorCode.Interrupted, () => set.Wait());
            var wait = Waiting(set);
            set.Interrupt();
            Check.Fails(ErrorCode.Interrupted, () => wait.Wait());
            var source = new CancellationTokenSource(20);
            Check.Throws<OperationCanceledException>(() => set.WaitAsync(source.Token).Wait());
            Check.Fails(ErrorCode.TimedOut, () => set.Wait(TimeSpan.FromMilliseconds(20)));
            wait = Waiting(set);
            Check.Fails(ErrorCode.Misuse, () => set.AddTimer(TimeSpan.Zero));
            set.Dispose();
            Check.Fails(ErrorCode.Interrupted, () => wait.Wait());
            Check.Throws<ObjectDisposedException>(() => set.Wait());
        }
    }

    static void Ends(Func<bool> isSo, string what) => Check.That(SpinWait.SpinUntil(isSo, Check.Hang), what);

    [Test("A source that is disposed of leaves the set, and its bus")]
    static void Leaves() => WithTwoBuses((a, b, folder) =>
    {
        using (var set = new WaitSet())
        {
            var fromA = BusTests.CaughtUp(folder["a"]);
            var source = set.Add(fromA);
            BusTests.Publish(a, 1, 1);
            fromA.Dispose();
            fromA.Dispose();
            Check.Fails(ErrorCode.WouldBlock, () => set.Wait(TimeSpan.Zero));
            Check.Fails(ErrorCode.NotFound, () => set.Remove(source));
            Ends(() => a.Inspect().Subscribers == 0, "the subscriber is still there");
            Check.Throws<ObjectDisposedException>(() => set.Add(fromA));
        }
    });

    [Test("A source that another thread disposes of leaves during the wait, which goes on with the others")]
    static void LeavesInWait() => WithTwoBuses((a, b, folder) =>
    {
        using (var fromB = BusTests.CaughtUp(folder["b"], WaitStrategy.Park))
        using (var set = new WaitSet(WaitStrategy.Park))
        {
            set.Add(fromB);
            var fromA = BusTests.CaughtUp(folder["a"], WaitStrategy.Park);
            set.Add(fromA);
            var wait = Waiting(set);
            fromA.Dispose();
            Ends(() => a.Inspect().Subscribers == 0, "the subscriber is still there");
            Check.That(!wait.IsCompleted, "the wait has ended");
            BusTests.Publish(b, 1, 1);
            Check.That(wait.Wait(Check.Hang) && wait.Result.Token == fromB, "the other source is not ready");
        }
    });

    [Test("Sources come and go by disposal while a set waits, and no record of the others is missed")]
    static void ManyLeave() => WithTwoBuses((a, b, folder) =>
    {
        using (var fromB = BusTests.CaughtUp(folder["b"]))
        using (var set = new WaitSet())
        {
            set.Add(fromB);
            var disposed = 0;
            for (ulong n = 1; n <= Disposals; ++n)
            {
                var fromA = BusTests.CaughtUp(folder["a"]);
                set.Add(fromA);
                var number = n;
                var other = Task.Run(() =>
                {
                    BusTests.Publish(a, number, 1);
                    fromA.Dispose();
                    Interlocked.Increment(ref disposed);
                    BusTests.Publish(b, number, 1);
                });
                while (set.Wait(Check.Hang).Token != fromB) { } // fromA may be ready until it has left the set
                Check.Equal(n, Take(fromB));
                other.Wait();
            }
            Check.Equal(Disposals, disposed);
            Ends(() => a.Inspect().Subscribers == 0, "a subscriber is still there");
        }
    });

    [Test("A source is in one set at a time, and in another once it was removed, or the set disposed of")]
    static void OneSet() => WithTwoBuses((a, b, folder) =>
    {
        using (var fromA = BusTests.CaughtUp(folder["a"]))
        using (var first = new WaitSet())
        using (var second = new WaitSet())
        {
            var source = first.Add(fromA);
            Check.Fails(ErrorCode.Misuse, () => first.Add(fromA));
            Check.Fails(ErrorCode.Misuse, () => second.Add(fromA));
            Check.Throws<ArgumentException>(() => second.Remove(source));
            BusTests.Publish(a, 1, 1);
            Check.That(first.Wait(Check.Hang).Source == source, "it has left");
            first.Remove(source);
            second.Add(fromA);
            second.Dispose();
            first.Add(fromA);
            Check.That(first.Wait(Check.Hang).Token == fromA, "it is not ready");
        }
        Ends(() => a.Inspect().Subscribers == 0, "the subscriber is still there");
    });

    [Test("A set has room for 127 sources")]
    static void Limit()
    {
        using (var set = new WaitSet())
        {
            for (var i = 0; i < SourcesMax; ++i) set.AddTimer(Timeout.InfiniteTimeSpan);
            Check.Fails(ErrorCode.Limit, () => set.AddTimer(Timeout.InfiniteTimeSpan));
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Forget(string directory) => Task.Factory.StartNew(() =>
    {
        for (var i = 0; i < 20; ++i) new WaitSet().Add(BusTests.CaughtUp(directory));
    }, TaskCreationOptions.LongRunning).Wait();

    [Test("A set and its source that were forgotten together are both destroyed")]
    static void Forgotten() => WithTwoBuses((a, b, folder) =>
    {
        Forget(folder["a"]);
        Check.That(a.Inspect().Subscribers > 0, "there is no subscriber");
        Ends(() =>
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            return a.Inspect().Subscribers < 5; // the collector scans stacks conservatively
        }, "the subscribers are still there");
    });

    [Test("A program ends while a thread waits in a set")]
    static void EndsInWait()
    {
        using (var folder = new Folder())
        {
            var start = new ProcessStartInfo("mono", ExampleTests.PathOf("driver.exe"))
            {
                RedirectStandardInput = true, RedirectStandardOutput = true, UseShellExecute = false,
                WorkingDirectory = folder.Path,
            };
            using (var driver = Process.Start(start))
            {
                driver.StandardInput.WriteLine("set.open as=w");
                driver.StandardInput.WriteLine("begin v set.wait on=w timeout_ms=forever");
                driver.StandardInput.Flush();
                for (var answers = 0; answers < 2;) answers += driver.StandardOutput.ReadLine() == "." ? 1 : 0;
                Thread.Sleep(50);
                driver.StandardInput.Close();
                var hasEnded = driver.WaitForExit((int)Check.Hang.TotalMilliseconds);
                if (!hasEnded) driver.Kill();
                Check.That(hasEnded, "it did not end");
                Check.Equal(0, driver.ExitCode);
            }
        }
    }
}
