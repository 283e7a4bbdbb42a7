// Compares struct types with the schema of a bus's records, once for each type.
using System;
using System.Collections.Generic;

namespace Lapwing
{
    /// <summary>The checks for one session of a bus, one journal, or the entries of one fold. Thread-safe.</summary>
    sealed class RowTypes
    {
        readonly Func<Schema> load;
        readonly bool publishes;
        readonly HashSet<Type> fitting = new HashSet<Type>();
        bool isLoaded;
        Schema schema; // null if the records are not described

        RowTypes(Func<Schema> load, bool publishes)
        {
            this.load = load;
            this.publishes = publishes;
        }

        internal static RowTypes OfBus(string directory, bool publishes)
        {
            var absolute = System.IO.Path.GetFullPath(directory);
            return new RowTypes(() => SchemaOrNull(absolute), publishes);
        }

        internal static RowTypes Of(Schema schema) => new RowTypes(() => schema, false);

        internal static RowTypes OfFold(string fold) => new RowTypes(() => Schema.Named(fold), false);

        static Schema SchemaOrNull(string directory)
        {
            try
            {
                return Schema.OfBus(directory);
            }
            catch (LapwingException error) when (error.Code == ErrorCode.NotFound)
            {
                return null;
            }
        }

        Schema Loaded()
        {
            if (!isLoaded) schema = load();
            isLoaded = true;
            return schema;
        }

        /// <summary>Throws if the fields of T differ. The caller must refuse a struct of a different size.</summary>
        internal void Check<T>()
            where T : struct
        {
            lock (fitting)
            {
                if (fitting.Contains(typeof(T))) return;
                var known = Loaded();
                if (known != null && RecordType<T>.Bytes != known.RecordBytes) return;
                Refuse(known?.Difference<T>(publishes));
                fitting.Add(typeof(T));
            }
        }

        /// <summary>Throws if the rows do not have this field.</summary>
        internal void Check(Field field)
        {
            lock (fitting) Refuse(Loaded()?.DifferenceOf(field));
        }

        static void Refuse(string difference)
        {
            if (difference != null) throw new LapwingException(ErrorCode.RecordSize, difference);
        }
    }
}
