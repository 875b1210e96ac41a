package io.kvasir.execution;

import io.kvasir.cell.Decision;
import io.kvasir.execution.dialect.Translation;
import org.jspecify.annotations.Nullable;

/**
 * What one worker is asked, and what has to be known of its answer.
 *
 * @param chosen the worker and the load booked on it
 * @param request what it is sent
 * @param route what the client is told of the way
 * @param repeatable whether another worker may be asked when this one fails in the middle
 * @param terminated whether a stream ends with a terminator, so that one without it was cut
 * @param withoutUsage whether the event that {@code stream_options.include_usage} adds is kept from the client
 * @param readHere whether the answer is for the router, so that a stream is gathered, too
 * @param wholeBytes what is gathered may have this size
 * @param translation how its answer becomes the client's, null where it is that as it comes
 * @param read how the prompt was read where another worker did that, null where this one does
 */
record Task(
    Decision.Chosen chosen,
    PodRequest request,
    Route route,
    boolean repeatable,
    boolean terminated,
    boolean withoutUsage,
    boolean readHere,
    int wholeBytes,
    @Nullable Translation translation,
    @Nullable Report read) {
  /** The client's own request to the one worker of a plan. */
  static Task whole(Call call, Decision.Chosen chosen, PodRequest request, String reason, int wholeBytes) {
    return new Task(
        chosen,
        request,
        new Route(chosen.worker(), null, reason),
        call.repeatable(),
        call.terminated(),
        call.withoutUsage(),
        false,
        wholeBytes,
        null,
        null);
  }
}
