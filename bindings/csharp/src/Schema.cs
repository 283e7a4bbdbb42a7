// The schema of a record: its fields, checks of structs, and copies of columns.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.InteropServices;

namespace Lapwing
{
    /// <summary>A field of a record, little-endian.</summary>
    public sealed class Field
    {
        internal unsafe Field(lapwing_field* raw)
        {
            Name = Text.Of(raw->name, 64);
            Offset = (int)raw->offset;
            Bytes = (int)raw->bytes;
            Type = (FieldType)raw->type;
            Unit = (FieldUnit)raw->unit;
            Role = (FieldRole)raw->role;
        }

        public string Name { get; }

        /// <summary>Offset of its first byte in the record.</summary>
        public int Offset { get; }

        public int Bytes { get; }

        public FieldType Type { get; }

        /// <summary>Price: units of 1e-9. UtcNs: ns since 1970. For both, the largest value means absent.</summary>
        public FieldUnit Unit { get; }

        public FieldRole Role { get; }
    }

    public sealed unsafe class Schema
    {
        static readonly Dictionary<FieldType, Type> types = new Dictionary<FieldType, Type>
        {
            { FieldType.Int8, typeof(sbyte) }, { FieldType.Int16, typeof(short) },
            { FieldType.Int32, typeof(int) }, { FieldType.Int64, typeof(long) },
            { FieldType.UInt8, typeof(byte) }, { FieldType.UInt16, typeof(ushort) },
            { FieldType.UInt32, typeof(uint) }, { FieldType.UInt64, typeof(ulong) },
            { FieldType.Float32, typeof(float) }, { FieldType.Float64, typeof(double) },
            { FieldType.Char, typeof(byte) },
        };

        /// <summary>A C function that writes as much of a schema as fits into the buffer.</summary>
        delegate int Source(
            lapwing_schema* schema, lapwing_field* fields, UIntPtr fieldsMax, byte* text, UIntPtr textBytesMax,
            lapwing_error* error);

        Schema(Source fill)
        {
            var schema = new lapwing_schema { struct_size = (uint)sizeof(lapwing_schema) };
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var result = fill(&schema, null, UIntPtr.Zero, null, UIntPtr.Zero, &error);
            if (result != (int)ErrorCode.TooSmall) LapwingException.Check(result, &error);
            var fields = new lapwing_field[(int)schema.field_count];
            var text = new byte[(int)schema.text_bytes];
            fixed (lapwing_field* fieldsAt = fields)
            fixed (byte* textAt = text)
            {
                LapwingException.Check(
                    fill(&schema, fieldsAt, schema.field_count, textAt, schema.text_bytes, &error), &error);
                Json = Lapwing.Text.Of(textAt, text.Length);
                var all = new Field[fields.Length];
                for (var i = 0; i < all.Length; ++i) all[i] = new Field(fieldsAt + i);
                Fields = all;
            }
            Name = Lapwing.Text.Of(schema.name, 32);
            Version = (int)schema.version;
            RecordBytes = (int)schema.record_bytes;
            Hash = schema.hash;
        }

        /// <summary>
        /// Returns the current schema of a bus, from disk. Subscriber.Schema returns the schema of the records that a
        /// subscriber delivers.
        /// </summary>
        public static Schema OfBus(string directory) => Library.With(() => Loaded(directory, null));

        /// <summary>
        /// Returns a schema that Lapwing ships ("dbn.mbo", "kv16" …), or "orders" for the entries of that fold.
        /// </summary>
        public static Schema Named(string name) => Library.With(() => Loaded(null, name));

        static Schema Loaded(string directory, string name)
        {
            var bus = Lapwing.Text.Zero(directory);
            var own = Lapwing.Text.Zero(name);
            return new Schema((schema, fields, fieldsMax, text, textBytesMax, error) =>
                Native.lapwing_schema_fields(bus, own, schema, fields, fieldsMax, text, textBytesMax, error));
        }

        internal static Schema Delivered(SubscriberHandle subscriber) =>
            new Schema((schema, fields, fieldsMax, text, textBytesMax, error) =>
                Native.lapwing_subscriber_schema(subscriber, schema, fields, fieldsMax, text, textBytesMax, error));

        public string Name { get; }

        public int Version { get; }

        public int RecordBytes { get; }

        /// <summary>Equal for equal schemas, and never 0.</summary>
        public ulong Hash { get; }

        /// <summary>Ordered by offset.</summary>
        public IReadOnlyList<Field> Fields { get; }

        /// <summary>The schema as JSON text.</summary>
        public string Json { get; }

        /// <summary>
        /// Converts to Json, so that PublisherOptions.Schema and SubscriberOptions.Expect accept a schema or its text.
        /// </summary>
        public static implicit operator string(Schema schema) => schema?.Json;

        public Field Field(string name) =>
            Fields.FirstOrDefault(field => field.Name == name)
            ?? throw new ArgumentException($"{Name} has no field '{name}'", nameof(name));

        /// <summary>
        /// Throws if the struct T does not match these records. The name, offset, size and type of each field must
        /// match the schema. Case and underscores in names are ignored. Spare fields may be missing, and members whose
        /// names begin with "Spare" may replace them.
        /// </summary>
        public void Check<T>()
            where T : struct
        {
            var how = Difference<T>(true);
            if (how != null) throw new ArgumentException(how);
        }

        /// <summary>
        /// Describes how T differs, or returns null if it does not. A struct that is only read may have spare bytes at
        /// the offset of a field, because a later version of the record may use them.
        /// </summary>
        internal string Difference<T>(bool publishes)
            where T : struct
        {
            var how = FirstDifference(typeof(T), RecordType<T>.Bytes, publishes);
            return how == null ? null : $"{typeof(T).Name} is not a record of {Name}: {how}";
        }

        string FirstDifference(Type type, int bytes, bool publishes)
        {
            if (bytes != RecordBytes) return $"it has {bytes} bytes, and a record has {RecordBytes}";
            var members = type
                .GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic)
                .ToDictionary(member => Plain(member.Name));
            var named = members.Values.Where(member => !IsSpare(member)).ToArray();
            foreach (var field in Fields)
            {
                FieldInfo member;
                if (members.TryGetValue(Plain(field.Name), out member))
                {
                    members.Remove(Plain(field.Name));
                    var how = MemberDifference(type, member, field);
                    if (how != null) return how;
                }
                else if (field.Role != FieldRole.Spare && (publishes || named.Any(other => Overlap(type, other, field))))
                {
                    return $"it has no {field.Name}";
                }
            }
            var unknown = members.Values.FirstOrDefault(member => !IsSpare(member));
            return unknown == null ? null : $"a record has no {unknown.Name}";
        }

        static string MemberDifference(Type type, FieldInfo member, Field field)
        {
            var offset = OffsetOf(type, member);
            if (offset != field.Offset) return $"{member.Name} is at {offset}, and {field.Name} at {field.Offset}";
            var memberType = TypeOf(member);
            var bytes = Marshal.SizeOf(memberType);
            if (bytes != field.Bytes) return $"{member.Name} has {bytes} bytes, and {field.Name} {field.Bytes}";
            Type expected;
            return types.TryGetValue(field.Type, out expected) && memberType != expected
                ? $"{member.Name} is {memberType.Name}, and {field.Name} {field.Type}"
                : null;
        }

        static Type TypeOf(FieldInfo member) =>
            member.FieldType.IsEnum ? Enum.GetUnderlyingType(member.FieldType) : member.FieldType;

        static int OffsetOf(Type type, FieldInfo member) => (int)Marshal.OffsetOf(type, member.Name);

        static bool Overlap(Type type, FieldInfo member, Field field)
        {
            var begin = OffsetOf(type, member);
            return begin < field.Offset + field.Bytes && field.Offset < begin + Marshal.SizeOf(TypeOf(member));
        }

        static bool IsSpare(FieldInfo member) => Plain(member.Name).StartsWith("spare", StringComparison.Ordinal);

        static string Plain(string name) => name.Replace("_", "").ToLowerInvariant();

        /// <summary>
        /// Describes how a field of another schema differs from the field with that name, or returns null if it does
        /// not.
        /// </summary>
        internal string DifferenceOf(Field other)
        {
            var own = Fields.FirstOrDefault(field => field.Name == other.Name);
            if (own == null) return $"the records are {Name}, which has no {other.Name}";
            if (own.Offset != other.Offset) return $"{other.Name} is at {own.Offset}, and not at {other.Offset}";
            if (own.Type != other.Type) return $"{other.Name} is {own.Type}, and not {other.Type}";
            return own.Bytes == other.Bytes ? null : $"{other.Name} has {own.Bytes} bytes, and not {other.Bytes}";
        }

        /// <summary>
        /// Copies one field of all rows to `into`, and returns the number of rows. T is long for Int64, double for
        /// Float64 and so on, and byte for Char.
        /// </summary>
        public int Column<T>(Batch batch, string name, T[] into)
            where T : struct
        {
            var field = Field(name);
            Type expected;
            if (!types.TryGetValue(field.Type, out expected) || expected != typeof(T))
            {
                throw new ArgumentException($"'{name}' is {field.Type}, which cannot be a column of {typeof(T).Name}");
            }
            if (batch.RowBytes != RecordBytes && batch.Count > 0)
            {
                throw new ArgumentException($"the rows have {batch.RowBytes} bytes, and records of {Name} {RecordBytes}");
            }
            if (batch.Count > 0) batch.Types?.Check(field);
            if (into.Length < batch.Count) throw new ArgumentException($"{batch.Count} values do not fit into {into.Length}");
            if (batch.Count == 0) return 0;
            var pin = GCHandle.Alloc(into, GCHandleType.Pinned);
            try
            {
                CopyColumn(batch.Row(0) + field.Offset, (byte*)pin.AddrOfPinnedObject(), field.Bytes, batch.Count);
            }
            finally
            {
                pin.Free();
            }
            return batch.Count;
        }

        void CopyColumn(byte* source, byte* to, int bytes, int count)
        {
            for (var i = 0; i < count; ++i, source += RecordBytes, to += bytes)
            {
                switch (bytes)
                {
                    case 1: *to = *source; break;
                    case 2: *(ushort*)to = *(ushort*)source; break;
                    case 4: *(uint*)to = *(uint*)source; break;
                    default: *(ulong*)to = *(ulong*)source; break;
                }
            }
        }

        /// <summary>Returns one field of a record: a number, a char, a string for Text, or a byte[].</summary>
        public object Value(byte[] rows, int row, string name)
        {
            var field = Field(name);
            var at = row * RecordBytes + field.Offset;
            if (row < 0 || at + field.Bytes > rows.Length) throw new ArgumentOutOfRangeException(nameof(row));
            fixed (byte* source = &rows[at])
            {
                switch (field.Type)
                {
                    case FieldType.Int8: return *(sbyte*)source;
                    case FieldType.Int16: return *(short*)source;
                    case FieldType.Int32: return *(int*)source;
                    case FieldType.Int64: return *(long*)source;
                    case FieldType.UInt8: return *source;
                    case FieldType.UInt16: return *(ushort*)source;
                    case FieldType.UInt32: return *(uint*)source;
                    case FieldType.UInt64: return *(ulong*)source;
                    case FieldType.Float32: return *(float*)source;
                    case FieldType.Float64: return *(double*)source;
                    case FieldType.Char: return (char)*source;
                    case FieldType.Text: return Lapwing.Text.Of(source, field.Bytes);
                    default:
                        var bytes = new byte[field.Bytes];
                        Buffer.BlockCopy(rows, at, bytes, 0, bytes.Length);
                        return bytes;
                }
            }
        }
    }
}
