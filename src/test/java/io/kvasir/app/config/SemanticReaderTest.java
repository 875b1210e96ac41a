package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.typesafe.config.ConfigFactory;
import io.kvasir.semantic.SemanticSettings;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Semantic clusters as they are written. */
final class SemanticReaderTest {
  private static final String PROFILE =
      """
      kvasir.routing.profiles.by-meaning {
        prepare = [ tokenize, block-hash, semantic-cluster ]
        filter = [ role, model, excluded, semantic-cluster ]
        pick = random
        execute = forward
      }
      """;

  @Test
  void written_isRead() throws Exception {
    SemanticSettings settings =
        read(
            """
            kvasir.routing.semantic-clusters {
              embeddings { url = "https://embed.example:8443", model = e5, api-key = k, budget = 20 ms, memory = 7 }
              clusters = [
                { name = code, examples = ["a", "b"], workers { skill = code, tier = gold }, threshold = 0.75 }
                { name = poems, examples = ["c"], workers { skill = poems }, threshold = 1 }
              ]
            }
            """);

    assertThat(settings.embeddings())
        .isEqualTo(
            new SemanticSettings.EmbeddingSettings(
                new SemanticSettings.EndpointSettings(
                    URI.create("https://embed.example:8443/v1/embeddings"), "e5", "k"),
                Duration.ofMillis(20),
                new SemanticSettings.CallLimits(Duration.ofSeconds(5), Duration.ofSeconds(1), 64),
                7,
                2000));
    assertThat(settings.clusters())
        .containsExactly(
            new SemanticSettings.Cluster(
                "code", List.of("a", "b"), Map.of("skill", "code", "tier", "gold"), 0.75),
            new SemanticSettings.Cluster("poems", List.of("c"), Map.of("skill", "poems"), 1));
  }

  @Test
  void addressWithAPath_staysAsItIs() throws Exception {
    assertThat(
            read("kvasir.routing.semantic-clusters.embeddings.url = \"http://h/openai/embeddings?api-version=3\"")
                .embeddings()
                .endpoint()
                .url())
        .hasToString("http://h/openai/embeddings?api-version=3");
  }

  @Test
  void nothingWritten_noClusters() throws Exception {
    assertThat(read("").isOn()).isFalse();
  }

  @Test
  void faults_areToldTogether() {
    List<ConfigFault> faults =
        faults(
            """
            kvasir.routing.semantic-clusters {
              embeddings { url = "ftp://x", budget = 11 s, concurrency = 0, key = k }
              clusters = [
                { name = None, examples = [], workers {}, threshold = 2 }
                { name = none, examples = [" "], workers { "a b" = "c,d" }, threshold = 0.5, exmaples = [] }
                { name = twice, examples = [x], workers { a = b }, threshold = 0.5 }
                { name = twice, examples = [x], workers { a = b } }
              ]
            }
            """);

    assertThat(faults)
        .extracting(ConfigFault::path)
        .containsOnlyOnce(
            "kvasir.routing.semantic-clusters.embeddings.url",
            "kvasir.routing.semantic-clusters.embeddings.model",
            "kvasir.routing.semantic-clusters.embeddings.budget",
            "kvasir.routing.semantic-clusters.embeddings.timeout",
            "kvasir.routing.semantic-clusters.embeddings.concurrency",
            "kvasir.routing.semantic-clusters.embeddings.key",
            "kvasir.routing.semantic-clusters.clusters[0].name",
            "kvasir.routing.semantic-clusters.clusters[0].examples",
            "kvasir.routing.semantic-clusters.clusters[0].workers",
            "kvasir.routing.semantic-clusters.clusters[0].threshold",
            "kvasir.routing.semantic-clusters.clusters[1].name",
            "kvasir.routing.semantic-clusters.clusters[1].examples",
            "kvasir.routing.semantic-clusters.clusters[1].workers",
            "kvasir.routing.semantic-clusters.clusters[1].exmaples",
            "kvasir.routing.semantic-clusters.clusters[3].name",
            "kvasir.routing.semantic-clusters.clusters[3].threshold");
  }

  @Test
  void profileByClusters_withoutAny_isAFault() {
    assertThat(faults(PROFILE))
        .singleElement()
        .satisfies(fault -> {
          assertThat(fault.path()).isEqualTo("kvasir.routing.semantic-clusters.clusters");
          assertThat(fault.problem()).contains("by-meaning");
        });
  }

  private static SemanticSettings read(String text) throws ConfigException {
    return KvasirConfig.of(ConfigFactory.parseString(text)).routing().semanticClusters();
  }

  private static List<ConfigFault> faults(String text) {
    return catchThrowableOfType(
            ConfigException.class, () -> KvasirConfig.of(ConfigFactory.parseString(text)))
        .faults();
  }
}
