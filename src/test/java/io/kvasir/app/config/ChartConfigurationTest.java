package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.Certificates;
import io.kvasir.app.config.KvasirConfig.NodeDiscovery;
import io.kvasir.pools.Pool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The configurations that the Helm chart renders, read as a node in a pod would read them: with the pod's address, its
 * Secrets where they are mounted, and the API within reach.
 */
final class ChartConfigurationTest {
  private static final long MIB = 1 << 20;

  @TempDir private static Path directory;
  private static final Map<String, KvasirConfig> READ = new HashMap<>();
  private static Certificates certificates;

  @BeforeAll
  static void certificates() throws Exception {
    certificates = new Certificates(directory).authority("ca").node("node", "ca").server("server", "ca");
  }

  static Stream<RenderedChart> charts() {
    return RenderedChart.all().rendered().values().stream();
  }

  @ParameterizedTest
  @MethodSource("charts")
  void configuration_isValid(RenderedChart chart) throws Exception {
    KvasirConfig config = read(chart);
    assertThat(config.cluster().discovery()).isEqualTo(NodeDiscovery.KUBERNETES);
    assertThat(config.fleet().discovery().kubernetes()).isNotNull();
    assertThat(config.source().platform().getString("pekko.remote.artery.transport")).isEqualTo("tls-tcp");
    assertThat(config.operations().management().tls()).as("the admin key is not sent in the clear").isNotNull();
    boolean served = chart.ports().containsKey("http");
    assertThat(config.gateway().http().host()).isEqualTo(served ? "0.0.0.0" : "127.0.0.1");
    assertThat(chart.ports().containsKey("picker")).isEqualTo(config.picker() != null);
  }

  /** Also one whose nodes have volumes: a store of keys would have requests need one. */
  @ParameterizedTest
  @MethodSource("charts")
  void openGateway_needsNoKeys_andAnyOtherDoes(RenderedChart chart) throws Exception {
    AccessConfig access = read(chart).gateway().access();
    assertThat(access.open()).isEqualTo(chart.values().at("/access/open").asBoolean());
    assertThat(access.hasKeys()).isEqualTo(!access.open());
  }

  /** What nodes listen on is what Services, probes and policies know. */
  @ParameterizedTest
  @MethodSource("charts")
  void ports_areThoseOfTheConfiguration(RenderedChart chart) throws Exception {
    KvasirConfig config = read(chart);
    Map<String, Integer> ports = chart.ports();
    assertThat(ports)
        .containsEntry("remoting", config.source().platform().getInt("pekko.remote.artery.canonical.port"))
        .containsEntry("lines", config.cluster().peers().port())
        .containsEntry("management", config.operations().management().port());
    if (ports.containsKey("http")) {
      assertThat(ports).containsEntry("http", config.gateway().http().port());
    }
    if (config.picker() != null) {
      assertThat(ports)
          .containsEntry("picker", config.picker().listener().port())
          .containsEntry("picker-health", config.picker().listener().healthPort());
    }
  }

  /** Nodes look for pods that have the labels that they have, and find a majority. */
  @ParameterizedTest
  @MethodSource("charts")
  void nodes_findEachOther(RenderedChart chart) throws Exception {
    Config platform = read(chart).source().platform();
    JsonNode labels = chart.nodes().at("/spec/template/metadata/labels");
    for (String label : platform.getString("pekko.discovery.kubernetes-api.pod-label-selector").split(",", -1)) {
      String[] pair = label.split("=", 2);
      assertThat(labels.path(pair[0]).asText()).isEqualTo(pair[1]);
    }
    int replicas = chart.nodes().at("/spec/replicas").asInt();
    assertThat(platform.getInt("pekko.management.cluster.bootstrap.contact-point-discovery.required-contact-point-nr"))
        .isEqualTo(replicas / 2 + 1);
    assertThat(chart.ports()).containsKey(
        platform.getString("pekko.management.cluster.bootstrap.contact-point-discovery.port-name"));
  }

  @ParameterizedTest
  @MethodSource("charts")
  void draining_andHandingCellsOver_fitIntoTheGracePeriod(RenderedChart chart) throws Exception {
    long grace = chart.pod().path("terminationGracePeriodSeconds").asLong();
    long pause = chart.container().at("/lifecycle/preStop/sleep/seconds").asLong();
    Config own = ConfigFactory.parseString(chart.configuration());
    long delay =
        own.hasPath("kvasir.gateway.drain-delay") ? own.getDuration("kvasir.gateway.drain-delay").toSeconds() : 0;
    assertThat(delay + own.getDuration("kvasir.gateway.drain-timeout").toSeconds() + pause + 20)
        .isLessThanOrEqualTo(grace);
  }

  /** The plan of a node with the heap that the chart sets, and of one whose JVM does not count some of it. */
  @ParameterizedTest
  @MethodSource("charts")
  void memory_isThatOfThePlan(RenderedChart chart) throws Exception {
    KvasirConfig config = read(chart);
    long heap = Long.parseLong(chart.variable("KVASIR_HEAP").replace("m", "")) * MIB;
    long reported = heap - 40 * MIB;
    long index = ConfigFactory.parseString(chart.configuration()).getBytes("kvasir.cell.index-budget");
    long bodies = config.picker() == null ? 0 : reported / 10;
    MemoryPlan plan =
        new MemoryPlan(
            reported, reported / 4 + bodies, MemoryPlan.prompts(reported),
            MemoryPlan.answers(config.execution().answers()), MemoryPlan.of(config).cells(), index);
    assertThat(plan.fits()).as(plan.toString()).isTrue();
    long workers = chart.values().at("/fleet/workers").asLong(32);
    long blocks = chart.values().at("/fleet/blocks").asLong(65_536);
    assertThat(index).as("one cell's").isGreaterThanOrEqualTo(50 * Math.min(256, workers) * blocks);
    assertThat(plan.requests() + plan.prompts() + plan.answers() + 50 * workers * blocks)
        .as("all of them")
        .isLessThan(reported);
    String limit = chart.container().at("/resources/limits/memory").asText();
    assertThat(Long.parseLong(limit.replace("Mi", "")) * MIB).isGreaterThanOrEqualTo(heap + 300 * MIB);
  }

  /** A gateway calls the picker by the name of the Service that the pool names, which tells the pool. */
  @ParameterizedTest
  @MethodSource("charts")
  void pools_areReadWhereTheyAre(RenderedChart chart) throws Exception {
    boolean picker = chart.ports().containsKey("picker");
    assertThat(read(chart).fleet().discovery().kubernetes())
        .satisfies(pods -> assertThat(pods.pools() != null).isEqualTo(picker));
    for (JsonNode pool : chart.ofKind("InferencePool")) {
      assertThat(chart.configuration()).contains("\"" + pool.at("/metadata/namespace").asText() + "\"");
      String service = pool.at("/spec/endpointPickerRef/name").asText();
      Pool known = Pool.labelled("llm", pool.at("/metadata/name").asText(), List.of(), Set.of(service + ".llm"));
      assertThat(known.isCalledBy("outbound|9002||" + service + ".llm.svc.cluster.local")).isTrue();
      assertThat(chart.ofKind("InferencePool").stream().map(each -> each.at("/spec/endpointPickerRef/name")))
          .as("none shares its Service")
          .doesNotHaveDuplicates();
    }
  }

  @Test
  void configuration_ofTheUser_winsOverTheCharts() throws Exception {
    KvasirConfig config = read(Optional.ofNullable(RenderedChart.all().rendered().get("everything")).orElseThrow());
    assertThat(config.routing().profile()).isEqualTo("sticky");
    assertThat(config.gateway().http().maxBodyBytes()).isEqualTo(8 * MIB);
  }

  private static KvasirConfig read(RenderedChart chart) throws Exception {
    KvasirConfig known = READ.get(chart.name());
    if (known == null) {
      known = read(chart, Files.createDirectory(directory.resolve(chart.name())));
      READ.put(chart.name(), known);
    }
    return known;
  }

  private static KvasirConfig read(RenderedChart chart, Path root) throws Exception {
    for (JsonNode mount : chart.container().path("volumeMounts")) {
      for (JsonNode volume : chart.pod().path("volumes")) {
        if (volume.path("name").equals(mount.path("name")) && volume.has("secret")) {
          Path directory = root.resolve(mount.path("mountPath").asText().substring(1));
          Files.createDirectories(directory);
          mount(chart, volume.path("secret"), directory);
        }
      }
    }
    Files.createDirectories(root.resolve("var/lib/kvasir"));
    String text =
        chart
            .configuration()
            .replaceAll("\"/(etc|var)/", "\"" + root + "/$1/")
            .replaceAll("\"/models/[^\"]*\"", "\"bundled:kvasir-demo\"");
    // The heap is that of the tests' JVM: the plan has a test of its own.
    return KvasirConfig.of(
        ConfigFactory.parseString(
                """
                kvasir { cluster.host = 10.0.0.1, pods-from.kubernetes { api = "http://10.0.0.2", namespace = n } }
                kvasir.cell.index-budget = auto
                """)
            .withFallback(ConfigFactory.parseString(text)));
  }

  /** The chart's own Secret, or one that somebody else makes. */
  private static void mount(RenderedChart chart, JsonNode volume, Path directory) throws Exception {
    String name = volume.path("secretName").asText();
    JsonNode secret = chart.manifests().get("Secret " + name);
    if (secret != null) {
      for (String key : (Iterable<String>) () -> secret.path("data").fieldNames()) {
        Files.writeString(directory.resolve(key), RenderedChart.secret(secret, key));
      }
      return;
    }
    String server = directory.endsWith("kvasir-cluster-tls") ? "node" : "server";
    Files.copy(Path.of(certificates.certificate(server)), directory.resolve("tls.crt"));
    Files.copy(Path.of(certificates.key(server)), directory.resolve("tls.key"));
    Files.copy(Path.of(certificates.certificate("ca")), directory.resolve("ca.crt"));
    Files.writeString(directory.resolve("keys.conf"), "keys = []");
    Files.writeString(directory.resolve("keys"), "0123456789abcdef ada");
    Files.writeString(directory.resolve("secret"), "0123456789abcdef");
    Files.writeString(directory.resolve("api-key"), "key");
  }
}
