using System;
using System.Collections.Generic;

namespace Lapwing
{
    public enum Side
    {
        Bid = 'B',
        Ask = 'A',
    }

    /// <summary>Which book: of a publisher (a venue) and an instrument.</summary>
    public struct BookKey
    {
        public BookKey(ushort publisherId, uint instrumentId)
        {
            PublisherId = publisherId;
            InstrumentId = instrumentId;
        }

        public ushort PublisherId { get; }

        public uint InstrumentId { get; }

        internal lapwing_book_key Raw => new lapwing_book_key { instrument_id = InstrumentId, publisher_id = PublisherId };
    }

    /// <summary>All orders of a price.</summary>
    public struct Level
    {
        /// <summary>The price of a side on which there is none.</summary>
        public const long NoPrice = long.MaxValue;

        internal Level(lapwing_level raw)
        {
            Price = raw.price;
            Size = raw.size;
            Orders = raw.orders;
        }

        /// <summary>1e-9; NoPrice: none.</summary>
        public long Price { get; }

        /// <summary>Size of all its orders.</summary>
        public ulong Size { get; }

        /// <summary>0: a top, of which the number of orders is not known.</summary>
        public uint Orders { get; }
    }

    public struct Order
    {
        internal Order(lapwing_order raw)
        {
            OrderId = raw.order_id;
            Price = raw.price;
            Place = raw.place;
            ReceivedNs = raw.ts_recv;
            Size = raw.size;
            Flags = raw.flags;
        }

        public ulong OrderId { get; }

        /// <summary>1e-9.</summary>
        public long Price { get; }

        /// <summary>Among equal prices the lower one is first.</summary>
        public ulong Place { get; }

        /// <summary>UTC ns.</summary>
        public ulong ReceivedNs { get; }

        /// <summary>Remaining size.</summary>
        public uint Size { get; }

        public uint Flags { get; }
    }

    public sealed unsafe class Book
    {
        internal Book(lapwing_book* raw)
        {
            IsSettled = raw->is_settled != 0;
            IsStale = raw->is_stale != 0;
            HasTops = raw->has_tops != 0;
            Bid = new Level(raw->bid);
            Ask = new Level(raw->ask);
            BidLevels = (long)raw->bid_levels;
            AskLevels = (long)raw->ask_levels;
            Orders = (long)raw->orders;
            Sequence = raw->sequence;
            EventNs = raw->ts_event;
            ReceivedNs = raw->ts_recv;
            LostThrough = raw->lost_through;
        }

        /// <summary>False: within an event of the venue.</summary>
        public bool IsSettled { get; }

        /// <summary>Its orders may differ from the venue's.</summary>
        public bool IsStale { get; }

        /// <summary>The feed gives the best price of each side, and no orders.</summary>
        public bool HasTops { get; }

        /// <summary>The best.</summary>
        public Level Bid { get; }

        public Level Ask { get; }

        public long BidLevels { get; }

        public long AskLevels { get; }

        public long Orders { get; }

        /// <summary>Sequence of its last record; 0: none since a state was loaded.</summary>
        public ulong Sequence { get; }

        /// <summary>UTC ns; ulong.MaxValue: none.</summary>
        public ulong EventNs { get; }

        public ulong ReceivedNs { get; }

        /// <summary>The last sequence of the bus that was lost; 0: none.</summary>
        public ulong LostThrough { get; }
    }

    public sealed unsafe class BooksInfo
    {
        internal BooksInfo(lapwing_books_info* raw)
        {
            IsSettled = raw->is_settled != 0;
            IsLoading = raw->is_loading != 0;
            Sequence = raw->sequence;
            Books = (long)raw->books;
            Orders = (long)raw->orders;
            Digest = raw->digest;
        }

        /// <summary>No book is within an event of the venue, and no state is being loaded.</summary>
        public bool IsSettled { get; }

        public bool IsLoading { get; }

        /// <summary>Sequence of the last record that is in them.</summary>
        public ulong Sequence { get; }

        public long Books { get; }

        public long Orders { get; }

        /// <summary>Equal for equal books. Costs a sort of all orders.</summary>
        public ulong Digest { get; }
    }

    /// <summary>Order books of a bus of dbn.mbo: give it all that one subscriber delivers, in order.</summary>
    public sealed unsafe class Books : LapwingObject
    {
        readonly BooksHandle handle;

        public Books()
            : this(Library.With(Create)) { }

        Books(BooksHandle handle)
            : base(handle)
        {
            this.handle = handle;
        }

        static BooksHandle Create()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var pointer = IntPtr.Zero;
            LapwingException.Check(Native.lapwing_books_create(ref pointer, &error), &error);
            return new BooksHandle(pointer);
        }

        /// <summary>Takes in rows and events. Where it fails nothing is changed.</summary>
        public void Take(Batch batch)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var raw = batch.BeginUse();
            try
            {
                LapwingException.Check(Native.lapwing_books_take(handle, raw, &error), &error);
            }
            finally
            {
                batch.EndUse();
            }
        }

        /// <summary>The same of an iteration's item.</summary>
        public void Take(Item item)
        {
            using (var batch = Batch.Of(item)) Take(batch);
        }

        public BooksInfo Inspect()
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var info = new lapwing_books_info { struct_size = (uint)sizeof(lapwing_books_info) };
            LapwingException.Check(Native.lapwing_books_inspect(handle, &info, &error), &error);
            return new BooksInfo(&info);
        }

        /// <summary>The keys of all books, by publisher, then by instrument.</summary>
        public IReadOnlyList<BookKey> List() =>
            Listing.All<lapwing_book_key, BookKey>(
                (rows, count, error) =>
                {
                    fixed (lapwing_book_key* at = rows)
                    {
                        return Native.lapwing_books_list(handle, at, (UIntPtr)rows.Length, count, error);
                    }
                },
                raw => new BookKey(raw.publisher_id, raw.instrument_id));

        /// <summary>null: the instrument was not seen.</summary>
        public Book Find(BookKey key)
        {
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var book = new lapwing_book { struct_size = (uint)sizeof(lapwing_book) };
            var result = Native.lapwing_books_find(handle, key.Raw, &book, &error);
            if (result == (int)ErrorCode.NotFound) return null;
            LapwingException.Check(result, &error);
            return new Book(&book);
        }

        /// <summary>Levels of a side from the index `begin` on, 0 is the best: at most `max`.</summary>
        public IReadOnlyList<Level> Levels(BookKey key, Side side, int begin = 0, int max = Listing.Room)
        {
            Option.Choice<Side>(nameof(side), side);
            Option.Size(nameof(begin), begin);
            Option.Size(nameof(max), max);
            lapwing_error error;
            error.struct_size = (uint)sizeof(lapwing_error);
            var rows = new lapwing_level[max];
            UIntPtr count;
            fixed (lapwing_level* at = rows)
            {
                LapwingException.Check(
                    Native.lapwing_books_levels(handle, key.Raw, (byte)side, (UIntPtr)begin, at, (UIntPtr)max, &count, &error),
                    &error);
            }
            return Listing.Made(rows, (int)count, raw => new Level(raw));
        }

        /// <summary>The orders of a level, the first in the queue first. not-found: no such level.</summary>
        public IReadOnlyList<Order> Orders(BookKey key, Side side, int level)
        {
            Option.Choice<Side>(nameof(side), side);
            Option.Size(nameof(level), level);
            return Listing.All<lapwing_order, Order>(
                (rows, count, error) =>
                {
                    fixed (lapwing_order* at = rows)
                    {
                        return Native.lapwing_books_orders(handle, key.Raw, (byte)side, (UIntPtr)level, at,
                            (UIntPtr)rows.Length, count, error);
                    }
                },
                raw => new Order(raw));
        }
    }
}
