package io.kvasir.execution;

import io.kvasir.cell.DecisionRequest;
import io.kvasir.http.Headers;
import io.kvasir.routing.RequestFacts;
import io.kvasir.telemetry.LogIds;
import io.kvasir.tracing.TraceContext;
import io.kvasir.tracing.TracedRequest;
import org.jspecify.annotations.Nullable;

/**
 * A request to be carried out. Immutable; the body's bytes must not be changed.
 *
 * @param decision the request for a decision; its {@code excluded} workers are never tried
 * @param facts facts of the request, for the cells' preparers
 * @param http the request as the client sent it
 * @param rules how the responses of workers are treated
 * @param maxResumes how often a stream that its worker cut may be continued by another; 0 for never
 * @param ifCached whether it is for a worker that has some of its prompt, and for none else
 * @param trace where decisions and legs are noted, null when the request is not traced
 */
public record Call(
    DecisionRequest decision,
    RequestFacts facts,
    ClientHttp http,
    ResponseRules rules,
    int maxResumes,
    boolean ifCached,
    @Nullable TracedRequest trace) {
  /** A call for any worker that is not traced. */
  public Call(DecisionRequest decision, RequestFacts facts, ClientHttp http, ResponseRules rules, int maxResumes) {
    this(decision, facts, http, rules, maxResumes, false, null);
  }

  /**
   * The HTTP request of the client.
   *
   * @param method the client's
   * @param target path and query, as the client sent them
   * @param headers end-to-end headers for the pod, without {@code X-Request-Id} and {@code X-data-parallel-rank}, which
   *     depend on the try
   * @param body the client's own bytes
   */
  public record ClientHttp(String method, String target, Headers headers, byte[] body) {
    /** Whether it asks to leave HTTP: what is sent then is not known, and its head is as everybody's. */
    public boolean upgrades() {
      return headers.has("Upgrade");
    }
  }

  /**
   * How a worker's response is treated on its way to the client.
   *
   * @param retryable whether another worker may get the request when one failed in the middle: true for inference,
   *     false for what may have changed something
   * @param hasTerminator whether a stream ends with a terminator, so that one without it was truncated
   * @param stripUsage whether the event that {@code stream_options.include_usage} adds is kept from the client, whose
   *     request did not have it
   * @param namesModel whether the request names its model, so that an engine that does not know it is at fault
   */
  public record ResponseRules(boolean retryable, boolean hasTerminator, boolean stripUsage, boolean namesModel) {}

  /** The ids of the log's lines about it. */
  public LogIds logIds() {
    TraceContext context =
        trace == null ? TraceContext.parse(http.headers().only(TraceContext.HEADER)) : trace.context();
    return new LogIds(decision.requestId(), context == null ? null : context.traceId());
  }

  /** The call with all of a stream's usage, for a reader on its way to the client. */
  public Call withUsage() {
    ResponseRules all = new ResponseRules(rules.retryable, rules.hasTerminator, false, rules.namesModel);
    return new Call(decision, facts, http, all, maxResumes, ifCached, trace);
  }

  /**
   * The call that continues this one's stream where it was cut.
   *
   * @param resumesLeft how often its own stream may be continued
   */
  public Call continuation(DecisionRequest next, String target, byte[] body, int resumesLeft) {
    ClientHttp rest = new ClientHttp(http.method, target, http.headers, body);
    if (trace != null) {
      trace.resumes();
    }
    return new Call(next, facts, rest, rules, resumesLeft, false, trace);
  }
}
