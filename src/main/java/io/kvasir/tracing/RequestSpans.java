package io.kvasir.tracing;

import io.kvasir.tracing.FinishedSpan.Interval;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.common.AttributesBuilder;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.sdk.resources.Resource;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.data.StatusData;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Builds the spans of requests: the request's own, and below it, as siblings, what the router did with it and the legs.
 * Of a leg that is still open, such as a prefill that a client did not wait for, the span ends with the request.
 *
 * @param resource what all spans of the node have in common
 */
record RequestSpans(Resource resource) {
  private static final int LEGS_AND_STAGES = 6;

  /** As the conventions have one that is not known. */
  private static final String UNKNOWN_METHOD = "_OTHER";

  /** The spans of requests that have ended. */
  List<SpanData> of(List<TracedRequest> requests) {
    List<SpanData> spans = new ArrayList<>(requests.size() * LEGS_AND_STAGES);
    for (TracedRequest request : requests) {
      TracedRequest.End end = request.end();
      if (end != null) {
        new Builder(request, end, spans).build();
      }
    }
    return spans;
  }

  /** Builds the spans of one request. */
  private final class Builder {
    private final TracedRequest request;
    private final TracedRequest.End end;
    private final SpanContext root;
    private final List<SpanData> spans;

    Builder(TracedRequest request, TracedRequest.End end, List<SpanData> spans) {
      this.request = request;
      this.end = end;
      this.root = context(request.context());
      this.spans = spans;
    }

    void build() {
      server();
      TracedRequest.Contents contents = request.contents();
      if (contents != null) {
        read(contents);
      }
      TracedRequest.Prompt prompt = request.prompt();
      if (prompt != null) {
        prompt(prompt);
      }
      if (end.refused()) {
        boolean admitted = request.admittedNanos() != TracedLeg.NEVER;
        below("kvasir.admit", admitted ? request.admittedNanos() : request.startNanos(), end.nanos(), end.error(),
            Attributes.builder().put(SpanAttributes.OUTCOME, "refused"));
      }
      request.decisions().forEach(this::decision);
      request.legs().forEach(this::leg);
    }

    private void server() {
      TracedRequest.Arrival arrival = request.arrival();
      AttributesBuilder attributes = Attributes.builder()
          .put(SpanAttributes.METHOD, arrival.method().isEmpty() ? UNKNOWN_METHOD : arrival.method())
          .put(SpanAttributes.CLIENT, arrival.client().getHostAddress())
          .put(SpanAttributes.STATUS, end.status())
          .put(SpanAttributes.REQUEST_ID, arrival.requestId());
      put(attributes, SpanAttributes.PATH, arrival.path());
      put(attributes, SpanAttributes.ROUTE, arrival.route());
      put(attributes, SpanAttributes.ERROR, end.error());
      TracedRequest.Contents contents = request.contents();
      if (contents != null) {
        put(attributes, SpanAttributes.TENANT, contents.tenant());
      }
      SpanContext parent = request.isContinued()
          ? SpanContext.createFromRemoteParent(
              root.getTraceId(), request.context().with(request.parentSpan()).spanId(), root.getTraceFlags(),
              TraceState.getDefault())
          : SpanContext.getInvalid();
      // Of a server's span 4xx is the client's error.
      StatusData status = end.status() >= 500 || (end.error() != null && end.status() < 400) ? failed(end.error())
          : StatusData.unset();
      spans.add(new FinishedSpan(
          name(arrival), SpanKind.SERVER, root, parent, status, interval(request.startNanos(), end.nanos()),
          attributes.build(), resource));
    }

    private static String name(TracedRequest.Arrival arrival) {
      return arrival.method().isEmpty() ? "HTTP"
          : arrival.route().isEmpty() ? arrival.method()
          : arrival.method() + ' ' + arrival.route();
    }

    private void read(TracedRequest.Contents contents) {
      below("kvasir.read", request.startNanos(), request.readNanos(), null, Attributes.builder()
          .put(SpanAttributes.BODY_SIZE, contents.bytes())
          .put(SpanAttributes.OPERATION, request.arrival().operation())
          .put(SpanAttributes.REQUEST_STREAM, contents.stream()));
    }

    private void prompt(TracedRequest.Prompt prompt) {
      AttributesBuilder attributes = Attributes.builder()
          .put(SpanAttributes.PROMPT_MODE, prompt.mode())
          .put(SpanAttributes.PROMPT_TOKENS, prompt.tokens());
      put(attributes, SpanAttributes.TEMPLATE_MILLIS, millis(prompt.templateNanos()));
      put(attributes, SpanAttributes.TOKENS_MILLIS, millis(prompt.tokensNanos()));
      below("kvasir.prompt", request.readNanos(), request.preparedNanos(), null, attributes);
    }

    /** {@link Double#NaN} for none. */
    private static double millis(long nanos) {
      return nanos < 0 ? Double.NaN : nanos / (double) TimeUnit.MILLISECONDS.toNanos(1);
    }

    private void decision(TracedDecision decision) {
      AttributesBuilder attributes = Attributes.builder()
          .put(SpanAttributes.DECISION_ID, request.arrival().requestId())
          .put(SpanAttributes.PROFILE, decision.profile())
          .put(SpanAttributes.REASON, decision.reason())
          .put(SpanAttributes.PROMPT_TOKENS, decision.tokens().prompt())
          .put(SpanAttributes.BEST_TOKENS, decision.tokens().best())
          .put(SpanAttributes.PROMISED_TOKENS, decision.tokens().promised());
      put(attributes, SpanAttributes.WORKER, decision.worker());
      TracedDecision.Origin origin = decision.origin();
      if (origin != null) {
        attributes.put(SpanAttributes.WAY, origin.way()).put(SpanAttributes.CELL, origin.cell());
        put(attributes, SpanAttributes.HOME, origin.home());
      }
      below("kvasir.decide", decision.startNanos(), decision.endNanos(), decision.worker() == null ? "no_worker" : null,
          attributes);
    }

    private void leg(TracedLeg leg) {
      AttributesBuilder attributes = Attributes.builder()
          .put(SpanAttributes.OPERATION, request.arrival().operation())
          .put(SpanAttributes.PROVIDER, request.arrival().provider())
          .put(SpanAttributes.SERVER, leg.target().url().getHost())
          .put(SpanAttributes.WORKER, leg.target().worker())
          .put(SpanAttributes.LEG, leg.kind())
          .put(SpanAttributes.PROMISED_TOKENS, leg.target().promised());
      put(attributes, SpanAttributes.PORT, leg.target().url().getPort());
      put(attributes, SpanAttributes.STATUS, leg.status());
      put(attributes, SpanAttributes.RESEND_COUNT, leg.tries() > 1 ? leg.tries() - 1 : TracedLeg.UNKNOWN);
      put(attributes, SpanAttributes.RESPONSE_ID, leg.answerId());
      if (!leg.finishReasons().isEmpty()) {
        attributes.put(SpanAttributes.FINISH_REASONS, leg.finishReasons());
      }
      put(attributes, SpanAttributes.ERROR, leg.error());
      put(attributes, SpanAttributes.INPUT_TOKENS, leg.tokens().prompt());
      put(attributes, SpanAttributes.OUTPUT_TOKENS, leg.tokens().output());
      put(attributes, SpanAttributes.CACHED_TOKENS, leg.tokens().delivered());
      put(attributes, SpanAttributes.DELIVERED_TOKENS, leg.tokens().delivered());
      if (leg.firstTokenNanos() != TracedLeg.NEVER) {
        double seconds = (leg.firstTokenNanos() - leg.startNanos()) / (double) TimeUnit.SECONDS.toNanos(1);
        attributes.put(SpanAttributes.TIME_TO_FIRST_CHUNK, seconds);
      }
      TracedRequest.Contents contents = request.contents();
      String name = request.arrival().operation();
      if (contents != null) {
        name = name + ' ' + contents.model();
        attributes.put(SpanAttributes.REQUEST_MODEL, contents.model())
            .put(SpanAttributes.REQUEST_STREAM, contents.stream());
        parameters(attributes, contents.parameters());
      }
      long over = leg.isOpen() ? Math.max(end.nanos(), leg.startNanos()) : leg.endNanos();
      spans.add(new FinishedSpan(
          name, SpanKind.CLIENT, context(leg.context()), root, leg.error() == null ? StatusData.unset()
              : failed(leg.error()),
          interval(leg.startNanos(), over), attributes.build(), resource));
    }

    private static void parameters(AttributesBuilder attributes, SamplingParameters parameters) {
      put(attributes, SpanAttributes.MAX_TOKENS, parameters.maxTokens());
      put(attributes, SpanAttributes.CHOICES, parameters.choices());
      if (parameters.seed() != SamplingParameters.NONE) {
        attributes.put(SpanAttributes.SEED, parameters.seed());
      }
      put(attributes, SpanAttributes.TEMPERATURE, parameters.temperature());
      put(attributes, SpanAttributes.TOP_P, parameters.topP());
      put(attributes, SpanAttributes.TOP_K, parameters.topK());
      put(attributes, SpanAttributes.FREQUENCY_PENALTY, parameters.frequencyPenalty());
      put(attributes, SpanAttributes.PRESENCE_PENALTY, parameters.presencePenalty());
    }

    private void below(
        String name, long startNanos, long endNanos, @Nullable String error, AttributesBuilder attributes) {
      put(attributes, SpanAttributes.ERROR, error);
      spans.add(new FinishedSpan(
          name, SpanKind.INTERNAL, context(request.context().with(TraceContext.newSpan())), root,
          error == null ? StatusData.unset() : failed(error), interval(startNanos, endNanos), attributes.build(),
          resource));
    }

    private Interval interval(long startNanos, long endNanos) {
      return new Interval(request.epochNanos(startNanos), request.epochNanos(endNanos));
    }
  }

  private static SpanContext context(TraceContext context) {
    return SpanContext.create(
        context.traceId(), context.spanId(), TraceFlags.fromByte((byte) context.flags()), TraceState.getDefault());
  }

  private static StatusData failed(@Nullable String error) {
    return StatusData.create(StatusCode.ERROR, Objects.requireNonNullElse(error, ""));
  }

  private static void put(AttributesBuilder attributes, AttributeKey<String> key, @Nullable String value) {
    if (value != null && !value.isEmpty()) {
      attributes.put(key, value);
    }
  }

  private static void put(AttributesBuilder attributes, AttributeKey<Long> key, long value) {
    if (value >= 0) {
      attributes.put(key, value);
    }
  }

  private static void put(AttributesBuilder attributes, AttributeKey<Double> key, double value) {
    if (!Double.isNaN(value)) {
      attributes.put(key, value);
    }
  }
}
