package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.http.Headers;
import io.kvasir.http.StreamingBody;

/** The result of a {@link Call}. */
public sealed interface Result {
  /**
   * A complete response of a worker. Also the latest error response, when every try failed.
   *
   * @param route the workers involved
   * @param status its HTTP status
   * @param headers its headers as they came, hop-by-hop ones included
   * @param body its body
   * @param report how it went
   */
  record Buffered(UpstreamRoute route, int status, Headers headers, byte[] body, Report report)
      implements Result {}

  /**
   * A worker's response that streams; its first bytes have arrived. {@link Streaming#body} must be run or abandoned: it
   * holds the connection and the reservation.
   *
   * @param route the workers involved
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
   * @param why the kind of its failure: {@code connect}, {@code unsent}, {@code reset}, {@code timeout},
   *     {@code truncated} or {@code protocol}; the log has the rest, which names addresses
   * @param report how it went
   */
  record Unreachable(boolean timedOut, String why, Report report) implements Result {
    /** Whether the last worker's connection ended after it had the request, which may be what ended it. */
    public boolean disconnected() {
      return why.equals("reset") || why.equals("truncated");
    }
  }

  /**
   * The request may be what ended the workers that had it: their connections ended under it. No worker gets the same
   * request for a while.
   *
   * @param report how it went; without tries when the request was in quarantine before
   */
  record Quarantined(Report report) implements Result {}

  /** The client cancelled. */
  record ClientCancelled(Report report) implements Result {}
}
