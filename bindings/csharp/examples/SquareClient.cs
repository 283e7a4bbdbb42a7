// Calls a square server, which may be in any language. All calls are pending at the same time.
// A request has type 1 and a reply type 2. Each payload is an 8-byte little-endian integer.
//
//   mono SquareClient.exe ./square.sock 3 4 5
using System;
using System.Linq;
using Lapwing;

static class SquareClient
{
    const uint Request = 1;
    const uint Answer = 2;
    static readonly TimeSpan patience = TimeSpan.FromSeconds(10);

    static int Main(string[] words)
    {
        var options = new ChannelOptions { Retry = patience };
        using (var duplex = Duplex.Connect(words[0], options, patience))
        {
            var calls = words.Skip(1)
                .Select(word => duplex.StartCall(new Message(Request, BitConverter.GetBytes(long.Parse(word))), patience))
                .ToList();
            var squares = calls.Select(call =>
            {
                var reply = duplex.Finish(call);
                if (reply.IsError) throw new Exception(reply.Words);
                if (reply.Message.Type != Answer) throw new Exception($"a reply of type {reply.Message.Type}");
                return BitConverter.ToInt64(reply.Message.Payload, 0);
            });
            Console.WriteLine(string.Join(" ", squares));
        }
        return 0;
    }
}
