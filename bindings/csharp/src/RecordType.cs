// Structs as records: what they may be made of.
using System;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;

namespace Lapwing
{
    /// <summary>
    /// A struct that is copied as bytes. Numbers, enumerations, fixed buffers and structs of them are; a reference
    /// would be overwritten with bytes of a bus, and bool and char have another size outside the runtime.
    /// </summary>
    static class RecordType<T>
        where T : struct
    {
        static readonly bool isPlain = IsPlain(typeof(T));
        static readonly int bytes = isPlain ? Marshal.SizeOf(typeof(T)) : 0;

        /// <summary>Of one struct.</summary>
        internal static int Bytes => isPlain ? bytes : throw new ArgumentException(
            $"{typeof(T).Name} has a field that is no number: a record has numbers, enumerations and fixed buffers");

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
