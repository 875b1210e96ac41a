package io.kvasir.locations;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.TestMembers;
import io.kvasir.locations.LocationMessage.Find;
import io.kvasir.locations.LocationMessage.Found;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.Behavior;
import org.apache.pekko.actor.typed.Props;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.actor.typed.receptionist.Receptionist;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What nodes of a cluster remember for each other, each with an actor system and sockets of its own. */
final class LocationsTest {
  private static final WorkerLocation HERE = new WorkerLocation("engine-1", "m", "acme");

  private record Node(
      ActorSystem<Void> system, StoredResponses stored, Sessions sessions, PrometheusRegistry metrics) {
    double lookups(String knownBy) {
      return TestMetrics.sum(metrics, "kvasir_stored_response_lookups", knownBy);
    }
  }

  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    nodes.forEach(node -> node.system().terminate());
  }

  @Test
  void everyNode_findsWhatAnyHasRelayed_alsoOnceThatIsDead() {
    for (int i = 0; i < 3; i++) {
      nodes.add(node());
    }
    nodes.forEach(node -> await(() -> node.stored().nodes() == 2));
    Node relaying = nodes.get(0);

    relaying.stored().remember("resp_1", HERE);
    awaitFound(nodes.get(1), "resp_1");
    relaying.stored().remember("resp_2", HERE);
    assertThat(relaying.stored().find("resp_2")).isEqualTo(HERE);
    assertThat(relaying.lookups("local")).isEqualTo(1);
    // A reply to a later message: what was sent before has arrived.
    assertThat(relaying.stored().find("resp_3")).isNull();
    assertThat(relaying.lookups("unknown")).isEqualTo(1);

    relaying.system().terminate();

    for (Node left : nodes.subList(1, 3)) {
      awaitFound(left, "resp_2");
      assertThat(left.stored().find("resp_3")).isNull();
    }
  }

  /** Where cores are busy, nodes may not answer in the time that a look-up has. */
  private static void awaitFound(Node node, String response) {
    await(() -> HERE.equals(node.stored().find(response)));
  }

  /** More nodes than remember a response: those that do not know it ask. */
  @Test
  void nodeThatDoesNotRemember_asksTheOthers() {
    for (int i = 0; i < 5; i++) {
      nodes.add(node());
    }
    nodes.forEach(node -> await(() -> node.stored().nodes() == 4));

    nodes.get(0).stored().remember("resp_1", HERE);

    for (Node node : nodes) {
      awaitFound(node, "resp_1");
      assertThat(node.stored().find("resp_1")).isEqualTo(HERE);
      assertThat(node.lookups("local")).isPositive();
    }
    // Two have been given it, and two have had to ask, if it had not reached those by then.
    assertThat(nodes.stream().mapToDouble(node -> node.lookups("peer")).sum()).isBetween(2.0, 4.0);
  }

  @Test
  void nodeAlone_knowsWhatItHasRelayed() {
    StoredResponses alone = StoredResponses.alone(new Metrics(new PrometheusRegistry()));

    alone.remember("resp_1", HERE);

    assertThat(alone.find("resp_1")).isEqualTo(HERE);
    assertThat(alone.find("resp_2")).isNull();
  }

  @Test
  void idThatNoEngineHas_isNotRemembered() {
    StoredResponses alone = StoredResponses.alone(new Metrics(new PrometheusRegistry()));
    String id = "r".repeat(100_000);

    alone.remember(id, HERE);

    assertThat(alone.find(id)).isNull();
  }

  @Test
  void session_thatMoves_isFoundWhereItWentLast_onEveryNode() {
    for (int i = 0; i < 5; i++) {
      nodes.add(node());
    }
    nodes.forEach(node -> await(() -> node.sessions().nodes() == 4));
    nodes.get(0).sessions().remember("s", "m", "engine-1");
    // Those that are to remember it are not waited for.
    for (Node node : nodes) {
      await(() -> "engine-1".equals(node.sessions().find("s")));
    }

    nodes.get(3).sessions().remember("s", "m", "engine-2");

    for (Node node : nodes) {
      await(() -> "engine-2".equals(node.sessions().find("s")));
    }
    assertThat(nodes.getFirst().sessions().find("t")).isNull();
  }

  /** Three nodes look for an id that nobody has, and the others a few times a second. */
  @Test
  void inventedIds_costLittle() {
    Node node = node();
    nodes.add(node);
    AtomicInteger queries = new AtomicInteger();
    others(node, 16, find -> {
      queries.incrementAndGet();
      find.replyTo().tell(new Found(null));
    });

    int ids = 0;
    while (node.lookups("unqueried") == 0) {
      assertThat(node.stored().find("resp_" + ++ids)).isNull();
    }

    assertThat(queries).hasValue(3 * ids + 13 * (ids - 1));
  }

  @Test
  void nodesThatDoNotAnswer_areLeftOutForAWhile() {
    Node node = node();
    nodes.add(node);
    AtomicInteger queries = new AtomicInteger();
    others(node, 3, _ -> queries.incrementAndGet());
    long begun = System.nanoTime();

    for (int id = 0; id < 100; id++) {
      assertThat(node.stored().find("resp_" + id)).isNull();
    }

    long pauses = (System.nanoTime() - begun) / 5_000_000_000L;
    assertThat(queries.get()).isBetween(3, (int) (3 * (1 + pauses)));
  }

  /** As when nodes have come since it was remembered. */
  @Test
  void response_thatOthersThanThoseThatShouldKnowRemember_isFound() {
    Node node = node();
    nodes.add(node);
    AtomicInteger queries = new AtomicInteger();
    others(node, 8, find ->
        find.replyTo().tell(new Found(queries.incrementAndGet() > 3 ? HERE : null)));

    assertThat(node.stored().find("resp_1")).isEqualTo(HERE);
    assertThat(node.lookups("peer")).isEqualTo(1);
    assertThat(node.stored().find("resp_1")).isEqualTo(HERE);
    assertThat(node.lookups("local")).isEqualTo(1);
  }

  /** Keepers of other nodes, as this one sees them. */
  private static void others(Node node, int count, Consumer<Find> found) {
    for (int i = 0; i < count; i++) {
      Behavior<LocationMessage> keeper = Behaviors.setup(context -> {
        context.getSystem().receptionist().tell(
            Receptionist.register(LocationKeeper.key(StoredResponses.KIND), context.getSelf()));
        return Behaviors.receiveMessage(message -> {
          if (message instanceof Find find) {
            found.accept(find);
          }
          return Behaviors.same();
        });
      });
      ActorRef<LocationMessage> _ = node.system().systemActorOf(keeper, "other-" + i, Props.empty());
    }
    await(() -> node.stored().nodes() == count);
  }

  private Node node() {
    ActorSystem<Void> system = TestMembers.start(nodes.isEmpty() ? null : nodes.getFirst().system());
    PrometheusRegistry registry = new PrometheusRegistry();
    Metrics metrics = new Metrics(registry);
    return new Node(system, StoredResponses.start(system, metrics), Sessions.start(system, metrics), registry);
  }
}
