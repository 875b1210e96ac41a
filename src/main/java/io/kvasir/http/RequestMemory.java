package io.kvasir.http;

/**
 * The memory of one request, counted against its node's {@link MemoryBudget}; given back when the request has been
 * answered. Used by one thread at a time.
 */
public interface RequestMemory {
  /**
   * What reading a body may take for each of its bytes: its texts with two bytes a character, and a copy of it. Booked
   * together with the body, so that one that has arrived can be read.
   */
  int READING_PER_BYTE = 3;

  /** Memory that is not counted. */
  RequestMemory UNCOUNTED =
      new RequestMemory() {
        @Override
        public boolean tryBook(long bytes) {
          return true;
        }

        @Override
        public boolean couldBook(long bytes) {
          return true;
        }

        @Override
        public Shortage shortage(long bytes) {
          return new Shortage(bytes, Long.MAX_VALUE);
        }

        @Override
        public void free(long bytes) {}
      };

  /**
   * Why bytes do not fit.
   *
   * @param needed bytes that all requests would have booked together with them
   * @param limit the most that they may
   */
  record Shortage(long needed, long limit) {}

  /** Books bytes if they fit into the budget; false when they do not. Does not wait. */
  boolean tryBook(long bytes);

  /** Whether these bytes would fit if no other request had booked any. */
  boolean couldBook(long bytes);

  /** Why these bytes do not fit now, which {@link #tryBook} has refused. */
  Shortage shortage(long bytes);

  /** Gives some of the bytes booked back, all of them where they are fewer. */
  void free(long bytes);
}
