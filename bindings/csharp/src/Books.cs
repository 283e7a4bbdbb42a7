using System;
using System.Collections.Generic;

namespace Lapwing
{
    public enum Side
    {
        Bid = 'B',
        Ask = 'A',
    }

    /// <summary>Identifies a book by its publisher (a venue) and its instrument.</summary>
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

    /// <summary>All orders at one price.</summary>
    public struct Level
    {
        /// <summary>The price of an empty side.</summary>
        public const long NoPrice = long.MaxValue;

        internal Level(lapwing_level raw)
        {
            Price = raw.price;
            Size = raw.size;
            Orders = raw.orders;
        }

        /// <summary>Units of 1e-9, or NoPrice.</summary>
        public long Price { get; }

        /// <summary>Total size of the orders.</summary>
        public ulong Size { get; }

        /// <summary>Number of orders. 0 for a top, whose number of orders is unknown.</summary>
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

        /// <summary>Units of 1e-9.</summary>
        public long Price { get; }

        /// <summary>Queue rank: at equal prices, the order with the lower value is first.</summary>
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

        /// <summary>False within a venue event.</summary>
        public bool IsSettled { get; }

        /// <summary>Its orders may differ from the venue's.</summary>
        public bool IsStale { get; }

        /// <summary>The feed contains only the best price of each side, without orders.</summary>
        public bool HasTops { get; }

        /// <summary>The best level.</summary>
        public Level Bid { get; }

        public Level Ask { get; }

        public long BidLevels { get; }

        public long AskLevels { get; }

        public long Orders { get; }

        /// <summary>Sequence of its last record, or 0 if no record has followed a loaded state.</summary>
        public ulong Sequence { get; }

        /// <summary>UTC ns, or ulong.MaxValue if absent.</summary>
        public ulong EventNs { get; }

        public ulong ReceivedNs { get; }

        /// <summary>The last lost sequence of the bus, or 0 if none was lost.</summary>
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

        /// <summary>No book is within a venue event, and no state is being loaded.</summary>
        public bool IsSettled { get; }

        public bool IsLoading { get; }

        /// <summary>Sequence of the last record that was applied.</summary>
        public ulong Sequence { get; }

        public long Books { get; }

        public long Orders { get; }

        /// <summary>Equal for equal books. Computing it sorts all orders.</summary>
        public ulong Digest { get; }
    }

    /// <summary>Order books of a dbn.mbo bus. Pass it every item or batch of one subscriber, in order.</summary>
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

        /// <summary>Applies rows or an event. If it fails, the books are unchanged.</summary>
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

        /// <summary>The same for an item of an iteration.</summary>
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

        /// <summary>Returns the keys of all books, sorted by publisher, then by instrument.</summary>
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

        /// <summary>Returns a book, or null if the instrument has no record yet.</summary>
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

        /// <summary>Returns at most `max` levels of a side, starting at index `begin`. Index 0 is the best.</summary>
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

        /// <summary>
        /// Returns the orders of a level in queue order. Fails with not-found if the level does not exist.
        /// </summary>
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
