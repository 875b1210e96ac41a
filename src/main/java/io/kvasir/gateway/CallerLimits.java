package io.kvasir.gateway;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.access.Caller;
import io.kvasir.cell.Outcome;
import io.kvasir.execution.Report;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.ErrorFormat;
import io.kvasir.gateway.error.GateRefusal;
import io.kvasir.gateway.request.InboundRequest;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Headers;
import io.kvasir.http.server.Response;
import io.kvasir.limits.Admission;
import io.kvasir.limits.Demand;
import io.kvasir.limits.Dimension;
import io.kvasir.limits.LimitReservation;
import io.kvasir.limits.LimitStatus.QuotaStatus;
import io.kvasir.limits.Limiter;
import io.kvasir.limits.Quota;
import io.kvasir.limits.Refusal;
import io.kvasir.limits.Work;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/** The limits of callers in the words of their APIs: errors, headers, and what a request costs. Thread-safe. */
final class CallerLimits {
  /** The members of bodies that bound the output, as the APIs have them. */
  private static final String[] MOST_OUTPUT = {"max_completion_tokens", "max_output_tokens", "max_tokens"};

  private final @Nullable Limiter limiter;

  /** Over a node's limiter; null where no caller has limits. */
  CallerLimits(@Nullable Limiter limiter) {
    this.limiter = limiter;
  }

  /** Admits a request as one more of its caller's. */
  LimitReservation admit(InboundRequest inbound) throws ApiException, InterruptedException {
    if (limiter == null) {
      return LimitReservation.NONE;
    }
    return switch (limiter.admit(inbound.caller())) {
      case Admission.Admitted(LimitReservation reservation) -> reservation;
      case Admission.Refused(Refusal refusal) -> throw refused(refusal, inbound.exchange().path());
    };
  }

  /** Reserves the work that a request is expected to be. */
  static void reserve(LimitReservation reservation, ApiPath api, ApiRequest request, long promptTokens, String path)
      throws ApiException, InterruptedException {
    if (reservation == LimitReservation.NONE || !api.carriesPrompt()) {
      return;
    }
    Refusal refusal = reservation.reserve(new Demand(promptTokens, api.generates() ? mostOutput(request.body()) : 0));
    if (refusal != null) {
      throw refused(refusal, path);
    }
  }

  /**
   * Ends the reservation of a request that workers had to do with: a caller pays for what was computed, also if it did
   * not wait for the end, and nothing for a worker's failure.
   *
   * @param promptTokens of its prompt, as far as the router knows
   */
  static void settle(LimitReservation reservation, long promptTokens, int status, Report report) {
    if (reservation == LimitReservation.NONE) {
      return;
    }
    Report.TokenUsage usage = report.usage();
    boolean answered = report.outcome() instanceof Outcome.Completed && status < 300;
    boolean left = report.outcome() instanceof Outcome.Cancelled && report.worker() != null;
    if (answered || left) {
      long prompt = usage.promptTokens() == Outcome.UNKNOWN ? promptTokens : usage.promptTokens();
      long cached =
          usage.cachedTokens() == Outcome.UNKNOWN ? report.prediction().tokens().predicted() : usage.cachedTokens();
      long output = usage.outputTokens() == Outcome.UNKNOWN ? usage.streamedEvents() : usage.outputTokens();
      cached = Math.min(cached, prompt);
      reservation.settle(new Work(prompt - cached, cached, output));
    } else if (status < 500) {
      reservation.release();
    } else {
      reservation.cancel();
    }
  }

  /** Ends the reservation of a request that the router has refused: one that was not the caller's fault was none. */
  static void settle(LimitReservation reservation, ApiError error) {
    if (error.status() >= 500 || error.status() == 429 || error.status() == 402) {
      reservation.cancel();
    } else {
      reservation.release();
    }
  }

  /** An answer with what is left of its caller's limits. */
  Response describe(Response answer, InboundRequest inbound) {
    return hasLimits(inbound.caller())
        ? answer.with(describe(answer.headers().toBuilder(), inbound).build())
        : answer;
  }

  /** Headers with what is left of a caller's limits. */
  Headers.Builder describe(Headers.Builder headers, InboundRequest inbound) {
    Caller caller = inbound.caller();
    if (limiter != null && hasLimits(caller)) {
      ErrorFormat format = ErrorFormat.forPath(inbound.exchange().path());
      set(headers, format, "requests", limiter.status(caller, Dimension.REQUESTS));
      set(headers, format, "tokens", limiter.status(caller, Dimension.TOKENS));
    }
    return headers;
  }

  private boolean hasLimits(Caller caller) {
    return limiter != null && !Limiter.isUnlimited(caller);
  }

  private static void set(Headers.Builder headers, ErrorFormat format, String unit, @Nullable QuotaStatus status) {
    if (status == null) {
      return;
    }
    String limit = Long.toString(status.quota().amount());
    String remaining = Long.toString(status.remaining());
    switch (format) {
      case OPENAI -> headers
          .set("x-ratelimit-limit-" + unit, limit)
          .set("x-ratelimit-remaining-" + unit, remaining)
          .set("x-ratelimit-reset-" + unit, goDuration(status.resetMillis()));
      case ANTHROPIC -> headers
          .set("anthropic-ratelimit-" + unit + "-limit", limit)
          .set("anthropic-ratelimit-" + unit + "-remaining", remaining)
          .set("anthropic-ratelimit-" + unit + "-reset", status.resetsAt().truncatedTo(ChronoUnit.SECONDS).toString());
    }
  }

  /** As Go prints durations: {@code 120ms}, {@code 1.5s}, {@code 6m0s}. */
  static String goDuration(long millis) {
    if (millis > 0 && millis < 1000) {
      return millis + "ms";
    }
    Duration duration = Duration.ofMillis(millis);
    StringBuilder text = new StringBuilder();
    if (duration.toHours() > 0) {
      text.append(duration.toHours()).append('h');
    }
    if (duration.toMinutes() > 0) {
      text.append(duration.toMinutesPart()).append('m');
    }
    text.append(duration.toSecondsPart());
    if (duration.toMillisPart() > 0) {
      text.append('.').append("%03d".formatted(duration.toMillisPart()).replaceFirst("0+$", ""));
    }
    return text.append('s').toString();
  }

  private static long mostOutput(@Nullable JsonNode body) {
    for (String member : MOST_OUTPUT) {
      JsonNode most = body == null ? null : body.get(member);
      if (most != null && most.canConvertToLong() && most.longValue() >= 0) {
        return most.longValue();
      }
    }
    return Demand.UNBOUNDED;
  }

  private static ApiException refused(Refusal refusal, String path) {
    Quota quota = refusal.quota();
    String resets = "It allows this again in " + goDuration(refusal.resetsIn().toMillis()) + ".";
    String what = switch (quota.dimension()) {
      case REQUESTS -> "The limit of %s is %d requests per minute, and %d are used.".formatted(
          refusal.holder(), quota.amount(), refusal.used());
      case CONCURRENT -> "The limit of %s is %d requests at a time, and %d are in progress.".formatted(
          refusal.holder(), quota.amount(), refusal.used());
      case TOKENS -> tokens(refusal, "limit", "minute");
      case BUDGET -> tokens(refusal, "budget", goDuration(quota.windowMillis()));
    };
    String message = what + " " + resets;
    GateRefusal gate =
        GateRefusal.of(
            GateRefusal.Gate.LIMITS,
            "limits." + knob(quota.dimension()),
            new GateRefusal.Measure(
                refusal.used() + refusal.requested(),
                quota.amount(),
                quota.dimension().countsWork() ? "tokens" : "requests"));
    if (refusal.isTerminal()) {
      boolean anthropic = ErrorFormat.forPath(path) == ErrorFormat.ANTHROPIC;
      return new ApiException(
          ApiError.of(anthropic ? 402 : 429, "insufficient_quota", message)
              .typed("insufficient_quota")
              .refusedBy(gate)
              .retryAfter(ApiError.NEVER));
    }
    return new ApiException(
        ApiError.of(429, "rate_limit_exceeded", message)
            .typed(quota.dimension() == Dimension.TOKENS ? "tokens" : "requests")
            .refusedBy(gate)
            .retryAfter(refusal.resetsIn()));
  }

  /** The setting of a limit, below {@code limits} of a key or tenant. */
  private static String knob(Dimension dimension) {
    return switch (dimension) {
      case REQUESTS -> "requests-per-minute";
      case TOKENS -> "tokens-per-minute";
      case CONCURRENT -> "concurrent";
      case BUDGET -> "budgets";
    };
  }

  private static String tokens(Refusal refusal, String name, String window) {
    return "The %s of %s is %d tokens of work per %s: %d are used, and this request is expected to need %d.".formatted(
        name, refusal.holder(), refusal.quota().amount(), window, refusal.used(), refusal.requested());
  }
}
