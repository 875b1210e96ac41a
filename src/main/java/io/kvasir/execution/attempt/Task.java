package io.kvasir.execution.attempt;

import io.kvasir.cell.Decision;
import io.kvasir.execution.Call;
import io.kvasir.execution.Report;
import io.kvasir.execution.UpstreamRoute;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.http.client.PodRequest;
import org.jspecify.annotations.Nullable;

/**
 * One request to one worker, and how its response is treated.
 *
 * @param chosen the worker and the load booked on it
 * @param request the request
 * @param route the workers involved, for the client's headers
 * @param handling how the response is treated
 * @param prefillReport how the prompt was computed where another worker did that, null where this one does
 */
public record Task(
    Decision.Chosen chosen,
    PodRequest request,
    UpstreamRoute route,
    ResponseHandling handling,
    @Nullable Report prefillReport) {
  /**
   * How a response is treated.
   *
   * @param retryable whether another worker may get the request when this one fails in the middle
   * @param hasTerminator whether a stream ends with a terminator, so that one without it was truncated
   * @param stripUsage whether the event that {@code stream_options.include_usage} adds is kept from the client
   * @param forRouter whether the router reads the response, so that a stream is buffered, too
   * @param maxBufferedBytes the longest response that is buffered
   * @param translation how the response becomes the client's, null where it is the client's as it comes
   */
  public record ResponseHandling(
      boolean retryable,
      boolean hasTerminator,
      boolean stripUsage,
      boolean forRouter,
      int maxBufferedBytes,
      @Nullable Translation translation) {
    /** A response that goes to the client. */
    public static ResponseHandling forClient(Call call, int maxBufferedBytes, @Nullable Translation translation) {
      return new ResponseHandling(
          call.retryable(), call.hasTerminator(), call.stripUsage(), false, maxBufferedBytes, translation);
    }

    /** A response that the router reads for a later step. */
    public static ResponseHandling forRouter(int maxBufferedBytes, @Nullable Translation translation) {
      return new ResponseHandling(true, false, false, true, maxBufferedBytes, translation);
    }
  }

  /** The client's own request to the only worker of a plan. */
  public static Task single(
      Call call, Decision.Chosen chosen, PodRequest request, String reason, int maxBufferedBytes) {
    return new Task(
        chosen,
        request,
        new UpstreamRoute(chosen.worker(), null, reason),
        ResponseHandling.forClient(call, maxBufferedBytes, null),
        null);
  }
}
