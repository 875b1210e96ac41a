package io.kvasir.app.monitoring;

import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.app.node.Node;
import io.prometheus.metrics.model.registry.Collector;
import io.prometheus.metrics.model.registry.MetricType;
import io.prometheus.metrics.model.registry.MultiCollector;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.MetricFamilyDescriptor;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Every metric that a node registers, by its exposed name. A registry does not list its metrics and shows those without
 * a value not at all, so they are taken from a real node's, one that has every part switched on.
 */
final class MetricCatalog {
  private static final Set<String> SAMPLES = Set.of("_bucket", "_sum", "_count");

  private final Map<String, MetricFamily> families;
  private final MetricSnapshots atStart;

  private MetricCatalog(Map<String, MetricFamily> families, MetricSnapshots atStart) {
    this.families = families;
    this.atStart = atStart;
  }

  /** Of a node that is started, and stopped again, for this. Nothing that it is to connect to is there. */
  static MetricCatalog ofNode(Path directory) throws Exception {
    Files.writeString(directory.resolve("keys.json"), "{\"keys\": []}");
    Files.writeString(directory.resolve("pods.conf"), "pods = []");
    Files.writeString(directory.resolve("token"), "none");
    String settings =
        """
        kvasir {
          gateway { host = "127.0.0.1", port = 0, drain-timeout = 1 s }
          management { port = 0, metrics-access = kubernetes }
          access {
            keys-file = "DIRECTORY/keys.json"
            jwt { issuer = "i", audience = a, jwks-url = "https://127.0.0.1:9/", roles = [{ name = r }] }
          }
          access-log.path = "DIRECTORY/access.log"
          decisions.path = "DIRECTORY/decisions.log"
          answers.store = memory
          tracing.endpoint = "http://127.0.0.1:9"
          lmcache { controller = "http://127.0.0.1:9", coordinator = "http://127.0.0.1:9" }
          picker { enabled = true, host = "127.0.0.1", port = 0, health-port = 0 }
          pods-from {
            file.path = "DIRECTORY/pods.conf"
            kubernetes {
              selector = "app=vllm", namespace = n, api = "http://127.0.0.1:9", pools.namespaces = [n]
              token = "DIRECTORY/token", authority = ""
            }
          }
        }
        """.replace("DIRECTORY", directory.toString());
    PrometheusRegistry registry = new PrometheusRegistry();
    try (Node _ = new Node(KvasirConfig.of(ConfigFactory.parseString(settings)), registry)) {
      Map<String, MetricFamily> families = new TreeMap<>();
      for (Object collector : registered(registry, "collectors")) {
        add(families, ((Collector) collector).getMetricFamilyDescriptor());
      }
      for (Object collector : registered(registry, "multiCollectors")) {
        ((MultiCollector) collector).getMetricFamilyDescriptors().forEach(family -> add(families, family));
      }
      return new MetricCatalog(families, registry.scrape());
    }
  }

  /**
   * What a registry holds, in a field of its own: it has no method for it, and a subclass that notes what is registered
   * cannot be compiled with annotation processors, which look for an annotation that the library does not publish.
   */
  private static Collection<?> registered(PrometheusRegistry registry, String field) throws Exception {
    Field held = PrometheusRegistry.class.getDeclaredField(field);
    held.setAccessible(true);
    return (Collection<?>) held.get(registry);
  }

  private static void add(Map<String, MetricFamily> families, MetricFamilyDescriptor family) {
    String base = family.getPrometheusName();
    String name = family.getType() == MetricType.COUNTER && !base.endsWith("_total") ? base + "_total" : base;
    String help = Optional.ofNullable(family.getMetadata().getHelp()).orElse("");
    families.put(name, new MetricFamily(name, family.getType(), new TreeSet<>(family.getLabelNames()), help));
  }

  /** Kvasir's own; those of the JVM are its client library's. */
  Collection<MetricFamily> own() {
    return families.values().stream().filter(family -> family.name().startsWith("kvasir_")).toList();
  }

  /** The metric that a name in a query belongs to, such as {@code a_seconds_bucket} to {@code a_seconds}. */
  Optional<MetricFamily> family(String name) {
    MetricFamily exact = families.get(name);
    if (exact != null) {
      return Optional.of(exact);
    }
    return SAMPLES.stream()
        .filter(name::endsWith)
        .map(suffix -> families.get(name.substring(0, name.length() - suffix.length())))
        .filter(family -> family != null
            && (family.type() == MetricType.HISTOGRAM || family.type() == MetricType.SUMMARY))
        .findAny();
  }

  /** Whether a node has a series of a counter before anything has happened, by one of its labels. */
  boolean hasAtStart(String counter, String label, String value) {
    return atStart.stream()
        .filter(family -> (family.getMetadata().getPrometheusName() + "_total").equals(counter))
        .flatMap(family -> family.getDataPoints().stream())
        .anyMatch(point -> value.equals(point.getLabels().get(label)));
  }

  /** The labels of what a name in a query selects; of buckets {@code le}, too. */
  Set<String> labels(String name) {
    Set<String> labels = new TreeSet<>(family(name).map(MetricFamily::labels).orElse(Set.of()));
    if (name.endsWith("_bucket")) {
      labels.add("le");
    }
    return labels;
  }
}
