package io.kvasir.tracing;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What is noted of a request while it is served: enough to build its spans from when it has ended. Its client's thread
 * writes it; decisions and legs may come from any.
 */
public final class TracedRequest {
  /** A decision and a leg are the rule. */
  private static final int EXPECTED = 2;

  /** Beyond these a request that is tried again and again adds no more. */
  private static final int MAX_PARTS = 64;

  /**
   * A request as it arrived.
   *
   * @param method of HTTP, empty when it is not known
   * @param route the API's path, empty for a request that has reached none
   * @param path the client's
   * @param client its address
   * @param requestId its {@code X-Request-Id}
   * @param operation what it asks for, as {@code gen_ai.operation.name} has it
   * @param provider whose API it speaks, as {@code gen_ai.provider.name} has it
   */
  public record Arrival(
      String method, String route, String path, InetAddress client, String requestId, String operation,
      String provider) {}

  /**
   * A request as it was read.
   *
   * @param model as it names it
   * @param tenant whose it is, empty without one
   * @param bytes of its body
   * @param stream whether its answer is to stream
   * @param parameters of sampling, as it has them
   */
  public record Contents(
      String model, String tenant, int bytes, boolean stream, SamplingParameters parameters) {}

  /**
   * A prompt as it was prepared.
   *
   * @param mode how
   * @param tokens of it
   * @param templateNanos how long its chat template took, below 0 where it had none
   * @param tokensNanos how long it took to find its tokens and blocks, below 0 where there were none to be found
   */
  public record Prompt(String mode, int tokens, long templateNanos, long tokensNanos) {}

  /**
   * The end of a request.
   *
   * @param status of the answer, 499 where the client left
   * @param error the kind of error, null for none
   * @param refused whether the router refused it for want of room
   * @param nanos when
   */
  public record End(int status, @Nullable String error, boolean refused, long nanos) {}

  private final TraceContext context;
  private final long parentSpan;
  private final Arrival arrival;
  private final long startEpochNanos;
  private final long startNanos;
  private final List<TracedDecision> decisions = new ArrayList<>(EXPECTED);
  private final List<TracedLeg> legs = new ArrayList<>(EXPECTED);
  private boolean resumes;
  private long admittedNanos = TracedLeg.NEVER;
  private @Nullable Contents contents;
  private long readNanos = TracedLeg.NEVER;
  private @Nullable Prompt prompt;
  private long preparedNanos = TracedLeg.NEVER;
  private long firstTokenNanos = TracedLeg.NEVER;
  private @Nullable End end;

  /**
   * A request that has arrived now.
   *
   * @param context of its span
   * @param parentSpan the client's span, 0 without one
   */
  TracedRequest(TraceContext context, long parentSpan, Arrival arrival, long startEpochNanos, long startNanos) {
    this.context = context;
    this.parentSpan = parentSpan;
    this.arrival = arrival;
    this.startEpochNanos = startEpochNanos;
    this.startNanos = startNanos;
  }

  /** The context of the request's own span. */
  public TraceContext context() {
    return context;
  }

  /** Whether the client's own context goes on with it; without, its vendors' part is meaningless. */
  public boolean isContinued() {
    return parentSpan != 0;
  }

  /** Its caller's limits have room for it. */
  public void admitted(long nanos) {
    admittedNanos = nanos;
  }

  /** It has been read. */
  public void read(Contents request, long nanos) {
    contents = request;
    readNanos = nanos;
  }

  /** Its prompt is prepared. */
  public void prepared(Prompt ready, long nanos) {
    prompt = ready;
    preparedNanos = nanos;
  }

  /** The client gets its first token. */
  public void firstToken(long nanos) {
    firstTokenNanos = nanos;
  }

  /** Cells have decided. */
  public synchronized void decided(TracedDecision decision) {
    if (decisions.size() < MAX_PARTS) {
      decisions.add(decision);
    }
  }

  /** The legs from here on go on with an answer that was cut. */
  public synchronized void resumes() {
    resumes = true;
  }

  /**
   * A request goes to a worker.
   *
   * @param kind {@link TracedLeg#SERVE}, or the name of its step: a hedge and a resumption are known here
   * @param tries how many workers the request was sent to, this one included
   */
  public synchronized TracedLeg leg(String kind, TracedLeg.Target target, int tries, long nanos) {
    boolean serves = kind.equals(TracedLeg.SERVE);
    String known = serves && isServed() ? TracedLeg.HEDGE : serves && resumes ? TracedLeg.RESUME : kind;
    TracedLeg leg = new TracedLeg(context.with(TraceContext.newSpan()), known, target, tries, nanos);
    if (legs.size() < MAX_PARTS) {
      legs.add(leg);
    }
    return leg;
  }

  /** Whether a leg is open that is the whole request. */
  private boolean isServed() {
    for (TracedLeg leg : legs) {
      if (leg.isOpen() && leg.kind().equals(TracedLeg.SERVE)) {
        return true;
      }
    }
    return false;
  }

  void ended(End reached) {
    end = reached;
  }

  /** Nanoseconds from its arrival to its first token, or to its end where it did not stream; of one that has ended. */
  long waitNanos() {
    long until = firstTokenNanos != TracedLeg.NEVER ? firstTokenNanos : end == null ? startNanos : end.nanos();
    return until - startNanos;
  }

  /** Whether a worker failed it, though another may have answered. */
  synchronized boolean hasFailedLeg() {
    for (TracedLeg leg : legs) {
      if (leg.error() != null) {
        return true;
      }
    }
    return false;
  }

  /** How many spans it makes, about. */
  synchronized int size() {
    return 1 + (contents == null ? 0 : 1) + (prompt == null ? 0 : 1) + decisions.size() + legs.size();
  }

  /** A reading of the request's clock in nanoseconds since 1970. */
  long epochNanos(long nanos) {
    return startEpochNanos + (nanos - startNanos);
  }

  synchronized List<TracedDecision> decisions() {
    return List.copyOf(decisions);
  }

  synchronized List<TracedLeg> legs() {
    return List.copyOf(legs);
  }

  long parentSpan() {
    return parentSpan;
  }

  Arrival arrival() {
    return arrival;
  }

  long startNanos() {
    return startNanos;
  }

  long admittedNanos() {
    return admittedNanos;
  }

  @Nullable Contents contents() {
    return contents;
  }

  long readNanos() {
    return readNanos;
  }

  @Nullable Prompt prompt() {
    return prompt;
  }

  long preparedNanos() {
    return preparedNanos;
  }

  @Nullable End end() {
    return end;
  }
}
