package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.routing.Selection.Chosen;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Profiles that leave decisions to others. */
final class OtherwiseTest {
  private static final String PROFILES =
      """
      oracle {
        prepare = [ tokenize, block-hash ]
        filter = [ role, model, excluded, concurrency-limit ]
        score = oracle
        pick = max-score
        execute = forward
        otherwise = second
      }
      second {
        prepare = [ tokenize, block-hash, session-key ]
        filter = [ role, model, excluded, concurrency-limit ]
        score = [ oracle, session-affinity ]
        pick = max-score
        execute = forward
        otherwise = least-loaded
      }
      """;

  private final Routing routing = new Routing(7);
  private boolean knows;

  /** Likes the highest slot, while it knows anything. */
  private final class Oracle implements Scorer {
    @Override
    public void score(RoutingContext context, Candidates candidates, double[] out) {
      for (int slot = 0; slot < candidates.slots(); slot++) {
        out[slot] = slot;
      }
    }

    @Override
    public boolean hasInputs(RoutingContext context, Candidates candidates) {
      return knows;
    }

    @Override
    public Direction direction() {
      return Direction.HIGHER;
    }
  }

  private Map<String, Profile> compile(String profiles) {
    return routing
        .compiler(PluginType.scorer("oracle", p -> new Oracle()))
        .compile(Routing.config(profiles));
  }

  private Selector selector(String profiles) {
    Profile profile = compile(profiles).get("oracle");
    if (profile == null) {
      throw new AssertionError("no profile");
    }
    return routing.selector(profile, System::nanoTime);
  }

  @Test
  void select_scorerThatDoesNotKnow_leavesTheDecisionToTheNextThatDoes() {
    Selector selector = selector(PROFILES);
    TestFleet fleet = TestFleet.of(3);
    fleet.inFlight[0] = 1;
    fleet.inFlight[2] = 1;

    Chosen without = (Chosen) selector.select(fleet, Routing.request(2, 16, 40));
    knows = true;
    Chosen with = (Chosen) selector.select(fleet, Routing.request(2, 16, 40));

    assertThat(without.worker().id()).isEqualTo("w1");
    assertThat(without.reason()).startsWith("least-loaded; ");
    assertThat(with.worker().id()).isEqualTo("w2");
    assertThat(with.reason()).startsWith("oracle; ");
    assertThat(fleet.booked).hasSize(2);
    assertThat(left()).containsExactlyInAnyOrder("oracle to second 1", "second to least-loaded 1");
  }

  @Test
  void explain_tellsOfTheProfileThatDecides() {
    Explanation explanation = selector(PROFILES).explain(TestFleet.of(2), Routing.request(2, 16, 40));

    assertThat(explanation.profile()).isEqualTo("least-loaded");
    assertThat(explanation.candidates().getFirst().scores())
        .singleElement()
        .returns("least-load", Explanation.Score::scorer);
    assertThat(left()).isEmpty();
  }

  @Test
  void select_sampled_logsTheDecisionOnce() {
    List<Explanation> log = new ArrayList<>();

    selector(PROFILES).select(TestFleet.of(2), Routing.request(2, 16, 40), log::add);

    assertThat(log).singleElement().returns("least-loaded", Explanation::profile);
  }

  @Test
  void select_withoutOtherwise_scoresAllTheSame() {
    Chosen chosen =
        (Chosen) selector(PROFILES + "oracle.otherwise = null").select(TestFleet.of(3), Routing.request(2, 16, 40));

    assertThat(chosen.worker().id()).isEqualTo("w2");
  }

  @Test
  void prepare_fillsWhatTheOthersRead() {
    Profile profile = compile(PROFILES).get("oracle");
    if (profile == null) {
      throw new AssertionError("no profile");
    }
    RoutingContext context = Routing.request(2, 16, 40).put(Slots.FACTS, TestFacts.of(Map.of("X-Session-ID", "s")));

    assertThat(profile.preparesOnArrival()).isTrue();
    assertThat(profile.prepare(context).texts()).containsEntry("session-key", "s");
  }

  @Test
  void compile_otherwise_isAProfileThatStands() {
    assertThat(compile(PROFILES + "oracle.otherwise = { prepare = [ tokenize, block-hash ], pick = random,"
            + " execute = forward, filter = [ role, model, excluded ] }"))
        .hasEntrySatisfying(
            "oracle",
            profile -> assertThat(profile.reachableProfiles().map(Profile::name))
                .containsExactly("oracle", "oracle.otherwise"));
    assertThatThrownBy(() -> compile(PROFILES + "second.otherwise = oracle"))
        .hasMessageContaining("delegates its decisions in the end to itself, by way of oracle, second");
    assertThatThrownBy(() -> compile(PROFILES + "second.otherwise = powr-of-two"))
        .hasMessageContaining("there is no profile \"powr-of-two\"")
        .hasMessageContaining("did you mean \"power-of-two\"");
    assertThatThrownBy(() -> compile(PROFILES + "second.otherwise = prefill-decode"))
        .hasMessageContaining("profile \"prefill-decode\" has a workflow itself");
  }

  @Test
  void compile_otherwiseOfAStepThatHasToPair_hasToPairToo() {
    assertThatThrownBy(
            () ->
                compile(
                    "prefill-decode { workflow { prefill { otherwise = power-of-two } } }"))
        .hasMessageContaining("does not filter by pair (profile \"power-of-two\")");
  }

  @Test
  void reload_otherwiseThatChanged_changesTheProfile() {
    LiveProfiles live = live(PROFILES);

    LiveProfiles.Change change = live.replace(live(PROFILES + "least-loaded.score.by = kv").current());

    assertThat(change.changed()).containsExactlyInAnyOrder("oracle", "second", "least-loaded");
  }

  private LiveProfiles live(String profiles) {
    SequencedMap<String, Profile> all = new TreeMap<>(compile(profiles));
    return new LiveProfiles(new Profiles(all, ProfileChoice.always("oracle", true)));
  }

  private Set<String> left() {
    Set<String> left = new TreeSet<>();
    routing.registry.scrape(name -> name.equals("kvasir_routing_left")).forEach(snapshot ->
        ((CounterSnapshot) snapshot)
            .getDataPoints()
            .forEach(
                point ->
                    left.add(
                        point.getLabels().get("profile") + " to " + point.getLabels().get("to") + " "
                            + Math.round(point.getValue()))));
    return left;
  }
}
