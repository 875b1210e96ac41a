package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.http.client.PodRequest;
import org.jspecify.annotations.Nullable;

/**
 * What one worker is asked, and what has to be known of its answer.
 *
 * @param chosen the worker and the load booked on it
 * @param request what it is sent
 * @param route what the client is told of the way
 * @param retryable whether another worker may be asked when this one fails in the middle
 * @param hasTerminator whether a stream ends with a terminator, so that one without it was cut
 * @param stripUsage whether the event that {@code stream_options.include_usage} adds is kept from the client
 * @param forRouter whether the answer is for the router, so that a stream is gathered, too
 * @param maxBufferedBytes what is gathered may have this size
 * @param translation how its answer becomes the client's, null where it is that as it comes
 * @param prefillReport how the prompt was read where another worker did that, null where this one does
 */
public record Task(
    Decision.Chosen chosen,
    PodRequest request,
    UpstreamRoute route,
    boolean retryable,
    boolean hasTerminator,
    boolean stripUsage,
    boolean forRouter,
    int maxBufferedBytes,
    @Nullable Translation translation,
    @Nullable Report prefillReport) {
  /** The client's own request to the one worker of a plan. */
  public static Task single(Call call, Decision.Chosen chosen, PodRequest request, String reason, int wholeBytes) {
    return new Task(
        chosen,
        request,
        new UpstreamRoute(chosen.worker(), null, reason),
        call.retryable(),
        call.hasTerminator(),
        call.stripUsage(),
        false,
        wholeBytes,
        null,
        null);
  }
}
