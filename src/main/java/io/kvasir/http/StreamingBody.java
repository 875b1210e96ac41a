package io.kvasir.http;

import java.io.IOException;

/**
 * The body of a streamed answer, before any of it has been written. It may hold a connection to a pod and the
 * reservation of its load, so it must be either run or abandoned.
 */
public interface StreamingBody {
  /**
   * Writes the whole body, piece by piece as it comes, and releases what it holds. Called at most once. Returning ends
   * the body.
   *
   * @throws IOException when the body was cut short or the sink takes no more: the client's connection must then be cut
   *     too, so that the client sees a truncated body and not a complete one
   */
  void run(ByteSink sink) throws IOException;

  /** Releases what the body holds, in place of {@link #run}. Idempotent; any thread; does not block. */
  void abandon();

  /** A body that holds nothing: abandoning it does nothing. */
  static StreamingBody of(Writer writer) {
    return new StreamingBody() {
      @Override
      public void run(ByteSink sink) throws IOException {
        writer.writeTo(sink);
      }

      @Override
      public void abandon() {}
    };
  }

  /** Writes the bytes of a body that holds nothing. */
  @FunctionalInterface
  interface Writer {
    void writeTo(ByteSink sink) throws IOException;
  }
}
