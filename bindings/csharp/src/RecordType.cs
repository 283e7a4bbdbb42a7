// Checks which structs can be records.
using System;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;

namespace Lapwing
{
    /// <summary>
    /// A struct that is copied as bytes. It may contain numbers, enumerations, fixed buffers and structs of these. A
    /// reference would be overwritten with bytes from a bus, and bool and char have different sizes outside the
    /// runtime.
    /// </summary>
    static class RecordType<T>
        where T : struct
    {
        static readonly bool isPlain = IsPlain(typeof(T));
        static readonly int bytes = isPlain ? Marshal.SizeOf(typeof(T)) : 0;

        /// <summary>Size of one struct.</summary>
        internal static int Bytes => isPlain ? bytes : throw new ArgumentException(
            $"{typeof(T).Name} has a field that is not a number: a record has numbers, enumerations and fixed buffers");

        /// <summary>Copies `count` rows to `to`, starting at index `begin`. First checks T with `types`.</summary>
        internal static unsafe void Copy(byte* from, int rowBytes, int count, RowTypes types, T[] to, int begin)
        {
            if (Bytes != rowBytes && count > 0)
            {
                throw new ArgumentException($"{typeof(T).Name} has {Bytes} bytes, and a row {rowBytes}");
            }
            if (count > 0) types?.Check<T>();
            if (begin < 0 || to.Length - begin < count) throw new ArgumentException($"{count} rows do not fit");
            var pin = GCHandle.Alloc(to, GCHandleType.Pinned);
            try
            {
                var bytesMax = (long)count * rowBytes;
                Buffer.MemoryCopy(from, (byte*)pin.AddrOfPinnedObject() + (long)begin * rowBytes, bytesMax, bytesMax);
            }
            finally
            {
                pin.Free();
            }
        }

        static bool IsPlain(Type type)
        {
            if (type.IsPrimitive) return type != typeof(bool) && type != typeof(char);
            if (type.IsEnum || type.IsPointer) return true;
            return type.IsValueType && !type.IsAutoLayout && type
                .GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic)
                .All(field => IsPlain(field.FieldType));
        }
    }
}
