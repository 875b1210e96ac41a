package io.kvasir.gateway.admin;

import io.kvasir.http.ByteSink;
import io.kvasir.http.Headers;
import java.io.IOException;
import java.util.function.BooleanSupplier;

/**
 * The admin API's answer that comes bit by bit, with status 200.
 *
 * @param headers its Content-Type among them
 * @param body what writes it; run on a virtual thread, or not at all
 */
public record AdminStream(Headers headers, Body body) implements AdminAnswer {
  /** The writer of a stream. */
  @FunctionalInterface
  public interface Body {
    /**
     * Writes the stream; returning ends it.
     *
     * @param allowed whether who asked still may see it: keys are withdrawn while streams run
     * @throws IOException when the client takes no more
     */
    void writeTo(ByteSink sink, BooleanSupplier allowed) throws IOException;
  }
}
