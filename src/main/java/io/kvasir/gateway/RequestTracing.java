package io.kvasir.gateway;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.request.InboundRequest;
import io.kvasir.gateway.request.ParsedRequest;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.http.server.ArrivedRequest;
import io.kvasir.http.server.Exchange;
import io.kvasir.prompt.Prompt;
import io.kvasir.prompt.PromptTimes;
import io.kvasir.time.NanoClock;
import io.kvasir.tracing.SamplingParameters;
import io.kvasir.tracing.TraceContext;
import io.kvasir.tracing.TracedRequest;
import io.kvasir.tracing.Tracing;
import org.jspecify.annotations.Nullable;

/**
 * What the gateway notes of a request for its spans; nothing where requests are not traced. Used by one thread at a
 * time.
 *
 * @param traced the notes, null for none
 * @param promptTimes those of its prompt's parts, null for none
 */
record RequestTracing(
    Tracing tracing, @Nullable TracedRequest traced, @Nullable PromptTimes promptTimes, NanoClock clock) {
  private static final RequestTracing NONE = new RequestTracing(Tracing.OFF, null, null, NanoClock.SYSTEM);
  private static final int MAX_NAME = 256;

  /** The notes of a request that has arrived. */
  static RequestTracing begin(Tracing tracing, ApiPath api, InboundRequest inbound, NanoClock clock) {
    if (!tracing.isOn()) {
      return NONE;
    }
    Exchange exchange = inbound.exchange();
    return new RequestTracing(
        tracing,
        tracing.begin(
            exchange.headers(),
            new TracedRequest.Arrival(
                exchange.method(), api.path(), exchange.path(), exchange.client(), inbound.id(),
                operation(api), api == ApiPath.MESSAGES ? "anthropic" : "openai")),
        new PromptTimes(),
        clock);
  }

  /** Notes a request that has ended with an error before it reached an API. */
  static void refused(Tracing tracing, ArrivedRequest arrived, String id, ApiError error, NanoClock clock) {
    if (!tracing.isOn()) {
      return;
    }
    TracedRequest request =
        tracing.begin(
            arrived.headers(),
            new TracedRequest.Arrival(
                arrived.method(), "", cut(arrived.path()), arrived.client(), id, "", ""));
    if (request != null) {
      boolean _ = tracing.ended(
          request, new TracedRequest.End(error.status(), error.code(), isForRoom(error.status()), clock.nanos()));
    }
  }

  /** Whether an answer of this status refuses for want of room. */
  static boolean isForRoom(int status) {
    return status == 429 || status == 503;
  }

  /** A text of the client's own, which may be long. */
  private static String cut(String text) {
    return text.length() <= MAX_NAME ? text : text.substring(0, MAX_NAME);
  }

  /** As OpenTelemetry names what a request asks for. */
  private static String operation(ApiPath api) {
    return switch (api) {
      case CHAT, CHAT_BATCH, RESPONSES, MESSAGES -> "chat";
      case COMPLETIONS, GENERATE, TOKENS -> "text_completion";
      case EMBEDDINGS -> "embeddings";
      case COUNT_TOKENS, TOKENIZE, DETOKENIZE, RERANK, RENDERING, SCORING, MEDIA, REALTIME, STORED_RESPONSE, OTHER ->
          api.label();
    };
  }

  /** The trace's id, null for a request that is in none. */
  @Nullable String traceId(InboundRequest inbound) {
    return traced == null ? inbound.traceId() : traced.context().traceId();
  }

  /** The headers for the engine: those of the client's trace that do not hold are left out. */
  Headers forwarded(Headers headers) {
    return traced == null || traced.isContinued() || !headers.has(TraceContext.STATE_HEADER)
        ? headers
        : headers.toBuilder().remove(TraceContext.STATE_HEADER).build();
  }

  void admitted() {
    if (traced != null) {
      traced.admitted(clock.nanos());
    }
  }

  void read(ParsedRequest parsed, InboundRequest inbound) {
    if (traced != null) {
      String model = parsed.model();
      JsonNode body = parsed.request().body();
      traced.read(
          new TracedRequest.Contents(
              cut(model), inbound.caller().tenant(),
              inbound.exchange().body().length, parsed.request().stream(),
              body == null ? SamplingParameters.UNSET : parameters(body)),
          clock.nanos());
    }
  }

  private static SamplingParameters parameters(JsonNode body) {
    long most = count(body, "max_completion_tokens");
    most = most == SamplingParameters.NONE ? count(body, "max_tokens") : most;
    return new SamplingParameters(
        most == SamplingParameters.NONE ? count(body, "max_output_tokens") : most,
        count(body, "n"), count(body, "seed"), number(body, "temperature"), number(body, "top_p"),
        number(body, "top_k"), number(body, "frequency_penalty"), number(body, "presence_penalty"));
  }

  private static long count(JsonNode body, String field) {
    JsonNode value = body.get(field);
    return value != null && value.canConvertToLong() ? value.longValue() : SamplingParameters.NONE;
  }

  private static double number(JsonNode body, String field) {
    JsonNode value = body.get(field);
    return value != null && value.isNumber() ? value.doubleValue() : Double.NaN;
  }

  void prepared(@Nullable Prompt prompt, int tokens) {
    if (traced != null && promptTimes != null) {
      traced.prepared(
          new TracedRequest.Prompt(
              prompt == null ? "estimated" : prompt.mode().label(), tokens, promptTimes.templateNanos(),
              promptTimes.tokensNanos()),
          clock.nanos());
    }
  }

  /** The first token has come; what its exemplar names, null for none. */
  @Nullable TraceContext firstToken(long waitNanos) {
    if (traced == null) {
      return null;
    }
    traced.firstToken(clock.nanos());
    return tracing.isExportedAtFirstToken(traced, waitNanos) ? traced.context() : null;
  }

  /**
   * The request has ended; what its exemplars name, null for none.
   *
   * @param error the kind of error, null for none
   * @param refused whether the router refused it for want of room
   */
  @Nullable TraceContext ended(int status, @Nullable String error, boolean refused) {
    return traced != null && tracing.ended(traced, new TracedRequest.End(status, error, refused, clock.nanos()))
        ? traced.context() : null;
  }
}
