// Reads lists whose length is unknown before the call.
using System;
using System.Collections.Generic;

namespace Lapwing
{
    static unsafe class Listing
    {
        /// <summary>Initial number of rows. If they are too few, the call is repeated with more.</summary>
        internal const int Room = 64;

        internal delegate int Call<T>(T[] rows, UIntPtr* count, lapwing_error* error);

        internal static IReadOnlyList<T> All<TRaw, T>(Call<TRaw> read, Func<TRaw, T> made)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            for (var max = Room; ;)
            {
                var rows = new TRaw[max];
                UIntPtr count;
                var result = read(rows, &count, &error);
                if (result == (int)ErrorCode.TooSmall)
                {
                    max = (int)count;
                    continue;
                }
                LapwingException.Check(result, &error);
                return Made(rows, (int)count, made);
            }
        }

        internal static IReadOnlyList<T> Made<TRaw, T>(TRaw[] rows, int count, Func<TRaw, T> made)
        {
            var all = new T[count];
            for (var i = 0; i < count; ++i) all[i] = made(rows[i]);
            return all;
        }
    }
}
