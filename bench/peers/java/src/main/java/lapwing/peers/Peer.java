package lapwing.peers;

/** One side's end of a peer. Never waits. */
interface Peer {
    /** Gets the words of each record that came; the array is used again. */
    interface OnRecord {
        void on(long[] record);
    }

    /**
     * Writes records first, first + 1, …; returns how many it took, 0 where it has no room now.
     */
    int send(long first, int count);

    /** Calls onRecord for records that are there now; returns how many. */
    int receive(OnRecord onRecord);

    /** What the peer's interface said was lost, or -1. */
    default long reportedLost() {
        return -1;
    }

    /** How many records are best sent together when there are as many. */
    default int sendRecordsMax() {
        return 32;
    }
}
