package io.kvasir.cell.ledger;

import io.kvasir.cell.CachedTokens;
import io.kvasir.cell.Decision;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.cell.HitOutcome;
import io.kvasir.cell.Outcome;
import io.kvasir.telemetry.DecisionLog;
import io.kvasir.telemetry.DecisionOutcome;
import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The reservation of a decision that was recorded: its end is recorded, too. Thread-safe. */
public final class RecordedReservation extends WatchedReservation {
  private final DecisionLog log;
  private final String requestId;
  private final int promptTokens;
  private final Decision.Chosen chosen;
  private volatile boolean started;

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
