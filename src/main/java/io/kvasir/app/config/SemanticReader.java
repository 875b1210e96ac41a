package io.kvasir.app.config;

import com.typesafe.config.ConfigFactory;
import io.kvasir.routing.Profile;
import io.kvasir.routing.SemanticCluster;
import io.kvasir.semantic.SemanticSettings;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/** Reads {@code kvasir.routing.semantic-clusters}; faults are reported whether a profile uses them or not. */
final class SemanticReader {
  private static final String PLUGIN = "semantic-cluster";
  private static final String PATH = "/v1/embeddings";
  private static final Pattern NAME = Pattern.compile("[a-z0-9][a-z0-9-]{0,39}");
  private static final Pattern LABEL = Pattern.compile("[A-Za-z0-9][A-Za-z0-9_./-]*");
  private static final Pattern VALUE = Pattern.compile("[A-Za-z0-9_.-]*");
  private static final Set<String> RESERVED =
      Set.of(SemanticCluster.NONE.name(), SemanticCluster.UNKNOWN.name());
  private static final int MOST_CLUSTERS = 100;
  private static final int MOST_EXAMPLES = 1000;
  private static final Duration LONGEST_BUDGET = Duration.ofSeconds(10);

  private SemanticReader() {}

  static SemanticSettings read(ConfigSection section) {
    List<SemanticSettings.Cluster> clusters = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (ConfigSection written : section.sections("clusters", ConfigFactory.empty())) {
      SemanticSettings.Cluster cluster = cluster(written);
      if (!cluster.name().isEmpty() && !names.add(cluster.name())) {
        written.fault("name", "'" + cluster.name() + "' is described twice; give each cluster a name of its own");
      }
      clusters.add(cluster);
    }
    if (clusters.size() > MOST_CLUSTERS) {
      section.fault("clusters", "has more than " + MOST_CLUSTERS + " clusters");
    }
    ConfigSection embeddings = section.section("embeddings");
    SemanticSettings settings = new SemanticSettings(embeddings(embeddings, !clusters.isEmpty()), clusters);
    section.rejectUnread();
    return settings;
  }

  /** Reports profiles that go by clusters where there are none. */
  static void checkUse(ConfigSection section, Collection<Profile> profiles) {
    if (!section.sections("clusters", ConfigFactory.empty()).isEmpty()) {
      return;
    }
    for (Profile profile : profiles) {
      if (profile.parts().stream().anyMatch(part -> part.plugin().equals(PLUGIN))) {
        section.fault(
            "clusters",
            "is empty, but the profile '" + profile.name() + "' goes by semantic clusters; describe some, or take "
                + PLUGIN + " out of it");
      }
    }
  }

  private static SemanticSettings.EmbeddingSettings embeddings(ConfigSection embeddings, boolean needed) {
    URI url = embeddings.endpoint("url", PATH);
    String model = embeddings.text("model");
    if (needed && embeddings.text("url").isEmpty()) {
      embeddings.fault("url", "is needed where there are clusters: an address such as http://10.0.0.7:8000");
    }
    if (needed && model.isBlank()) {
      embeddings.fault("model", "is needed where there are clusters: the model's name at the endpoint");
    }
    String key = embeddings.text("api-key");
    Duration budget = embeddings.duration("budget");
    Duration timeout = embeddings.duration("timeout");
    if (budget.compareTo(LONGEST_BUDGET) > 0) {
      embeddings.fault("budget", "has to be at most 10 s: requests wait for it");
    }
    if (timeout.compareTo(budget) < 0) {
      embeddings.fault("timeout", "has to be at least the budget");
    }
    SemanticSettings.EmbeddingSettings read =
        new SemanticSettings.EmbeddingSettings(
            new SemanticSettings.EndpointSettings(url, model, key.isBlank() ? null : key),
            budget,
            new SemanticSettings.CallLimits(
                timeout, embeddings.duration("retry"), embeddings.count("concurrency", 1, 10_000)),
            embeddings.count("memory", 0, 1_000_000),
            embeddings.count("longest-text", 1, 1_000_000));
    embeddings.rejectUnread();
    return read;
  }

  private static SemanticSettings.Cluster cluster(ConfigSection section) {
    String name = section.name("name");
    if (!name.isEmpty() && !NAME.matcher(name).matches()) {
      section.fault("name", "'" + name + "' has to be at most 40 lower-case letters, digits and hyphens");
    }
    if (RESERVED.contains(name)) {
      section.fault("name", "'" + name + "' is reserved for requests without a cluster; choose another");
    }
    List<String> examples = section.texts("examples");
    boolean good =
        !examples.isEmpty() && examples.size() <= MOST_EXAMPLES && examples.stream().noneMatch(String::isBlank);
    if (!good && section.has("examples")) {
      section.fault("examples", "has to be a list of 1 to " + MOST_EXAMPLES + " texts, none of them blank");
    }
    Map<String, String> workers = section.labels("workers");
    if (workers.isEmpty() && section.has("workers")) {
      section.fault("workers", "has no label; name those its workers have, such as { skill = code }");
    }
    workers.forEach((label, value) -> {
      if (!LABEL.matcher(label).matches() || !VALUE.matcher(value).matches()) {
        section.fault(
            "workers", "'" + label + " = " + value + "' is no label: letters, digits and _ . - are, and / in names");
      }
    });
    SemanticSettings.Cluster cluster =
        new SemanticSettings.Cluster(name, examples, workers, section.share("threshold"));
    section.rejectUnread();
    return cluster;
  }
}
