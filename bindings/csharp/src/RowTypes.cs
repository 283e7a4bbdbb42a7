// Compares structs with the description of a bus's records, each type once.
using System;
using System.Collections.Generic;

namespace Lapwing
{
    /// <summary>For one session of a bus, a journal, or the entries of a fold. Any thread.</summary>
    sealed class RowTypes
    {
        readonly Func<Schema> load;
        readonly bool publishes;
        readonly HashSet<Type> fitting = new HashSet<Type>();
        bool isLoaded;
        Schema schema; // null: the records are not described

        RowTypes(Func<Schema> load, bool publishes)
        {
            this.load = load;
            this.publishes = publishes;
        }

        /// <param name="session">The schema of the session; null: that of the bus as it is.</param>
        internal static RowTypes OfBus(string directory, string session, bool publishes)
        {
            var absolute = System.IO.Path.GetFullPath(directory);
            return new RowTypes(() => Described(absolute, session), publishes);
        }

        internal static RowTypes OfFold(string fold) => new RowTypes(() => Schema.Named(fold), false);

        /// <summary>null also if the bus now has another schema than the session.</summary>
        static Schema Described(string directory, string session)
        {
            try
            {
                var found = Schema.OfBus(directory);
                return session == null || found.Name == session ? found : null;
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

        /// <summary>Throws if the fields of T differ. The caller refuses a struct of another size.</summary>
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

        /// <summary>Throws if that field of a schema is not a field of the rows.</summary>
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
