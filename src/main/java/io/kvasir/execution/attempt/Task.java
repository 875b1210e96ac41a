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
   * @param rules the call's, or those of a step whose response the client does not get
   * @param forRouter whether the router reads the response, so that a stream is buffered, too
   * @param maxBufferedBytes the longest response that is buffered
   * @param translation how the response becomes the client's, null where it is the client's as it comes
   */
  public record ResponseHandling(
      Call.ResponseRules rules, boolean forRouter, int maxBufferedBytes, @Nullable Translation translation) {
    private static final Call.ResponseRules FOR_ROUTER = new Call.ResponseRules(true, false, false, true);

    /** A response that goes to the client. */
    public static ResponseHandling forClient(Call call, int maxBufferedBytes, @Nullable Translation translation) {
      return new ResponseHandling(call.rules(), false, maxBufferedBytes, translation);
    }

    /** A response that the router reads for a later step. */
    public static ResponseHandling forRouter(int maxBufferedBytes, @Nullable Translation translation) {
      return new ResponseHandling(FOR_ROUTER, true, maxBufferedBytes, translation);
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
