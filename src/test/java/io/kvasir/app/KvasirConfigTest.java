package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KvasirConfigTest {
  @TempDir private Path directory = Path.of("");

  @Test
  void load_empty_isTheDefaults() throws Exception {
    KvasirConfig config = KvasirConfig.load(write(""));
    assertThat(config.gateway().port()).isEqualTo(8080);
    assertThat(config.management().port()).isEqualTo(7626);
    assertThat(config.routing().standard()).isEqualTo("expected-cost");
    assertThat(config.routing().profiles())
        .containsKeys("expected-cost", "prefix-aware", "least-loaded", "round-robin", "random");
    assertThat(config.pods()).isEmpty();
  }

  @Test
  void load_fiveFaults_allReportedWithTheirLines() throws Exception {
    List<Fault> faults =
        faults(
            """
            kvasir {
              gateway.port = 99999
              gateway.max-bdy = 1 MiB
              routing.profile = "expected-costs"
              cell.slots = 100
              pods = [{ name = "a", url = "ftp://x", models = ["m"] }]
            }
            """);
    assertThat(faults)
        .extracting(Fault::path)
        .containsExactlyInAnyOrder(
            "kvasir.gateway.port",
            "kvasir.gateway.max-bdy",
            "kvasir.routing.profile",
            "kvasir.cell.slots",
            "kvasir.pods[0].url");
    assertThat(faults).extracting(Fault::place).allMatch(place -> place.matches(".*test\\.conf:[2-6]"));
    assertThat(faults)
        .filteredOn(fault -> fault.path().endsWith("max-bdy"))
        .singleElement()
        .extracting(Fault::problem)
        .asString()
        .contains("did you mean 'max-body'");
  }

  @Test
  void load_podWithoutNameAndModels_saysBoth() throws Exception {
    assertThat(faults("kvasir.pods = [{ url = \"http://h:1\" }]"))
        .extracting(Fault::path)
        .containsExactlyInAnyOrder("kvasir.pods[0].name", "kvasir.pods[0].models");
  }

  @Test
  void load_podsOfTheSameName_isAFault() throws Exception {
    assertThat(
            faults(
                """
                kvasir.pods = [
                  { name = a, url = "http://h:1", models = [m] }
                  { name = a, url = "http://h:2", models = [m] }
                ]
                """))
        .singleElement()
        .extracting(Fault::path)
        .isEqualTo("kvasir.pods[1].name");
  }

  @Test
  void load_pod_isLaidOverTheDefaults() throws Exception {
    KvasirConfig config =
        KvasirConfig.load(
            write(
                """
                kvasir {
                  models = [{ name = m, directory = "bundled:kvasir-demo", block-size = 32 }]
                  pod-defaults.max-in-flight = 7
                  pods = [{ name = a, url = "http://h:1/", models = [m], events.endpoint = "tcp://h:5557" }]
                }
                """));
    assertThat(config.pods())
        .singleElement()
        .satisfies(
            pod -> {
              assertThat(pod.blockSize()).isEqualTo(32);
              assertThat(pod.maxInFlight()).isEqualTo(7);
              assertThat(pod.url()).hasToString("http://h:1");
              assertThat(pod.events()).isNotNull();
            });
  }

  @Test
  void load_seedNodesWithoutAPort_isAFault() throws Exception {
    assertThat(faults("kvasir.cluster.seed-nodes = [\"127.0.0.1:7355\", \"nonsense\"]"))
        .extracting(Fault::path)
        .containsExactlyInAnyOrder("kvasir.cluster.port", "kvasir.cluster.seed-nodes");
  }

  @Test
  void load_notHocon_saysWhere() throws Exception {
    assertThat(faults("kvasir { gateway {"))
        .singleElement()
        .extracting(Fault::problem)
        .asString()
        .contains("test.conf");
  }

  @Test
  void load_noFile_saysSo() {
    ConfigException thrown =
        catchThrowableOfType(ConfigException.class, () -> KvasirConfig.load(directory.resolve("none.conf")));
    assertThat(thrown).hasMessageContaining("none.conf");
  }

  @Test
  void load_faultyProfile_isReportedBesideTheRest() throws Exception {
    assertThat(
            faults(
                """
                kvasir {
                  gateway.port = -1
                  routing.profiles.mine { scorers = [{ plugin = "expected-cots" }] }
                }
                """))
        .extracting(Fault::path)
        .contains("kvasir.gateway.port", "kvasir.routing.profiles.mine");
  }

  private List<Fault> faults(String text) throws IOException {
    Path file = write(text);
    return catchThrowableOfType(ConfigException.class, () -> KvasirConfig.load(file)).faults();
  }

  private Path write(String text) throws IOException {
    return Files.writeString(directory.resolve("test.conf"), text);
  }
}
