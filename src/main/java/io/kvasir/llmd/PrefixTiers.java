package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SequencedMap;

/** What blocks count by the tier that holds them, as producers of prefix matches say. */
final class PrefixTiers {
  /** Tiers by their names in llm-d. */
  private static final Map<String, String> NAMES =
      Map.of("gpu", "device", "cpu", "host", "disk", "disk", "storage", "disk", "shared_storage", "remote");

  private final SequencedMap<String, SequencedMap<String, Object>> byProducer = new LinkedHashMap<>();

  PrefixTiers(EndpointPickerConfig config, TranslatedParts findings) {
    for (PluginEntry plugin : config.plugins().values()) {
      if (plugin.type() == LlmdPlugin.PRECISE_PREFIX_CACHE_PRODUCER
          || plugin.type() == LlmdPlugin.PRECISE_PREFIX_CACHE_SCORER) {
        byProducer.put(plugin.name(), read(plugin, findings));
      }
    }
  }

  private static SequencedMap<String, Object> read(PluginEntry plugin, TranslatedParts findings) {
    SequencedMap<String, Object> weights = new LinkedHashMap<>();
    for (YamlSection backend : plugin.parameters().section("indexerConfig").sections("kvCacheBackendConfigs")) {
      String name = backend.text("name", "");
      String tier = NAMES.get(name);
      double weight = backend.number("weight", 1, 0, 1);
      if (tier == null) {
        findings.add(
            Verdict.MISSING, plugin.part() + ": kvCacheBackendConfigs " + name, backend.line(),
            "the tiers are device, host, disk and remote");
      } else {
        weights.put(tier, weight);
      }
    }
    return weights;
  }

  /** The weights of tiers that a producer sets; empty for one that sets none, and for none. */
  SequencedMap<String, Object> of(String producer) {
    return byProducer.getOrDefault(producer, new LinkedHashMap<>());
  }
}
