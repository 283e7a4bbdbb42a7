// Written by generate.py from lapwing.h. Do not edit.
using System;
using System.Runtime.InteropServices;

namespace Lapwing
{
    /// <summary>Why a call failed.</summary>
    public enum ErrorCode
    {
        Ok = 0,
        InvalidArgument = 1,
        NoBus = 2,
        InUse = 3,
        NotPermitted = 4,
        NoSpace = 5,
        System = 6,
        Damaged = 7,
        AbiMismatch = 8,
        NotALapwingFile = 9,
        JournalFailed = 10,
        NoJournal = 11,
        Pruned = 12,
        TimedOut = 13,
        PublisherGone = 14,
        Refused = 15,
        Protocol = 16,
        BadInput = 17,
        RecordSize = 18,
        PathTooLong = 19,
        Closed = 20,
        Reset = 21,
        Unsupported = 22,
        Limit = 23,
        NotFound = 24,
        StoppedAtGap = 25,
        PeerGone = 26,
        Corrupt = 27,
        WouldBlock = 28,
        Misuse = 29,
        Interrupted = 30,
        TooSmall = 31,
        NoMemory = 32,
        Forked = 33,
        EventDue = 34,
        NoAnswer = 35,
    }

    /// <summary>Types of fields: docs/records.md.</summary>
    public enum FieldType
    {
        Int8 = 1,
        Int16 = 2,
        Int32 = 3,
        Int64 = 4,
        UInt8 = 5,
        UInt16 = 6,
        UInt32 = 7,
        UInt64 = 8,
        Float32 = 9,
        Float64 = 10,
        Char = 11,
        Text = 12,
        Bytes = 13,
    }

    /// <summary>What the number in a field counts.</summary>
    public enum FieldUnit
    {
        Plain = 0,
        Price = 1,
        UtcNs = 2,
        Flags = 3,
    }

    /// <summary>What a field is for.</summary>
    public enum FieldRole
    {
        Data = 0,
        Time = 1,
        Key = 2,
        PublishTime = 3,
        Spare = 4,
    }

    /// <summary>What publish does where the journal is a whole ring behind.</summary>
    public enum OnJournalLag
    {
        Wait = 1,
        Shed = 2,
    }

    /// <summary>What publish does once the journal has failed.</summary>
    public enum OnJournalFailure
    {
        Continue = 1,
        Stop = 2,
    }

    /// <summary>How a start settled the session before it.</summary>
    public enum Settled
    {
        Fresh = 1,
        Continued = 2,
        Recovered = 3,
        Cut = 4,
        Reset = 5,
    }

    /// <summary>Of a publisher.</summary>
    public enum JournalState
    {
        None = 0,
        Good = 1,
        Failed = 2,
        Shed = 3,
    }

    /// <summary>What a read has found.</summary>
    public enum BatchKind
    {
        Nothing = 0,
        Records = 1,
        State = 2,
        Event = 3,
    }

    /// <summary>Kinds of events: docs/events.md.</summary>
    public enum EventKind
    {
        Gap = 1,
        Lost = 2,
        Session = 3,
        Reset = 4,
        CaughtUp = 5,
        Stale = 6,
        PublisherGone = 7,
        Closed = 8,
        SnapshotComplete = 9,
        NoSnapshot = 10,
        Behind = 11,
        Live = 12,
    }

    /// <summary>Why records are missing.</summary>
    public enum GapCause
    {
        Lapped = 1,
        Session = 2,
        Void = 3,
        Pruned = 4,
        Damaged = 5,
        NotRelayed = 6,
        Upstream = 7,
    }

    /// <summary>Where a subscriber begins.</summary>
    public enum StartKind
    {
        Live = 0,
        Oldest = 1,
        Sequence = 2,
        Time = 3,
        Snapshot = 4,
        After = 5,
    }

    /// <summary>What a subscriber does at a gap.</summary>
    public enum OnGap
    {
        Fill = 1,
        Skip = 2,
        Stop = 3,
        Snapshot = 4,
    }

    /// <summary>How a call waits.</summary>
    public enum WaitStrategy
    {
        Busy = 1,
        Backoff = 2,
        Park = 3,
    }

    /// <summary>What an end of a channel does.</summary>
    public enum ChannelRole
    {
        Producer = 1,
        Consumer = 2,
        Duplex = 3,
    }

    /// <summary>What a wait set waits for.</summary>
    public enum SourceKind
    {
        Subscriber = 1,
        Conflated = 2,
        Consumer = 4,
        Producer = 5,
        Duplex = 6,
        Listener = 7,
        Descriptor = 8,
        Timer = 9,
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_id
    {
        public fixed byte bytes[16];
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_error
    {
        public uint struct_size;
        public int code;
        public int sys_errno;
        public uint reserved;
        public fixed byte message[496];
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_position
    {
        public lapwing_id journal_id;
        public lapwing_id session_id;
        public ulong sequence;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_field
    {
        public fixed byte name[64];
        public uint offset;
        public uint bytes;
        public uint type;
        public uint unit;
        public uint role;
        public uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_schema
    {
        public uint struct_size;
        public uint record_bytes;
        public fixed byte name[32];
        public uint version;
        public uint reserved;
        public ulong hash;
        public UIntPtr field_count;
        public UIntPtr text_bytes;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_publisher_options
    {
        public uint struct_size;
        public uint flags;
        public IntPtr directory;
        public IntPtr name;
        public IntPtr schema_name;
        public IntPtr schema;
        public uint record_bytes;
        public uint group;
        public ulong capacity;
        public IntPtr ring_directory;
        public IntPtr journal_directory;
        public ulong segment_bytes;
        public long sync_interval_ns;
        public ulong retain_bytes;
        public long retain_age_ns;
        public uint on_journal_lag;
        public uint on_journal_failure;
        public IntPtr metadata;
        public UIntPtr metadata_bytes;
        public ulong source_id;
        public ulong source_offset;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_publisher_info
    {
        public uint struct_size;
        public uint record_bytes;
        public lapwing_id journal_id;
        public lapwing_id session_id;
        public ulong first;
        public ulong head;
        public ulong durable;
        public ulong source_offset;
        public ulong subscribers;
        public uint settled;
        public uint journal_state;
        public int journal_errno;
        public uint reserved;
        public ulong void_first;
        public ulong void_last;
        public ulong journal_stalls;
        public ulong journal_stall_ns_max;
        public ulong journal_stall_ns_total;
        public ulong idle_wakes;
        public ulong doorbells;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_event
    {
        public uint kind;
        public uint cause;
        public ulong sequence;
        public ulong first;
        public ulong last;
        public ulong resume;
        public uint fillable;
        public uint record_bytes;
        public lapwing_id journal_id;
        public lapwing_id session_id;
        public ulong state_entries;
        public uint is_first_session;
        public uint is_described;
        public uint is_filtered;
        public uint is_skipped;
        public fixed byte schema_name[32];
        public fixed byte fold[32];
        public fixed byte text[512];
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_batch
    {
        public uint struct_size;
        public uint kind;
        public IntPtr rows;
        public UIntPtr rows_bytes;
        public IntPtr sequences;
        public IntPtr conflated;
        public UIntPtr rows_max;
        public UIntPtr count;
        public ulong first;
        public uint row_bytes;
        public uint flags;
        public lapwing_event @event;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_subscriber_options
    {
        public uint struct_size;
        public uint flags;
        public IntPtr directory;
        public IntPtr name;
        public uint start;
        public uint on_gap;
        public uint wait;
        public uint behind_records;
        public ulong start_value;
        public lapwing_position start_position;
        public IntPtr fold;
        public IntPtr expect;
        public IntPtr instruments;
        public UIntPtr instrument_count;
        public long reattach_ns;
        public long flush_timeout_ns;
        public long stale_after_ns;
        public long behind_time_ns;
        public long conflate_interval_ns;
        public uint conflate_keys_max;
        public uint measure_every;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_ages
    {
        public uint struct_size;
        public uint reserved;
        public ulong count;
        public ulong negative;
        public ulong unstamped;
        public ulong p50_ns;
        public ulong p90_ns;
        public ulong p99_ns;
        public ulong p999_ns;
        public ulong max_ns;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_subscriber_info
    {
        public uint struct_size;
        public uint record_bytes;
        public fixed byte schema_name[32];
        public fixed byte fold[32];
        public lapwing_id journal_id;
        public lapwing_id session_id;
        public ulong head;
        public ulong lag;
        public ulong durable;
        public uint is_live;
        public uint is_described;
        public ulong records;
        public ulong first;
        public ulong last;
        public ulong gaps;
        public ulong lost;
        public ulong in_state;
        public ulong filled;
        public ulong duplicates;
        public ulong out_of_order;
        public ulong sessions;
        public ulong reattached;
        public ulong state_entries;
        public ulong filtered;
        public ulong conflated;
        public ulong waiting;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_history_info
    {
        public uint struct_size;
        public uint record_bytes;
        public fixed byte schema_name[32];
        public lapwing_id journal_id;
        public ulong oldest;
        public ulong archived;
        public ulong durable;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_view
    {
        public uint struct_size;
        public uint row_bytes;
        public IntPtr rows;
        public UIntPtr stride_bytes;
        public ulong first;
        public ulong count;
        public IntPtr token;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_books_info
    {
        public uint struct_size;
        public uint is_settled;
        public uint is_loading;
        public uint reserved;
        public ulong sequence;
        public ulong books;
        public ulong orders;
        public ulong digest;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_book_key
    {
        public uint instrument_id;
        public ushort publisher_id;
        public ushort reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_level
    {
        public long price;
        public ulong size;
        public uint orders;
        public uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_book
    {
        public uint struct_size;
        public uint is_settled;
        public uint is_stale;
        public uint has_tops;
        public lapwing_level bid;
        public lapwing_level ask;
        public ulong bid_levels;
        public ulong ask_levels;
        public ulong orders;
        public ulong sequence;
        public ulong ts_event;
        public ulong ts_recv;
        public ulong lost_through;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_order
    {
        public ulong order_id;
        public long price;
        public ulong place;
        public ulong ts_recv;
        public uint size;
        public uint flags;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_channel_options
    {
        public uint struct_size;
        public uint flags;
        public IntPtr name;
        public ulong capacity;
        public uint message_bytes_max;
        public uint call_window;
        public uint wait;
        public uint numa_node;
        public uint peer_uid;
        public uint reserved;
        public long retry_ns;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_message
    {
        public IntPtr payload;
        public UIntPtr bytes;
        public uint type;
        public uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_reply
    {
        public uint struct_size;
        public uint is_error;
        public uint is_late;
        public uint code;
        public ulong call;
        public lapwing_message message;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_request
    {
        public uint struct_size;
        public uint reserved;
        public ulong call;
        public lapwing_message message;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_channel_info
    {
        public uint struct_size;
        public uint role;
        public lapwing_id connection_id;
        public ulong message_bytes_max;
        public ulong sent;
        public ulong received;
        public ulong released;
        public ulong full_waits;
        public ulong empty_waits;
        public ulong sleeps;
        public ulong wakes;
        public ulong late_replies;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_symbol_mapping
    {
        public fixed byte symbol[80];
        public uint instrument_id;
        public uint start_date;
        public uint end_date;
        public uint reserved;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal unsafe struct lapwing_ready
    {
        public uint struct_size;
        public uint kind;
        public ulong token;
        public ulong source;
        public ulong expirations;
        public uint events;
        public uint reserved;
    }

    internal static unsafe class Native
    {
        internal const string Library = "liblapwing.so.1";

        internal const uint AbiMajor = 1;
        internal const uint AbiMinor = 0;
        internal const uint PublisherNoJournal = 1;
        internal const uint PublisherHugePages = 2;
        internal const uint PublisherResume = 4;
        internal const uint PublisherGroup = 8;
        internal const uint PublisherRestamped = 16;
        internal const uint BatchSparse = 1;
        internal const uint SubscriberEndAtClose = 1;
        internal const uint SubscriberConflate = 2;
        internal const uint SubscriberObserves = 4;
        internal const uint CursorDurable = 1;
        internal const uint ChannelAligned = 1;
        internal const uint ChannelHugePages = 2;
        internal const uint ChannelNuma = 4;
        internal const uint ChannelPeerUid = 8;
        internal const uint ChannelNoMembarrier = 16;
        internal const uint ChannelLateReplies = 32;

        [DllImport(Library)]
        internal static extern IntPtr lapwing_version(uint* abi);

        [DllImport(Library)]
        internal static extern IntPtr lapwing_error_name(int code);

        [DllImport(Library)]
        internal static extern int lapwing_schema_fields(byte[] directory, byte[] name, lapwing_schema* schema, lapwing_field* fields, UIntPtr fields_max, byte* text, UIntPtr text_bytes_max, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_log_set(IntPtr log, void* user);

        [DllImport(Library)]
        internal static extern void lapwing_log_queue();

        [DllImport(Library)]
        internal static extern int lapwing_log_read(byte* line, UIntPtr bytes, ulong* dropped);

        [DllImport(Library)]
        internal static extern void lapwing_publisher_options_init(lapwing_publisher_options* options, uint struct_size);

        [DllImport(Library)]
        internal static extern int lapwing_publisher_open(lapwing_publisher_options* options, long timeout_ns, ref IntPtr publisher, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_publisher_publish(PublisherHandle publisher, void* records, UIntPtr count, UIntPtr record_bytes, long timeout_ns, ulong* last, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_publisher_flush(PublisherHandle publisher, long timeout_ns, ulong* durable, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_publisher_inspect(PublisherHandle publisher, lapwing_publisher_info* info, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_publisher_close(PublisherHandle publisher, long timeout_ns, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_publisher_interrupt(PublisherHandle publisher);

        [DllImport(Library)]
        internal static extern void lapwing_publisher_destroy(ref IntPtr publisher);

        [DllImport(Library)]
        internal static extern void lapwing_subscriber_options_init(lapwing_subscriber_options* options, uint struct_size);

        [DllImport(Library)]
        internal static extern int lapwing_subscriber_open(lapwing_subscriber_options* options, ref IntPtr subscriber, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_subscriber_read(SubscriberHandle subscriber, lapwing_batch* batch, long timeout_ns, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_subscriber_read_one(SubscriberHandle subscriber, void* record, UIntPtr record_bytes, long timeout_ns, ulong* sequence, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_subscriber_schema(SubscriberHandle subscriber, lapwing_schema* schema, lapwing_field* fields, UIntPtr fields_max, byte* text, UIntPtr text_bytes_max, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_subscriber_ages(SubscriberHandle subscriber, lapwing_ages* ages, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_subscriber_inspect(SubscriberHandle subscriber, lapwing_subscriber_info* info, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_subscriber_position(SubscriberHandle subscriber, ulong sequence, lapwing_position* position, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_subscriber_fd(SubscriberHandle subscriber, int* fd, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_subscriber_interrupt(SubscriberHandle subscriber);

        [DllImport(Library)]
        internal static extern void lapwing_subscriber_destroy(ref IntPtr subscriber);

        [DllImport(Library)]
        internal static extern int lapwing_cursor_open(byte[] path, uint flags, long timeout_ns, ref IntPtr cursor, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_cursor_position(CursorHandle cursor, lapwing_position* position, ulong* output_bytes, ulong* output_file, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_cursor_commit(CursorHandle cursor, lapwing_position* position, ulong output_bytes, ulong output_file, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_cursor_destroy(ref IntPtr cursor);

        [DllImport(Library)]
        internal static extern int lapwing_history_open(byte[] directory, ref IntPtr history, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_history_inspect(HistoryHandle history, lapwing_history_info* info, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_history_read(HistoryHandle history, ulong first, lapwing_batch* batch, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_history_find_time(HistoryHandle history, ulong utc_ns, ulong* sequence, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_history_map(HistoryHandle history, ulong first, ulong last, lapwing_view* view, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_history_unmap(lapwing_view* view);

        [DllImport(Library)]
        internal static extern void lapwing_history_destroy(ref IntPtr history);

        [DllImport(Library)]
        internal static extern int lapwing_books_create(ref IntPtr books, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_books_take(BooksHandle books, lapwing_batch* batch, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_books_inspect(BooksHandle books, lapwing_books_info* info, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_books_list(BooksHandle books, lapwing_book_key* keys, UIntPtr max, UIntPtr* count, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_books_find(BooksHandle books, lapwing_book_key key, lapwing_book* book, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_books_levels(BooksHandle books, lapwing_book_key key, byte side, UIntPtr from, lapwing_level* levels, UIntPtr max, UIntPtr* count, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_books_orders(BooksHandle books, lapwing_book_key key, byte side, UIntPtr level, lapwing_order* orders, UIntPtr max, UIntPtr* count, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_books_destroy(ref IntPtr books);

        [DllImport(Library)]
        internal static extern void lapwing_channel_options_init(lapwing_channel_options* options, uint struct_size);

        [DllImport(Library)]
        internal static extern int lapwing_listener_open(byte[] path, lapwing_channel_options* options, ref IntPtr listener, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_listener_take_over(byte[] path, lapwing_channel_options* options, long timeout_ns, ref IntPtr listener, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_listener_accept(ListenerHandle listener, uint role, lapwing_channel_options* options, long timeout_ns, ref IntPtr channel, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_listener_tend(ListenerHandle listener, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_listener_fd(ListenerHandle listener, int* fd, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_listener_interrupt(ListenerHandle listener);

        [DllImport(Library)]
        internal static extern void lapwing_listener_destroy(ref IntPtr listener);

        [DllImport(Library)]
        internal static extern int lapwing_channel_connect(byte[] path, uint role, lapwing_channel_options* options, long timeout_ns, ref IntPtr channel, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_claim(ChannelHandle channel, UIntPtr bytes, long timeout_ns, void** payload, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_commit(ChannelHandle channel, UIntPtr bytes, uint type, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_abort(ChannelHandle channel, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_send(ChannelHandle channel, lapwing_message* messages, UIntPtr count, long timeout_ns, UIntPtr* sent, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_drain(ChannelHandle channel, long timeout_ns, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_peek(ChannelHandle channel, lapwing_message* messages, UIntPtr max, long timeout_ns, UIntPtr* count, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_release(ChannelHandle channel, UIntPtr count, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_start(ChannelHandle channel, lapwing_message* request, long timeout_ns, ulong* call, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_finish(ChannelHandle channel, ulong call, lapwing_reply* reply, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_finish_any(ChannelHandle channel, long timeout_ns, lapwing_reply* reply, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_cancel(ChannelHandle channel, ulong call, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_next(ChannelHandle channel, long timeout_ns, lapwing_request* request, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_reply(ChannelHandle channel, lapwing_reply* reply, long timeout_ns, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_arm(ChannelHandle channel, UIntPtr bytes, int* armed, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_fd(ChannelHandle channel, int* fd, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_channel_inspect(ChannelHandle channel, lapwing_channel_info* info, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_channel_interrupt(ChannelHandle channel);

        [DllImport(Library)]
        internal static extern int lapwing_channel_close(ChannelHandle channel, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_channel_destroy(ref IntPtr channel);

        [DllImport(Library)]
        internal static extern int lapwing_symbols_open(byte[] directory, ref IntPtr symbols, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_symbols_find(SymbolsHandle symbols, byte[] symbol, ulong utc_ns, uint* instrument_id, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_symbols_name(SymbolsHandle symbols, uint instrument_id, ulong utc_ns, lapwing_symbol_mapping* mapping, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_symbols_list(SymbolsHandle symbols, lapwing_symbol_mapping* mappings, UIntPtr max, UIntPtr* count, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_symbols_destroy(ref IntPtr symbols);

        [DllImport(Library)]
        internal static extern int lapwing_wait_set_open(uint wait, ref IntPtr set, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_wait_set_add_subscriber(WaitSetHandle set, SubscriberHandle subscriber, ulong token, ulong* source, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_wait_set_add_channel(WaitSetHandle set, ChannelHandle channel, UIntPtr bytes, ulong token, ulong* source, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_wait_set_add_listener(WaitSetHandle set, ListenerHandle listener, ulong token, ulong* source, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_wait_set_add_fd(WaitSetHandle set, int fd, uint events, ulong token, ulong* source, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_wait_set_add_timer(WaitSetHandle set, long in_ns, long every_ns, ulong token, ulong* source, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_wait_set_set_timer(WaitSetHandle set, ulong source, long in_ns, long every_ns, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_wait_set_remove(WaitSetHandle set, ulong source, lapwing_error* error);

        [DllImport(Library)]
        internal static extern int lapwing_wait_set_wait(WaitSetHandle set, lapwing_ready* ready, long timeout_ns, lapwing_error* error);

        [DllImport(Library)]
        internal static extern void lapwing_wait_set_interrupt(WaitSetHandle set);

        [DllImport(Library)]
        internal static extern void lapwing_wait_set_destroy(ref IntPtr set);
    }
}
