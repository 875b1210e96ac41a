package io.kvasir.access.store;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.ConfigFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.pekko.actor.typed.ActorSystem;
import org.apache.pekko.actor.typed.javadsl.Behaviors;
import org.apache.pekko.cluster.typed.Cluster;
import org.apache.pekko.cluster.typed.Join;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Stores of several nodes in this process, over the cluster's own sockets. */
final class KeyStoreTest {
  private final List<ActorSystem<Void>> systems = new ArrayList<>();
  @TempDir private Path directory = Path.of("");

  /** A node's store and what it has announced; null before the first announcement. */
  private static final class StoreNode {
    private final ActorSystem<Void> system;
    private final KeyStore store;
    private volatile @Nullable Map<String, KeyChange> known;

    StoreNode(ActorSystem<Void> system, @Nullable Path file, boolean alone) throws IOException {
      this.system = system;
      this.store = KeyStore.start(system, file, alone, changes -> known = changes);
    }

    boolean disabled(String id) {
      KeyChange change = known == null ? null : known.get(id);
      return change != null && change.disabled();
    }

    boolean knows(String id) {
      return known != null && known.containsKey(id);
    }
  }

  @AfterEach
  void stop() throws Exception {
    systems.forEach(ActorSystem::terminate);
    for (ActorSystem<Void> system : systems) {
      system.getWhenTerminated().toCompletableFuture().get(60, TimeUnit.SECONDS);
    }
  }

  @Test
  void change_isKnownOnEveryNode_andToALaterOne() throws Exception {
    StoreNode first = new StoreNode(system(), null, false);
    StoreNode second = new StoreNode(system(), null, false);
    StoreNode third = new StoreNode(system(), null, false);
    assertThat(change(first, key("early"))).isEqualTo(ChangeResult.NOT_READY);
    List.of(first, second, third).forEach(node -> join(node, first));
    await("all to know each other", () -> Stream.of(first, second, third).allMatch(node -> node.known != null));

    assertThat(change(first, key("a"))).isEqualTo(ChangeResult.DONE);
    await("the others to know", () -> second.knows("a") && third.knows("a"));
    assertThat(change(second, key("a").withDisabled(true, 2))).isEqualTo(ChangeResult.DONE);
    await("all to refuse it", () -> Stream.of(first, second, third).allMatch(node -> node.disabled("a")));

    StoreNode later = new StoreNode(system(), null, false);
    assertThat(later.known).isNull();
    join(later, second);
    await("the joining node to be ready", () -> later.known != null);
    assertThat(later.disabled("a")).as("what it knows when it begins to accept keys").isTrue();
  }

  @Test
  void changes_surviveARestart_inAFileOfTheOwnersAlone() throws Exception {
    Path file = directory.resolve("keys.json");
    StoreNode node = new StoreNode(system(), file, true);
    join(node, node);
    assertThat(change(node, key("a"))).isEqualTo(ChangeResult.DONE);
    assertThat(change(node, key("b").withDisabled(true, 5))).isEqualTo(ChangeResult.DONE);
    node.system.terminate();
    node.system.getWhenTerminated().toCompletableFuture().get(60, TimeUnit.SECONDS);

    assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file))).isEqualTo("rw-------");
    try (Stream<Path> files = Files.list(directory)) {
      assertThat(files).containsExactly(file);
    }
    StoreNode restarted = new StoreNode(system(), file, true);
    assertThat(restarted.known).isEqualTo(Map.of("a", key("a"), "b", key("b").withDisabled(true, 5)));
    join(restarted, restarted);
    StoreNode other = new StoreNode(system(), null, false);
    join(other, restarted);
    await("the other node to know what the file has", () -> other.knows("a") && other.disabled("b"));
  }

  @Test
  void fileThatIsNoStore_isNotOverwritten() throws Exception {
    Path file = Files.writeString(directory.resolve("keys.json"), "{\"version\": 9, \"keys\": []}");
    assertThatThrownBy(() -> new StoreNode(system(), file, true)).hasMessageContaining("keys.json");
    Files.writeString(file, "{\"keys\": [{\"id");
    assertThatThrownBy(() -> new StoreNode(system(), file, true)).hasMessageContaining("keys.json");
    assertThat(file).hasContent("{\"keys\": [{\"id");
  }

  @Test
  void fileThatCannotBeWritten_isReported_andTheChangeHolds() throws Exception {
    Path file = directory.resolve("removed/keys.json");
    Files.createDirectory(file.getParent());
    StoreNode node = new StoreNode(system(), file, true);
    join(node, node);
    Files.delete(file.getParent());
    assertThat(change(node, key("a"))).isEqualTo(ChangeResult.DONE);
    assertThat(node.knows("a")).isTrue();
    assertThat(node.store.fileFault()).hasValueSatisfying(fault -> assertThat(fault).contains("keys.json"));
    Files.createDirectory(file.getParent());
    assertThat(change(node, key("b"))).isEqualTo(ChangeResult.DONE);
    assertThat(node.store.fileFault()).isEmpty();
  }

  /** Ids of one bucket: nodes send a bucket to each other in one message, whose length is limited. */
  @Test
  void moreThanAMessageHolds_isRefused() throws Exception {
    StoreNode node = new StoreNode(system(), null, true);
    join(node, node);
    String entry = "x".repeat(20_000);
    List<ChangeResult> results = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      // Strings of "Aa" and "BB" have the same hash.
      String id = Integer.toBinaryString(16 + i).replace("0", "Aa").replace("1", "BB");
      results.add(change(node, KeyChange.of(id).withEntry(entry, 1)));
    }
    assertThat(results.subList(0, 8)).containsOnly(ChangeResult.DONE);
    assertThat(results.subList(8, 10)).containsOnly(ChangeResult.FULL);
    assertThat(node.known).hasSize(8);
    assertThat(change(node, KeyChange.of("another").withEntry(entry, 1))).isEqualTo(ChangeResult.DONE);
  }

  private static KeyChange key(String id) {
    return KeyChange.of(id).withEntry("{\"id\":\"" + id + "\"}", 1);
  }

  private static ChangeResult change(StoreNode node, KeyChange change) throws Exception {
    return node.store.change(change).toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  private static void join(StoreNode node, StoreNode member) {
    Cluster.get(node.system).manager().tell(Join.create(Cluster.get(member.system).selfMember().address()));
  }

  private ActorSystem<Void> system() {
    ActorSystem<Void> system =
        ActorSystem.create(
            Behaviors.empty(),
            "kvasir",
            ConfigFactory.parseString("pekko.remote.artery.canonical { hostname = \"127.0.0.1\", port = 0 }")
                .withFallback(ConfigFactory.parseResources("platform.conf"))
                .withFallback(ConfigFactory.defaultReference())
                .resolve());
    systems.add(system);
    return system;
  }
}
