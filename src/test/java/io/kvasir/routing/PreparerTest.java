package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.ConfigFactory;
import io.kvasir.index.Chain;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Preparers: the slots they fill, the transfer of slots to the cell, and lookups that fail or are late. */
final class PreparerTest {
  private static final Slot<String> ANSWER = Slot.of("answer", String.class);

  private final Routing routing = new Routing(11);

  @Test
  void hashKey_takesTheFirstThatTheRequestHas() {
    String from = "[ \"header:X-Key\", \"field:a.b\", tenant, session, prefix ]";

    long nothing = key(from, TestFacts.of(Map.of()), "", Chain.EMPTY);
    long prefix = key(from, TestFacts.of(Map.of()), "", chain(1, 2, 3));
    long session = key(from, TestFacts.of(Map.of()), "s", chain(1, 2, 3));
    long tenant = key(from, TestFacts.of(Map.of("tenant", "t")), "s", chain(1, 2, 3));
    long field = key(from, TestFacts.of(Map.of("tenant", "t", "a.b", "f")), "s", chain(1, 2, 3));
    long header = key(from, TestFacts.of(Map.of("tenant", "t", "a.b", "f", "X-Key", "h")), "s", chain(1, 2, 3));

    assertThat(nothing).isEqualTo(Slots.NO_KEY);
    assertThat(Set.of(prefix, session, tenant, field, header, nothing)).hasSize(6);
    assertThat(key("[ prefix ]", RequestFacts.NONE, "", chain(1, 2, 9))).isEqualTo(prefix);
    assertThat(key("[ session ]", RequestFacts.NONE, "s", Chain.EMPTY)).isEqualTo(session);
  }

  @Test
  void hashKey_ofWhatIsNoSource_isRefused() {
    assertThatThrownBy(() -> preparer("hash-key", "from = [ \"header:\" ]"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("\"header:\"");
  }

  @Test
  void location_isTheClientsWhereItSaysSo_elseTheNodes() {
    String parameters = "region = eu, zone = a, zone-header = X-Zone, host-header = X-Host";
    RoutingContext silent = Routing.request(1, 16, 20).put(Slots.FACTS, RequestFacts.NONE);
    RoutingContext withHeaders =
        Routing.request(1, 16, 20).put(Slots.FACTS, TestFacts.of(Map.of("X-Zone", "b", "X-Host", "h")));

    preparer("location", parameters).prepare(silent);
    preparer("location", parameters).prepare(withHeaders);

    assertThat(silent.get(Slots.LOCATION)).isEqualTo(new Location("eu", "a", ""));
    assertThat(withHeaders.get(Slots.LOCATION)).isEqualTo(new Location("eu", "b", "h"));
  }

  @Test
  void prepare_crossesOnlyWhatIsAskedForLater() {
    Profile byKey =
        profile("prepare = [ tokenize, block-hash, session-key, hash-key ], pick = consistent-hash");
    Profile bySession =
        profile("prepare = [ tokenize, block-hash, session-key ], score = session-affinity, pick = max-score");
    Profile byNothing = profile("prepare = [ tokenize, block-hash, session-key, hash-key ], pick = random");

    RequestFacts facts = TestFacts.of(Map.of("X-Session-ID", "s"));
    assertThat(byKey.prepare(arrived(facts)).numbers()).containsOnlyKeys("hash-key");
    assertThat(byKey.prepare(arrived(facts)).texts()).isEmpty();
    assertThat(bySession.prepare(arrived(facts))).isEqualTo(new PreparedSlots(Map.of("session-key", "s"), null, null));
    assertThat(byKey.preparesOnArrival()).isTrue();
    assertThat(byNothing.preparesOnArrival()).isFalse();
  }

  /** Only slots that later stages read are transferred; at the cell's home the preparer must not run again. */
  @Test
  void select_preparedElsewhere_isNotPreparedAgain() {
    String mine =
        """
        mine {
          prepare = [ tokenize, block-hash, client-wishes ]
          filter = [ role, model, excluded, { plugin = allow-list, from-client = true } ]
          pick = random
          execute = forward
        }
        """;
    Profile profile = Objects.requireNonNull(routing.compile(mine).get("mine"));
    PreparedSlots prepared = profile.prepare(arrived(TestFacts.of(Map.of("X-Router-Allow", "w2"))));
    RoutingContext atHome = Routing.request(3, 16, 50);
    prepared.restoreInto(atHome);

    Selection selection = routing.selector("mine", mine).select(TestFleet.of(4), atHome);

    assertThat(((Selection.Chosen) selection).worker().id()).isEqualTo("w2");
  }

  @Test
  void into_restoresWhatCrossed_andLeavesOutWhatNobodyKnows() {
    RoutingContext context = Routing.request("m", Role.BOTH, Set.of());

    new PreparedSlots(Map.of("session-key", "s", "of-a-later-version", "x"), Map.of("hash-key", 7L, "chain", 3L), null)
        .restoreInto(context);

    assertThat(context.get(Slots.SESSION_KEY)).isEqualTo("s");
    assertThat(context.number(Slots.HASH_KEY)).isEqualTo(7);
    assertThat(context.has(Slots.CHAIN)).isFalse();
  }

  @Test
  void lookUp_inTime_givesTheAnswer() {
    RoutingContext context = prepared(lookUp(_ -> CompletableFuture.completedFuture("yes")));

    assertThat(context.get(ANSWER)).isEqualTo("yes");
    assertThat(context.missedLookups()).isZero();
  }

  @Test
  void lookUp_tooLate_goesOnWithTheStatedAnswerAndCancels() {
    CompletableFuture<String> never = new CompletableFuture<>();

    RoutingContext context = prepared(lookUp(_ -> never));

    assertThat(context.get(ANSWER)).isEqualTo("too late");
    assertThat(context.missedLookups()).isEqualTo(1);
    assertThat(never).isCancelled();
  }

  @Test
  void lookUp_thatFails_goesOnWithTheStatedAnswer() {
    RoutingContext failed = prepared(lookUp(_ -> CompletableFuture.failedFuture(new IllegalStateException("no"))));
    RoutingContext thrown =
        prepared(lookUp(_ -> {
          throw new IllegalStateException("no");
        }));

    assertThat(failed.get(ANSWER)).isEqualTo("too late");
    assertThat(thrown.get(ANSWER)).isEqualTo("too late");
  }

  @Test
  void lookUp_atTheHomeOfARequestThatWasNotPrepared_doesNotAsk() {
    RoutingContext context = Routing.request("m", Role.BOTH, Set.of());

    lookUp(_ -> {
      throw new AssertionError("asked");
    }).prepareWithoutWaiting(context);

    assertThat(context.get(ANSWER)).isEqualTo("too late");
  }

  private static AsyncPreparer<String> lookUp(Function<RoutingContext, CompletableFuture<String>> question) {
    return new AsyncPreparer<>(ANSWER, Set.of(), Duration.ofMillis(20), "too late", question);
  }

  private static RoutingContext prepared(Preparer preparer) {
    RoutingContext context = Routing.request("m", Role.BOTH, Set.of());
    preparer.prepare(context);
    return context;
  }

  private Profile profile(String stages) {
    return Objects.requireNonNull(
        routing.compile("mine { filter = [ role, model, excluded ], execute = forward, " + stages + " }").get("mine"));
  }

  private static RoutingContext arrived(RequestFacts facts) {
    return Routing.request(3, 16, 50).put(Slots.FACTS, facts);
  }

  private static long key(String from, RequestFacts facts, String session, Chain chain) {
    RoutingContext context =
        Routing.request("m", Role.BOTH, Set.of())
            .put(Slots.FACTS, facts)
            .put(Slots.SESSION_KEY, session)
            .put(Slots.CHAIN, chain);
    preparer("hash-key", "from = " + from).prepare(context);
    return context.number(Slots.HASH_KEY);
  }

  private static Preparer preparer(String name, String parameters) {
    PluginType<?> type =
        Objects.requireNonNull(
            BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths()).find(Stage.PREPARE, name));
    return (Preparer) type.make().apply(new Parameters(ConfigFactory.parseString(parameters).root(), null));
  }

  private static Chain chain(long... hashes) {
    return new Chain(hashes, 16);
  }
}
