package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.routing.Explanation.Candidate;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.Selection.None;
import io.kvasir.telemetry.TestMetrics;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class ExplanationTest {
  private final Routing routing = new Routing(12);

  @Test
  void explain_tellsWhoWasRemovedByWhatAndHowTheOthersScored() {
    TestFleet fleet =
        new TestFleet(
            TestFleet.worker(0, Role.PREFILL, Set.of("m"), 9, ""),
            TestFleet.worker(1, Role.BOTH, Set.of("other"), 9, ""),
            TestFleet.worker(2, Role.BOTH, Set.of("m"), 9, ""),
            TestFleet.worker(3, Role.BOTH, Set.of("m"), 9, ""),
            TestFleet.worker(4, Role.BOTH, Set.of("m"), 9, ""));
    fleet.inFlight[2] = 9;
    fleet.depth[3] = 5;
    fleet.waiting[3] = 4;
    fleet.kvUse[3] = 0.5;
    fleet.evictionLoss[3] = 0.25;
    fleet.alive[4] = false;
    RoutingContext request = Routing.request(10, 16, 170);

    Explanation explanation = routing.selector("expected-cost").explain(fleet, request);

    assertThat(explanation.profile()).isEqualTo("expected-cost");
    assertThat(explanation.promptTokens()).isEqualTo(170);
    assertThat(explanation.blocks()).isEqualTo(10);
    assertThat(explanation.candidates()).hasSize(4);
    assertThat(explanation.candidates().stream().limit(3).map(Candidate::removedBy))
        .containsExactly("role", "model", "concurrency-limit");
    Candidate left = explanation.candidates().getLast();
    assertThat(left.removedBy()).isNull();
    assertThat(left.depth()).isEqualTo(5);
    assertThat(left.waiting()).isEqualTo(4);
    assertThat(left.kvUse()).isEqualTo(0.5);
    assertThat(left.evictionLoss()).isEqualTo(0.25);
    assertThat(left.scores()).hasSize(1);
    assertThat(left.scores().getFirst().scorer()).isEqualTo("expected-cost");
    assertThat(left.scores().getFirst().raw()).isPositive();
    assertThat(left.total()).isEqualTo(-left.scores().getFirst().raw());
  }

  @Test
  void explain_booksNothing() {
    TestFleet fleet = TestFleet.of(3);

    Explanation explanation = routing.selector("round-robin").explain(fleet, Routing.request(1, 16, 20));

    assertThat(explanation.selection()).isInstanceOf(Chosen.class);
    assertThat(fleet.booked).isEmpty();
  }

  @Test
  void explain_nobodyLeft_stillTellsWhatRemovedThem() {
    TestFleet fleet = TestFleet.of(2);

    Explanation explanation =
        routing.selector("expected-cost").explain(fleet, Routing.request("m", Role.ENCODE, Set.of()));

    assertThat(explanation.selection())
        .isEqualTo(new None(UnmetNeed.ROLE, "none of 2 live workers has the role asked for, encode: they have both"));
    assertThat(explanation.candidates()).extracting(Candidate::removedBy).containsOnly("role");
  }

  @Test
  void select_withALog_choosesAndTells() {
    TestFleet fleet = TestFleet.of(3);
    List<Explanation> log = new ArrayList<>();

    Selection selection = routing.selector("random").select(fleet, Routing.request(1, 16, 20), log::add);

    assertThat(log).singleElement().extracting(Explanation::selection).isEqualTo(selection);
    assertThat(fleet.booked).hasSize(1);
  }

  @Test
  void metrics_countDecisionsByOutcome() {
    TestFleet fleet = TestFleet.of(1);
    fleet.inFlight[0] = 98;
    Selector selector = routing.selector("least-loaded");
    for (int i = 0; i < 5; i++) {
      selector.select(fleet, Routing.request(1, 16, 20));
    }

    assertThat(decisions("chosen")).isEqualTo(2);
    assertThat(decisions("no_room")).isEqualTo(3);
  }

  private double decisions(String outcome) {
    return TestMetrics.sum(routing.registry, "kvasir_routing_decisions", outcome);
  }
}
