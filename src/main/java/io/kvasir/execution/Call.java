package io.kvasir.execution;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.http.Headers;
import io.kvasir.routing.RequestFacts;

/**
 * A request to be carried out.
 *
 * @param decision the request for a decision; its {@code excluded} workers are never tried
 * @param facts facts of the request, for the cells' preparers
 * @param method the client's
 * @param target path and query, as the client sent them
 * @param headers end-to-end headers for the pod, without {@code X-Request-Id} and
 *     {@code X-data-parallel-rank}, which depend on the try
 * @param body the client's own bytes; not to be changed
 * @param retryable whether another worker may get the request when one failed in the middle: true for
 *     inference, false for what may have changed something
 * @param hasTerminator whether a stream of this API ends with a terminator, so that one without it was cut
 * @param stripUsage whether the event that {@code stream_options.include_usage} adds is kept from the
 *     client, whose request did not have it
 * @param maxResumes how often a stream that its worker cut may be continued by another; 0 for never
 */
public record Call(
    DecisionRequest decision,
    RequestFacts facts,
    String method,
    String target,
    Headers headers,
    byte[] body,
    boolean retryable,
    boolean hasTerminator,
    boolean stripUsage,
    int maxResumes) {
  /** The call with all of a stream's usage, for a reader on its way to the client. */
  public Call withUsage() {
    return new Call(decision, facts, method, target, headers, body, retryable, hasTerminator, false, maxResumes);
  }

  /** The call that continues this one's stream where it was cut. */
  public Call continuation(DecisionRequest next, byte[] rest) {
    return new Call(next, facts, method, target, headers, rest, retryable, hasTerminator, stripUsage, maxResumes);
  }
}
