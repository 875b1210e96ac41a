package io.kvasir.load;

/** A way to ask an engine, for virtual threads: one of the candidates for the pod client. */
public interface Upstream extends AutoCloseable {
  /** Sends a chat request and waits for the head of its answer. */
  Reply send(byte[] body) throws Exception;

  /** An answer, its body as it comes. */
  interface Reply extends AutoCloseable {
    /** Whether it is a stream of events. */
    boolean isStreaming();

    /** What has arrived of the body, at least one byte; -1 at its end. */
    int read(byte[] bytes, int offset, int length) throws Exception;

    /** The whole body. */
    byte[] readAll() throws Exception;

    /** Stops it, if it has not ended. */
    @Override
    void close();
  }

  @Override
  void close();
}
