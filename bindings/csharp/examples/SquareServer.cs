// Answers a client's calls with squares until the client closes. The client may be in any language.
// A request has type 1 and a reply type 2. Each payload is an 8-byte little-endian integer.
//
//   mono SquareServer.exe ./square.sock
using System;
using Lapwing;

static class SquareServer
{
    const uint Request = 1;
    const uint Answer = 2;
    const uint WrongRequest = 1; // each server defines its own error codes

    static int Main(string[] words)
    {
        using (var listener = Listener.Open(words[0]))
        {
            Console.WriteLine("listening");
            using (var duplex = listener.AcceptDuplex())
            {
                foreach (var incoming in duplex)
                {
                    if (!incoming.IsCall) continue; // a one-way message
                    var request = incoming.Message;
                    if (request.Type != Request || request.Payload.Length != 8)
                    {
                        duplex.ReplyError(incoming.Call, WrongRequest, "a request is of type 1 and 8 bytes long");
                        continue;
                    }
                    var n = BitConverter.ToInt64(request.Payload, 0);
                    duplex.Reply(incoming.Call, new Message(Answer, BitConverter.GetBytes(unchecked(n * n))));
                }
            }
        }
        return 0;
    }
}
