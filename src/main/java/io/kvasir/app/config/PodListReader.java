package io.kvasir.app.config;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.cell.CellSettings;
import io.kvasir.cell.DiscoveredPod;
import io.kvasir.cell.PodSpec;
import io.kvasir.discovery.BarePod;
import io.kvasir.engines.EngineAddress;
import io.kvasir.gateway.admin.PodDefaults;
import io.kvasir.http.client.PodKeys;
import io.kvasir.routing.Retention;
import io.kvasir.routing.Role;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** Reads pods: those of the configuration, and lists of the same format from other sources. */
final class PodListReader {
  private static final int MOST_BLOCK_SIZE = 1 << 20;

  /** What stands in for what engines have yet to tell. */
  private static final Config STAND_IN =
      ConfigFactory.parseMap(Map.of("models", List.of("learnt"), "name", "learnt"));

  private final ConfigSection root;
  private final Config config;
  private final List<BarePod> bare = new ArrayList<>();
  private final Config over;
  private final EventFeedReader feeds;
  private final KvTransferSettingsReader transfers;
  private final PodDefaults defaults;
  private final PodKeys.@Nullable Key defaultKey;
  private final Map<URI, PodKeys.Key> ownKeys = new HashMap<>();

  /**
   * Reads what pods have in common.
   *
   * @param root the section {@code kvasir}
   * @param blockSize tokens in a KV block, by model
   */
  PodListReader(Config config, ConfigSection root, ToIntFunction<String> blockSize) {
    this.root = root;
    this.config = config;
    this.over = config.getConfig("kvasir.pod-defaults");
    root.section("events-defaults");
    this.feeds = new EventFeedReader(config.getConfig("kvasir.events-defaults"));
    this.transfers = new KvTransferSettingsReader(over);
    ConfigSection common = root.section("pod-defaults");
    this.defaultKey = PodKeyReader.read(common);
    this.defaults = defaults(common, blockSize);
  }

  /** The API keys of the pods of the configuration that have been read, and of all others. */
  PodKeys keys() {
    return new PodKeys(ownKeys, defaultKey);
  }

  PodDefaults defaults() {
    return defaults;
  }

  /** The pods of the configuration. */
  List<PodSpec> configured() {
    List<ConfigSection> sections = root.sections("pods", over);
    List<PodSpec> pods = specs(sections);
    List<PodSpec> whole = new ArrayList<>();
    for (int i = 0; i < pods.size(); i++) {
      PodKeys.Key key = PodKeyReader.isOwn(sections.get(i), over) ? PodKeyReader.read(sections.get(i)) : null;
      if (key != null) {
        ownKeys.put(pods.get(i).url(), key);
      }
      if (sections.get(i).has("models")) {
        whole.add(pods.get(i));
      } else {
        Config described = config.getConfigList("kvasir.pods").get(i);
        bare.add(new BarePod(pods.get(i).url(), PodKeyReader.without(described)));
      }
    }
    return whole;
  }

  /** The pods of the configuration that leave to their engines what those tell; known when it has been read. */
  List<BarePod> bare() {
    return List.copyOf(bare);
  }

  /** The pods of a list from another source, in which each may be marked as draining. */
  List<DiscoveredPod> listed(Config listed, Consumer<String> onFault) {
    List<ConfigFault> faults = new ArrayList<>();
    ConfigSection section = new ConfigSection(listed, "", faults);
    List<ConfigSection> sections = section.sections("pods", over);
    section.rejectUnread();
    List<Boolean> draining = new ArrayList<>();
    sections.forEach(pod -> draining.add(pod.has("draining") && pod.flag("draining")));
    sections.stream().filter(pod -> PodKeyReader.isOwn(pod, over)).forEach(PodKeyReader::rejectInList);
    sections.stream()
        .filter(pod -> !pod.has("models"))
        .forEach(pod -> pod.fault("models", "is missing; name the model the pod serves, as requests call it"));
    List<PodSpec> specs = specs(sections);
    faults.stream().distinct().map(ConfigFault::toString).forEach(onFault);
    List<DiscoveredPod> pods = new ArrayList<>();
    for (int i = 0; i < specs.size(); i++) {
      pods.add(new DiscoveredPod(specs.get(i), draining.get(i)));
    }
    return pods;
  }

  private PodDefaults defaults(ConfigSection section, ToIntFunction<String> blockSize) {
    PodDefaults read =
        new PodDefaults(
            section.choice("role", Role.class),
            section.labels("labels"),
            section.count("max-in-flight", 1, 1_000_000),
            new PodDefaults.EngineDefaults(
                section.name("engine"),
                section.count("ranks", 1, CellSettings.MAX_SLOTS),
                CellSettings.MAX_SLOTS,
                blockSize,
                section.count("capacity-blocks", 1, PodDefaults.MOST_CAPACITY),
                section.choice("retention", Retention.class)),
            feeds::read,
            transfers::read);
    section.has("kv-transfer");
    section.rejectUnread();
    return read;
  }

  private List<PodSpec> specs(List<ConfigSection> sections) {
    List<PodSpec> pods = new ArrayList<>();
    Set<String> names = new HashSet<>();
    for (ConfigSection section : sections) {
      boolean named = section.has("name");
      boolean whole = section.has("models");
      PodSpec pod = pod(whole ? section : section.withFallback(STAND_IN), !whole);
      if (named && !pod.name().isEmpty() && !names.add(pod.name())) {
        section.fault("name", "'" + pod.name() + "' is taken by another pod; names are unique");
      }
      pods.add(pod);
    }
    for (int i = 0; i < pods.size(); i++) {
      if (KvTransferSettingsReader.hasNoPartner(pods.get(i), pods)) {
        sections.get(i).fault("kv-transfer", "has a dialect or group that no decode pod of the model has:"
            + " it would never get anything to do");
      }
    }
    return pods;
  }

  /** A pod; of one that will be {@code asked} only what is described counts. */
  private PodSpec pod(ConfigSection section, boolean asked) {
    Set<String> models = new LinkedHashSet<>(section.texts("models"));
    if (models.isEmpty() && section.has("models")) {
      section.fault("models", "is empty; name the model the pod serves, as requests call it");
    }
    String first = models.stream().findFirst().orElse("");
    int ranks = section.count("ranks", 1, CellSettings.MAX_SLOTS);
    URI url = section.url("url");
    Role role = section.choice("role", Role.class);
    PodSpec pod =
        new PodSpec(
            section.name("name"),
            url,
            role,
            models,
            section.labels("labels"),
            engine(section, ranks, blockSize(section, first)),
            section.has("events") ? feeds.read(section, "events", ranks) : List.of(),
            transfers.read(section, role, url, asked));
    if (section.has(EngineAddress.GRPC_PORT)) {
      // Read from what is described, where the engine is asked.
      section.count(EngineAddress.GRPC_PORT, 1, EngineAddress.MAX_PORT);
    }
    PodKeyReader.markRead(section);
    section.rejectUnread();
    return pod;
  }

  private int blockSize(ConfigSection section, String model) {
    return section.has("block-size")
        ? section.count("block-size", 1, MOST_BLOCK_SIZE)
        : defaults.engine().blockSize().applyAsInt(model);
  }

  private static PodSpec.Engine engine(ConfigSection section, int ranks, int blockSize) {
    int maxInFlight = section.count("max-in-flight", 1, 1_000_000);
    String name = section.name("engine");
    int capacityBlocks = section.count("capacity-blocks", 1, PodDefaults.MOST_CAPACITY);
    return new PodSpec.Engine(
        name, ranks, blockSize, maxInFlight, capacityBlocks, section.choice("retention", Retention.class));
  }
}
