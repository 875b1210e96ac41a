package io.kvasir.cell.ledger;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Outcome;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Outcomes as they cross the cluster. */
final class WireOutcomeTest {
  static Stream<Outcome> outcomes() {
    return Stream.of(
        new Outcome.Completed(1, 2, 3, 4),
        new Outcome.Cancelled(),
        new Outcome.Preempted(),
        new Outcome.Refused(503),
        new Outcome.Failed(false, "status 500"),
        new Outcome.Failed(true, "reset"),
        new Outcome.UnknownModel(404, "m"));
  }

  @ParameterizedTest
  @MethodSource("outcomes")
  void outcome_arrivesAsItWasSent(Outcome outcome) {
    assertThat(ReservationEvent.closed(1, outcome).finalOutcome()).isEqualTo(outcome);
  }

  @Test
  void preempted_isCancelledToNodesOfEarlierVersions() {
    assertThat(WireOutcome.of(new Outcome.Preempted()).kind()).isEqualTo(WireOutcome.Kind.CANCELLED);
  }
}
