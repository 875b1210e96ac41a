package io.kvasir.kubernetes;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Lists and watches against an API server over real HTTP, with the faults that such servers have. */
final class ObjectWatchTest {
  private static final ApiResource NEW = new ApiResource("new.test", "v1", "things");
  private static final ApiResource OLD = new ApiResource("old.test", "v1", "things");
  private static final ObjectWatch.Pace RARELY = new ObjectWatch.Pace(Duration.ofHours(1), Duration.ofMillis(10));

  private final FakeKubernetes kubernetes = new FakeKubernetes();
  private final List<AutoCloseable> opened = new ArrayList<>();
  private final Seen seen = new Seen();
  private Path token = Path.of("");

  ObjectWatchTest() throws Exception {
    kubernetes.install(Definition.of(NEW, "{}"));
    opened.add(kubernetes);
  }

  @BeforeEach
  void write(@TempDir Path directory) throws Exception {
    token = Files.writeString(directory.resolve("token"), "secret\n");
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable each : opened.reversed()) {
      each.close();
    }
  }

  @Test
  void manyObjects_areListedPageByPage_asOfOneVersion() throws Exception {
    for (int i = 0; i < 1201; i++) {
      put(NEW, "o" + i);
    }
    watch(RARELY, NEW);
    await(() -> seen.names.size() == 1201);
    assertThat(kubernetes.requests("list", NEW)).isEqualTo(3);
  }

  @Test
  void changes_areSeen_andOnlyOfSelectedObjects() throws Exception {
    kubernetes.put(NEW, object("a", "x"));
    kubernetes.put(NEW, object("b", "y"));
    opened.add(
        new ObjectWatch(connection(), List.of(new ObjectSelection(NEW, "n", "label=x")), RARELY, seen));
    await(() -> seen.has("a") && kubernetes.watches() == 1);
    kubernetes.put(NEW, object("b", "x"));
    await("an object that comes to match", () -> seen.has("a", "b"));
    kubernetes.put(NEW, object("a", "y"));
    await("an object that no longer matches", () -> seen.has("b"));
    kubernetes.delete(NEW, new ObjectKey("n", "b"));
    await(() -> seen.has());
    assertThat(kubernetes.requests("list", NEW)).isEqualTo(1);
  }

  @Test
  void watchThatIsCut_goesOnWhereItWas_withoutAList() throws Exception {
    watch(RARELY, NEW);
    await(() -> kubernetes.watches() == 1);
    kubernetes.cut();
    put(NEW, "a");
    await(() -> seen.has("a"));
    assertThat(kubernetes.requests("list", NEW)).isEqualTo(1);
    assertThat(seen.failures).isEmpty();
  }

  @Test
  void bookmark_sparesTheListWhenOlderVersionsExpire() throws Exception {
    watch(RARELY, NEW);
    await(() -> kubernetes.watches() == 1);
    kubernetes.forgetChanges();
    kubernetes.bookmark();
    kubernetes.cut();
    put(NEW, "a");
    await(() -> seen.has("a"));
    assertThat(kubernetes.requests("list", NEW)).isEqualTo(1);
  }

  @Test
  void versionThatIsTooOld_listsAnew() throws Exception {
    put(NEW, "a");
    watch(RARELY, NEW);
    await(() -> seen.has("a") && kubernetes.watches() == 1);
    kubernetes.loseDelete(NEW, new ObjectKey("n", "a"));
    kubernetes.expire();
    await(() -> seen.has());
    put(NEW, "b");
    await(() -> seen.has("b") && kubernetes.watches() == 1);
    kubernetes.loseDelete(NEW, new ObjectKey("n", "b"));
    kubernetes.expireInStream();
    kubernetes.expire();
    await("the same by an event of the watch", () -> seen.has());
    assertThat(seen.failures).as("versions expire in normal operation").isEmpty();
  }

  @Test
  void deletionThatAWatchLost_isFoundByTheNextList() throws Exception {
    put(NEW, "a");
    watch(new ObjectWatch.Pace(Duration.ofMillis(1100), Duration.ofMillis(10)), NEW);
    await(() -> seen.has("a"));
    kubernetes.loseDelete(NEW, new ObjectKey("n", "a"));
    await(() -> seen.has());
  }

  @Test
  void outage_keepsWhatIsKnown_andEndsByItself() throws Exception {
    put(NEW, "a");
    watch(RARELY, NEW);
    await(() -> seen.has("a") && kubernetes.watches() == 1);
    kubernetes.fail(503);
    await(() -> !seen.failures.isEmpty());
    assertThat(seen.failures.getFirst().reason()).contains("503");
    assertThat(seen.failures.getFirst().refused()).as("a refusal").isFalse();
    assertThat(seen.has("a")).isTrue();
    int updates = seen.updates.get();
    kubernetes.fail(0);
    await("word that the API answers again", () -> seen.updates.get() > updates);
    assertThat(kubernetes.requests("list", NEW)).as("the version is kept through the outage").isEqualTo(1);
  }

  @Test
  void slowWatch_deliversLate_andAllOfIt() throws Exception {
    watch(RARELY, NEW);
    await(() -> kubernetes.watches() == 1);
    kubernetes.hold();
    put(NEW, "a");
    put(NEW, "b");
    kubernetes.delete(NEW, new ObjectKey("n", "a"));
    kubernetes.release();
    await(() -> seen.has("b"));
  }

  @Test
  void rotatedToken_isReadAgain() throws Exception {
    watch(RARELY, NEW);
    await(() -> kubernetes.watches() == 1);
    kubernetes.revoke("secret");
    kubernetes.cut();
    await(() -> !seen.failures.isEmpty());
    assertThat(seen.failures.getFirst().reason()).contains("401", "token");
    kubernetes.user("fresh", "kvasir");
    Files.writeString(token, "fresh\n");
    put(NEW, "a");
    await(() -> seen.has("a"));
  }

  @Test
  void missingResource_isLookedForAgain_andTheOldGroupServesUntilTheNewIsThere() throws Exception {
    kubernetes.uninstall(NEW);
    ObjectWatch.Pace pace = new ObjectWatch.Pace(Duration.ofMillis(1100), Duration.ofMillis(10));
    watch(pace, NEW, OLD);
    await(() -> !seen.failures.isEmpty());
    assertThat(seen.failures.getFirst().missing()).isTrue();
    kubernetes.install(Definition.of(OLD, "{}"));
    put(OLD, "old");
    await(() -> seen.has("old"));
    assertThat(seen.selection).extracting(ObjectSelection::resource).isEqualTo(OLD);
    kubernetes.install(Definition.of(NEW, "{}"));
    put(NEW, "new");
    await(() -> seen.has("new"));
    assertThat(seen.selection).extracting(ObjectSelection::resource).isEqualTo(NEW);
  }

  @Test
  void listenerThatFails_isToldAgain_andDoesNotEndTheWatch() throws Exception {
    seen.broken = new StackOverflowError();
    put(NEW, "a");
    watch(RARELY, NEW);
    await(() -> seen.failures.size() > 2);
    assertThat(seen.failures.getFirst().reason()).contains("StackOverflowError");
    seen.broken = null;
    await(() -> seen.has("a"));
    put(NEW, "b");
    await(() -> seen.has("a", "b"));
    assertThat(kubernetes.requests("list", NEW)).isEqualTo(1);
  }

  private KubernetesConnection connection() {
    return kubernetes.connection(token);
  }

  private void watch(ObjectWatch.Pace pace, ApiResource... resources) {
    List<ObjectSelection> selections =
        Stream.of(resources).map(resource -> new ObjectSelection(resource, "n", "")).toList();
    opened.add(new ObjectWatch(connection(), selections, pace, seen));
  }

  private void put(ApiResource resource, String name) throws Exception {
    kubernetes.put(resource, object(name, "x"));
  }

  private static String object(String name, String label) {
    return """
        {"metadata": {"name": "%s", "namespace": "n", "labels": {"label": "%s"}, "managedFields": [{}]}, "future": [1]}
        """
        .formatted(name, label);
  }

  /** What a listener has seen. */
  private static final class Seen implements ObjectWatch.Listener {
    final List<ObjectWatch.Failure> failures = new CopyOnWriteArrayList<>();
    volatile Set<String> names = Set.of();
    final AtomicInteger updates = new AtomicInteger();
    volatile @Nullable ObjectSelection selection;
    /** What both methods throw; null for nothing. */
    volatile @Nullable Error broken;

    boolean has(String... expected) {
      return updates.get() > 0 && names.equals(new TreeSet<>(List.of(expected)));
    }

    @Override
    public void updated(ObjectSelection by, Map<ObjectKey, JsonNode> objects) {
      breakDown();
      Set<String> now = new TreeSet<>();
      objects.keySet().forEach(key -> now.add(key.name()));
      selection = by;
      names = now;
      updates.incrementAndGet();
    }

    @Override
    public void failed(ObjectWatch.Failure failure) {
      failures.add(failure);
      breakDown();
    }

    private void breakDown() {
      Error thrown = broken;
      if (thrown != null) {
        throw thrown;
      }
    }
  }
}
