package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;

/** What became of a {@link Call}. */
public sealed interface Result {
  /**
   * A worker answered, and the whole of it is here. Also the last error answer of a worker, when every try failed.
   *
   * @param route the way it took
   * @param status its HTTP status
   * @param headers its headers as they came, hop-by-hop ones included
   * @param body its body
   * @param report how it went
   */
  record Buffered(UpstreamRoute route, int status, Headers headers, byte[] body, Report report)
      implements Result {}

  /**
   * A worker answers, and the first bytes are here. {@link Streaming#body} must be run or abandoned: it holds the
   * connection and the reservation.
   *
   * @param route the way it takes
   * @param status its HTTP status
   * @param headers its headers as they came, hop-by-hop ones included
   * @param body the answer's body
   */
  record Streaming(UpstreamRoute route, int status, Headers headers, StreamingBody body) implements Result {}

  /** No worker could be chosen, and none has failed before. */
  record NoWorker(Decision.NoWorker decision, Report report) implements Result {}

  /**
   * Every worker that was tried failed without an answer.
   *
   * @param timedOut whether the last one was only too slow
   * @param why the kind of its failure: {@code connect}, {@code reset}, {@code timeout}, {@code truncated} or
   *     {@code protocol}; the log has the rest, which names addresses
   * @param report how it went
   */
  record Unreachable(boolean timedOut, String why, Report report) implements Result {}

  /** The client left; there is nobody to answer. */
  record ClientCancelled(Report report) implements Result {}
}
