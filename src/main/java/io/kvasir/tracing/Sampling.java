package io.kvasir.tracing;

import io.kvasir.tracing.TracingSettings.Rule;
import java.util.Set;

/**
 * Decides which requests are traced: at their beginning by their parent or by a share of all trace ids, as the standard
 * samplers do, and at their end by what became of them. Immutable; does not allocate.
 *
 * @param byParent whether a parent's decision is taken over
 * @param share of the traces that begin here, 0 to 1
 * @param always what is traced although its beginning was not
 * @param slowNanos time to the first token above which a request is slow
 */
record Sampling(boolean byParent, double share, Set<Rule> always, long slowNanos) {
  /**
   * The sampler that the environment or the settings name.
   *
   * @param name as {@code OTEL_TRACES_SAMPLER} has it
   * @param share its argument
   */
  static Sampling of(String name, double share, TracingSettings settings) throws TracingException {
    double known = switch (name) {
      case "always_on", "parentbased_always_on" -> 1;
      case "always_off", "parentbased_always_off" -> 0;
      case "traceidratio", "parentbased_traceidratio" -> share;
      default -> throw new TracingException(
          ("OTEL_TRACES_SAMPLER is '%s', which Kvasir does not have. Use always_on, always_off, traceidratio or one of"
              + " them with parentbased_ before it.").formatted(name));
    };
    if (!(known >= 0 && known <= 1)) {
      throw new TracingException("OTEL_TRACES_SAMPLER_ARG is %s; a share is 0 to 1.".formatted(known));
    }
    return new Sampling(name.startsWith("parentbased_"), known, settings.always(), settings.slow().toNanos());
  }

  /** Whether a trace that begins here is recorded. All nodes decide the same for the same id. */
  boolean isSampled(TraceContext root) {
    return share >= 1 || (share > 0 && Math.abs(root.traceLow()) < share * Long.MAX_VALUE);
  }

  /** Whether a trace that has a parent is recorded. */
  boolean isSampledBelow(TraceContext parent) {
    return byParent ? parent.isSampled() : isSampled(parent);
  }

  /** Whether a request that has ended is exported. */
  boolean isExported(TracedRequest request, TracedRequest.End end) {
    return request.context().isSampled()
        || (always.contains(Rule.ERROR) && isError(request, end))
        || (always.contains(Rule.REFUSAL) && end.refused())
        || (always.contains(Rule.SLOW) && request.waitNanos() > slowNanos);
  }

  /** Whether a request is exported, as far as its first token tells. */
  boolean isExportedAtFirstToken(TracedRequest request, long waitNanos) {
    return request.context().isSampled() || (always.contains(Rule.SLOW) && waitNanos > slowNanos);
  }

  private static boolean isError(TracedRequest request, TracedRequest.End end) {
    return !end.refused() && (end.status() >= 500 || (end.error() != null && end.status() < 400)
        || request.hasFailedLeg());
  }
}
