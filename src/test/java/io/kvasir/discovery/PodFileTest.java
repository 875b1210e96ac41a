package io.kvasir.discovery;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.Config;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSource;
import io.kvasir.cell.PodSpec;
import io.kvasir.execution.FakeCells;
import io.kvasir.routing.Role;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The pod source of a file, with real files. */
final class PodFileTest {
  @TempDir private Path directory = Path.of("");
  private final FakeCells cells = new FakeCells();
  private final SourceState state = new SourceState(PodSource.FILE, new Metrics(new PrometheusRegistry()));
  private final List<PodFile> opened = new ArrayList<>();

  @AfterEach
  void close() {
    opened.forEach(PodFile::close);
  }

  @Test
  void changes_areDeclared() throws Exception {
    write("pods = [{ name = a }]");
    start();
    await(() -> names().equals(List.of("a")));
    write("pods = [{ name = a }, { name = b, draining = true }]");
    await(() -> names().equals(List.of("a", "b draining")));
    write("pods = []");
    await(() -> names().isEmpty());
  }

  @Test
  void listAlone_inJson_isRead() throws Exception {
    write("[{\"name\": \"a\"}]");
    start();
    await(() -> names().equals(List.of("a")));
  }

  @Test
  void fileWithAFault_isRejectedWhole_andKnownPodsStay() throws Exception {
    write("pods = [{ name = a }]");
    start();
    await(() -> names().equals(List.of("a")));
    write("pods = [{ name = b }, { name = bad-1 }, { name = bad-2 }]");
    await(() -> state.problems().size() == 2);
    assertThat(state.problems()).extracting(Problem::what).containsExactly("bad-1 is bad", "bad-2 is bad");
    write("pods = [{ name = b }, { na");
    await(() -> state.problems().size() == 1 && state.problems().getFirst().what().contains("malformed"));
    write("");
    await(() -> state.problems().getFirst().what().contains("no list of pods"));
    Files.delete(directory.resolve("pods.conf"));
    await(() -> state.problems().getFirst().what().contains("does not exist"));
    assertThat(names()).containsExactly("a");
    write("pods = [{ name = b }]");
    await(() -> names().equals(List.of("b")) && state.problems().isEmpty());
  }

  @Test
  void rejectionByTheCells_isReported() throws Exception {
    cells.pods.refused = List.of("a pod named 'a' exists");
    write("pods = [{ name = a }]");
    start();
    await(() -> state.problems().stream().map(Problem::what).toList().equals(List.of("a pod named 'a' exists")));
  }

  private void start() {
    opened.add(
        new PodFile(directory.resolve("pods.conf"), Duration.ofMillis(5), PodFileTest::read, cells.pods, state));
  }

  /** As an editor does it: the file is there whole or not at all. */
  private void write(String text) throws IOException {
    Path next = directory.resolve("next");
    Files.writeString(next, text);
    Files.move(next, directory.resolve("pods.conf"), StandardCopyOption.REPLACE_EXISTING);
  }

  private List<String> names() {
    return cells.pods.declared.getOrDefault(PodSource.FILE, List.of()).stream()
        .map(pod -> pod.spec().name() + (pod.withheld() ? " draining" : ""))
        .toList();
  }

  private static List<DiscoveredPod> read(Config listed, Consumer<String> faults) {
    List<DiscoveredPod> pods = new ArrayList<>();
    for (Config pod : listed.getConfigList("pods")) {
      String name = pod.getString("name");
      if (name.startsWith("bad")) {
        faults.accept(name + " is bad");
      }
      pods.add(
          new DiscoveredPod(
              new PodSpec(
                  name, URI.create("http://h:1"), Role.BOTH, Set.of("m"), Map.of(),
                  new PodSpec.Engine("e", 1, 16, 8, 1), List.of(), null),
              pod.hasPath("draining")));
    }
    return pods;
  }
}
