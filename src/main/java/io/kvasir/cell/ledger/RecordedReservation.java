package io.kvasir.cell.ledger;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.Outcome;
import io.kvasir.cell.PrefixHold;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionOutcome;
import java.time.Instant;
import java.util.Locale;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The reservation of a decision that was recorded: its end is recorded, too. Thread-safe. */
public final class RecordedReservation extends WatchedReservation {
  private static final long NEVER = -1;

  private final DecisionLog log;
  private final String requestId;
  private final int promptTokens;
  private final Decision.Chosen chosen;
  private volatile boolean started;

  /** When it was first seen to be held; {@link #NEVER} before. */
  private volatile long heldSince = NEVER;

  private volatile long heldNanos = NEVER;

  private RecordedReservation(DecisionLog log, DecisionRequest request, Decision.Chosen chosen) {
    super(chosen.reservation());
    this.log = log;
    this.requestId = request.requestId();
    this.promptTokens = request.prompt().tokens();
    this.chosen = chosen;
  }

  /** The same step, its end to be recorded. */
  public static Decision.Chosen of(Decision.Chosen chosen, DecisionRequest request, DecisionLog log) {
    return chosen.with(new RecordedReservation(log, request, chosen));
  }

  @Override
  public PrefixHold awaitEarlier(BooleanSupplier cancelled) {
    long begun = System.nanoTime();
    PrefixHold hold = super.awaitEarlier(cancelled);
    if (hold != PrefixHold.NONE) {
      heldNanos = System.nanoTime() - begun;
    }
    return hold;
  }

  @Override
  public PrefixHold prefixHold() {
    PrefixHold hold = super.prefixHold();
    if (hold == PrefixHold.HELD && heldSince == NEVER) {
      heldSince = System.nanoTime();
    } else if (hold != PrefixHold.HELD && heldSince != NEVER && heldNanos == NEVER) {
      heldNanos = System.nanoTime() - heldSince;
    }
    return hold;
  }

  @Override
  public void firstToken() {
    started = true;
    super.firstToken();
  }

  @Override
  void ended(Outcome outcome) {
    log.recordOutcome(record(outcome));
  }

  private DecisionOutcome record(Outcome outcome) {
    CachedTokens expected = chosen.cached();
    Outcome.Completed done = outcome instanceof Outcome.Completed completed ? completed : null;
    HitOutcome hits = hitOutcome();
    return new DecisionOutcome(
        Instant.now().toString(),
        requestId,
        chosen.step().name(),
        chosen.worker().id(),
        kind(outcome),
        heldNanos == NEVER ? null : heldNanos / 1e6,
        done != null && started ? done.ttftMicros() / 1e3 : null,
        done == null ? null : known(done.promptTokens()),
        expected.predicted(),
        expected.best(),
        expected.ever(),
        expected.regret(promptTokens),
        done == null ? null : known(done.cachedTokens()),
        hits == null ? null : hits.name().toLowerCase(Locale.ROOT),
        done == null ? null : known(done.outputTokens()));
  }

  private static String kind(Outcome outcome) {
    return outcome instanceof Outcome.Preempted
        ? "preempted"
        : WireOutcome.of(outcome).kind().name().toLowerCase(Locale.ROOT);
  }

  private static @Nullable Integer known(int tokens) {
    return tokens == Outcome.UNKNOWN ? null : tokens;
  }
}
