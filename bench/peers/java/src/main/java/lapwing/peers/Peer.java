package lapwing.peers;

/** One side of a peer. Never waits. */
interface Peer {
    /** Receives the words of each record. The array is reused. */
    interface OnRecord {
        void on(long[] record);
    }

    /**
     * Writes records first, first + 1, …; returns the number taken, 0 if there is no room now.
     */
    int send(long first, int count);

    /** Calls onRecord for available records. Returns their number. */
    int receive(OnRecord onRecord);

    /** The number of lost records that the peer's interface reported, or -1. */
    default long reportedLost() {
        return -1;
    }

    /** The best number of records per send, if enough are available. */
    default int sendRecordsMax() {
        return 32;
    }
}
