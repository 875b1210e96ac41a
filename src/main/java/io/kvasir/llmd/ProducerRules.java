package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;
import java.util.Set;
import java.util.TreeSet;

/** The rules by which producers and sources of data become settings of models and pods. */
final class ProducerRules {
  private static final String EVENTS = "pods-from.kubernetes.pod.events";

  private final SequencedMap<String, Object> settings;
  private final TranslatedParts findings;
  private final SequencedMap<String, Object> model = new LinkedHashMap<>();

  ProducerRules(SequencedMap<String, Object> settings, TranslatedParts findings) {
    this.settings = settings;
    this.findings = findings;
  }

  void apply(PluginEntry plugin) {
    YamlSection parameters = plugin.parameters();
    switch (plugin.type()) {
      case TOKEN_PRODUCER, TOKENIZER -> tokens(plugin);
      case PRECISE_PREFIX_CACHE_PRODUCER, PRECISE_PREFIX_CACHE_SCORER -> precise(plugin);
      case APPROX_PREFIX_CACHE_PRODUCER -> {
        long blocks = parameters.whole("lruCapacityPerServer", 0, 0, Integer.MAX_VALUE);
        if (blocks > 0) {
          settings.put("pod-defaults.capacity-blocks", blocks);
        }
        for (String size : List.of("blockSizeTokens", "blockSize")) {
          if (parameters.has(size)) {
            findings.parameter(
                Verdict.NEEDLESS, plugin, size, "a model's entry has its block size; text counts in 32 bytes");
          }
        }
        List.of("autoTune", "maxPrefixBlocksToMatch", "maxPrefixTokensToMatch").forEach(parameters::has);
      }
      case SESSION_ID_PRODUCER -> {
        if (parameters.has("cookieName")) {
          findings.parameter(Verdict.MISSING, plugin, "cookieName", "sessions are told by a header, not by a cookie");
        }
        List.of("headerName", "ttl", "lruSize").forEach(parameters::has);
      }
      case TOPOLOGY_EXTRACTOR -> topology(plugin);
      default -> {
        // Done always, or left out; the finding of its type says so.
      }
    }
  }

  /** Puts together what several plugins say of the model. */
  void finish() {
    if (model.containsKey("name")) {
      settings.put("models", List.of(model));
    }
  }

  private void tokens(PluginEntry plugin) {
    YamlSection parameters = plugin.parameters();
    String name = parameters.text("modelName", "");
    for (String backend : List.of("vllm", "udsTokenizerConfig", "tokenizersPoolConfig", "estimate")) {
      if (parameters.has(backend)) {
        findings.parameter(
            Verdict.NEEDLESS, plugin, backend,
            "the model's engines tokenise (mode = engine); with the model's files in directory and mode = exact the"
                + " router does it itself, which is quicker");
      }
    }
    if (!name.isEmpty()) {
      model.putFirst("name", name);
      model.put("mode", "engine");
    }
  }

  private void precise(PluginEntry plugin) {
    YamlSection parameters = plugin.parameters();
    YamlSection processor = parameters.section("tokenProcessorConfig");
    long blockSize = processor.whole("blockSizeTokens", processor.whole("blockSize", 0, 0, 65_536), 0, 65_536);
    if (blockSize > 0) {
      model.put("block-size", blockSize);
      findings.add(
          Verdict.SIMILAR, plugin.part() + ": tokenProcessorConfig", processor.line(),
          "block-size of the model has to be the engines' own (vLLM --block-size)");
      if (!model.containsKey("name")) {
        settings.put("model-defaults.block-size", blockSize);
      }
    }
    for (String same : List.of("speculativeIndexing", "speculativeTTL")) {
      if (parameters.has(same)) {
        findings.parameter(Verdict.NEEDLESS, plugin, same, "requests under way count as cached where they were sent");
      }
    }
    if (parameters.has("sessionManager")) {
      findings.parameter(Verdict.MISSING, plugin, "sessionManager", "prompts are looked up by their tokens alone");
    }
    YamlSection indexer = parameters.section("indexerConfig");
    for (String key : List.of("kvBlockIndexConfig", "tokenizersPoolConfig", "prefixStoreConfig")) {
      if (indexer.has(key)) {
        findings.add(
            Verdict.NEEDLESS, plugin.part() + ": indexerConfig." + key, indexer.line(key),
            "the index is in the router nodes' memory (cell.index-budget) and shared by them, without a store");
      }
    }
    indexer.has("kvCacheBackendConfigs");
    processor.has("hashSeed");
    leftOut(plugin, processor);
    leftOut(plugin, indexer);
    events(plugin, parameters.section("kvEventsConfig"));
  }

  /** Names what no rule has read of a section of parameters. */
  private void leftOut(PluginEntry plugin, YamlSection section) {
    section.unread().forEach(
        (key, line) ->
            findings.add(
                Verdict.MISSING, plugin.part() + ": " + key, line, "is left out: nothing here goes by it"));
  }

  private void events(PluginEntry plugin, YamlSection events) {
    List.of("concurrency", "engineType", "tracing").forEach(events::has);
    String address = events.text("zmqEndpoint", "");
    String topic = events.text("topicFilter", "kv@");
    YamlSection pods = events.section("podDiscoveryConfig");
    List.of("podLabelSelector", "podNamespace").forEach(pods::has);
    SequencedMap<String, Object> setting = new LinkedHashMap<>();
    if (address.isEmpty() || events.flag("discoverPods", true)) {
      setting.put("endpoint", "tcp://{ip}:" + pods.whole("socketPort", 5557, 1, 65_535));
    } else {
      setting.put("endpoint", address.replace("//0.0.0.0:", "//*:"));
      setting.put("bind", true);
      setting.put("topic", topic + "{ip}");
      findings.add(
          Verdict.SIMILAR, plugin.part() + ": zmqEndpoint", events.line("zmqEndpoint"),
          "engines dial a router here, too; let the routers dial the engines instead (socketPort), so that any router"
              + " can take over");
    }
    leftOut(plugin, pods);
    leftOut(plugin, events);
    settings.put(EVENTS, setting);
  }

  private void topology(PluginEntry plugin) {
    SequencedMap<String, String> labels = new LinkedHashMap<>();
    for (String level : List.of("hostname", "host", "rack", "zone", "region")) {
      String label = plugin.parameters().text(level, "");
      if (!label.isEmpty()) {
        labels.put(level, label);
      }
    }
    labels.values().forEach(label -> addLabels(List.of(label)));
    if (labels.isEmpty()) {
      findings.add(
          Verdict.SIMILAR, plugin.part(), plugin.line(),
          "name the labels of pods that say their zone in pods-from.kubernetes.labels");
    }
  }

  /** Labels of pods that workers carry, too. */
  void addLabels(Iterable<String> labels) {
    Set<String> all = new TreeSet<>();
    if (settings.get("pods-from.kubernetes.labels") instanceof List<?> before) {
      before.forEach(label -> all.add(String.valueOf(label)));
    }
    labels.forEach(all::add);
    if (!all.isEmpty()) {
      settings.put("pods-from.kubernetes.labels", List.copyOf(all));
    }
  }

  /** What {@link #addLabels} names, for the scorer of nearness: the label of zones, where one is known. */
  static String zoneLabel(EndpointPickerConfig config) {
    for (Map.Entry<String, PluginEntry> plugin : config.plugins().entrySet()) {
      if (plugin.getValue().type() == LlmdPlugin.TOPOLOGY_EXTRACTOR) {
        return plugin.getValue().parameters().text("zone", "topology.kubernetes.io/zone");
      }
    }
    return "topology.kubernetes.io/zone";
  }
}
