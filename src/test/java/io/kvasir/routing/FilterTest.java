package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.ConfigFactory;
import io.kvasir.routing.Selection.Chosen;
import io.kvasir.routing.Selection.None;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which workers the filters for labels and names leave. */
final class FilterTest {
  private final Routing routing = new Routing(12);

  private final TestFleet fleet =
      TestFleet.labelled(
          Map.of("tier", "gold", "gpu", "h100"),
          Map.of("tier", "gold", "gpu", "l4", "spot", "true"),
          Map.of("gpu", "h200"),
          Map.of());

  @ParameterizedTest
  @CsvSource(delimiter = '|', value = {
      "tier=gold                          | 0 1",
      "tier == gold, gpu=h100             | 0",
      "tier!=gold                         | 2 3",
      "gpu in (h100, h200)                | 0 2",
      "gpu notin (h100,h200)              | 1 3",
      "spot                               | 1",
      "gpu, !spot                         | 0 2",
      "gpu in (h100, l4), tier=gold,!spot | 0"})
  void labels_match_keepsThoseThatMatch(String match, String kept) {
    assertThat(left("{ plugin = labels, match = \"" + match + "\" }", request())).isEqualTo(slots(kept));
  }

  @ParameterizedTest
  @ValueSource(strings = {"=gold", "tier=gold=old", "gpu in h100", "a b", "tier=gold,,spot", "!"})
  void labels_whatIsNoSelector_isRefused(String match) {
    assertThatThrownBy(() -> plugin("labels", "match = \"" + match + "\""))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("is no condition on labels");
  }

  @Test
  void labels_fromClient_bothHaveToMatch() {
    String filter = "{ plugin = labels, match = gpu, from-client = true }";

    assertThat(left(filter, request())).isEqualTo(slots("0 1 2"));
    assertThat(left(filter, request().put(Slots.REQUIRED_LABELS, "tier!=gold"))).isEqualTo(slots("2"));
  }

  @Test
  void labels_nobodyMatches_saysWhatIsMissing() {
    Selector selector = selector("{ plugin = labels, match = \"tier=silver\" }");

    assertThat(selector.select(fleet, request()))
        .isInstanceOfSatisfying(
            None.class,
            none -> {
              assertThat(none.unmetNeed()).isEqualTo(UnmetNeed.ASKED_FOR);
              assertThat(none.detail())
                  .isEqualTo("none of 4 live workers is among those that profile and client ask for");
            });
  }

  @Test
  void labels_afterTheFleetChanged_looksAgain() {
    Selector selector = selector("{ plugin = labels, match = spot }");
    assertThat(slot(selector, fleet, request())).isEqualTo(1);

    TestFleet other = TestFleet.labelled(Map.of("spot", "x"), Map.of(), Map.of(), Map.of());

    assertThat(slot(selector, other, request())).isZero();
  }

  @Test
  void lists_keepOrRemoveWorkersAndPods() {
    assertThat(left("{ plugin = allow-list, workers = [ w0, pod1 ] }", request())).isEqualTo(slots("0 2 3"));
    assertThat(left("{ plugin = exclude-list, workers = [ w0, pod1 ] }", request())).isEqualTo(slots("1"));
  }

  @Test
  void lists_fromClient_whereItSaysSomething() {
    String allow = "{ plugin = allow-list, from-client = true }";
    String exclude = "{ plugin = exclude-list, from-client = true, workers = [ w1 ] }";

    assertThat(left(allow, request())).isEqualTo(slots("0 1 2 3"));
    assertThat(left(allow, request().put(Slots.ALLOWED_WORKERS, "w3, pod0"))).isEqualTo(slots("0 1 3"));
    assertThat(left(exclude, request().put(Slots.EXCLUDED_WORKERS, "w3"))).isEqualTo(slots("0 2"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"labels", "allow-list", "exclude-list"})
  void withoutAnythingToFilterBy_isRefused(String filter) {
    assertThatThrownBy(() -> plugin(filter, ""))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("from-client = true");
  }

  @Test
  void clientWishes_thatAreNone_areToldTheClient() {
    Preparer preparer = (Preparer) plugin("client-wishes", "");

    assertThatThrownBy(() -> preparer.prepare(arrived(Map.of("X-Router-Labels", "a b"))))
        .isInstanceOf(InvalidRoutingHintException.class)
        .hasMessageContaining("X-Router-Labels")
        .hasMessageContaining("'a b'");
    assertThatThrownBy(() -> preparer.prepare(arrived(Map.of("X-Router-Allow", "a".repeat(1025)))))
        .isInstanceOf(InvalidRoutingHintException.class)
        .hasMessageContaining("1025");
  }

  @Test
  void clientWishes_fillTheirSlots() {
    RoutingContext context = arrived(Map.of("X-Router-Labels", "tier=gold", "X-Not", "w1"));

    ((Preparer) plugin("client-wishes", "exclude-header = X-Not")).prepare(context);

    assertThat(context.get(Slots.REQUIRED_LABELS)).isEqualTo("tier=gold");
    assertThat(context.get(Slots.ALLOWED_WORKERS)).isEmpty();
    assertThat(context.get(Slots.EXCLUDED_WORKERS)).isEqualTo("w1");
  }

  /** Slots of the workers a filter leaves: those a random choice ever falls on. */
  private Set<Integer> left(String filter, RoutingContext request) {
    Explanation explanation = selector(filter).explain(fleet, request);
    Set<Integer> left = new HashSet<>();
    explanation.candidates().stream()
        .filter(candidate -> candidate.removedBy() == null)
        .forEach(candidate -> left.add(candidate.worker().slot()));
    return left;
  }

  private static int slot(Selector selector, TestFleet fleet, RoutingContext request) {
    return ((Chosen) selector.select(fleet, request)).slot();
  }

  private Selector selector(String filter) {
    return routing.picking("filter = [ role, model, excluded, " + filter + " ], pick = random");
  }

  private static Set<Integer> slots(String text) {
    return new HashSet<>(List.of(text.split(" ")).stream().map(Integer::valueOf).toList());
  }

  private static RoutingContext request() {
    return Routing.request(3, 16, 50);
  }

  private static RoutingContext arrived(Map<String, String> headers) {
    return request().put(Slots.FACTS, TestFacts.of(headers));
  }

  private static Plugin plugin(String name, String parameters) {
    PluginRegistry registry = BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths());
    PluginType<?> type = Objects.requireNonNull(registry.find(Objects.requireNonNull(registry.stageOf(name)), name));
    return type.make().apply(new Parameters(ConfigFactory.parseString(parameters).root(), null));
  }
}
