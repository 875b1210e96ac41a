package io.kvasir.llmd;

import io.kvasir.llmd.ProfileEntry.Reference;
import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;

/** The rules by which scorers are translated. */
final class ScorerRules {
  private static final String UNSCALED = "none";

  private final PrefixTiers tiers;
  private final TranslatedParts findings;

  ScorerRules(PrefixTiers tiers, TranslatedParts findings) {
    this.tiers = tiers;
    this.findings = findings;
  }

  /** Adds to a profile what stands for a scorer; nothing where that has no counterpart. */
  void apply(Reference reference, ProfileDraft profile) {
    PluginEntry plugin = reference.plugin();
    if (reference.weightOrDefault() == 0) {
      findings.add(Verdict.NEEDLESS, plugin.part() + ": weight", reference.line(), "a scorer of weight 0 says nothing");
      return;
    }
    switch (plugin.type()) {
      case PREFIX_CACHE_SCORER, PRECISE_PREFIX_CACHE_SCORER -> prefix(reference, profile);
      case QUEUE_SCORER -> profile.score(use("least-load", reference, "by", "queue"));
      case LOAD_AWARE_SCORER -> {
        skip(plugin, "threshold", "the most loaded worker scores 0, whatever its load");
        profile.score(use("least-load", reference, "by", "queue"));
      }
      case TOKEN_LOAD_SCORER -> {
        skip(plugin, "queueThresholdTokens", "the most loaded worker scores 0, whatever its load");
        profile.score(use("least-load", reference, "by", "tokens"));
      }
      case RUNNING_REQUESTS_SIZE_SCORER -> profile.score(use("least-load", reference, "by", "requests"));
      case ACTIVE_REQUEST_SCORER -> {
        skip(plugin, "requestTimeout", "llm-d does not use it either");
        profile.score(use("least-load", reference, "by", "requests"));
      }
      case KV_CACHE_UTILIZATION_SCORER -> profile.score(use("kv-room", reference, "normalise", UNSCALED));
      case LORA_AFFINITY_SCORER -> profile.score(use("lora-affinity", reference, "normalise", UNSCALED));
      case NO_HIT_LRU_SCORER -> {
        skip(plugin, "lruSize", "all workers are remembered");
        skip(plugin, "prefixPluginName", "there is one index");
        skip(plugin, "prefixPluginType", "there is one index");
        profile.score(use("no-hit-lru", reference));
      }
      case LATENCY_SCORER -> profile.score(use("expected-cost", reference));
      case SESSION_AFFINITY_SCORER -> session(reference, profile);
      case TOPOLOGY_AFFINITY_SCORER -> profile.preferNear(reference.weightOrDefault());
      case ENDPOINT_ATTRIBUTE_SCORER -> attribute(reference, profile);
      default -> {
        // What has no counterpart is left out; the finding of its type says so.
      }
    }
  }

  private void prefix(Reference reference, ProfileDraft profile) {
    YamlSection parameters = reference.plugin().parameters();
    if (parameters.number("prefixLengthWeight", 0, 0, 1) > 0) {
      findings.parameter(
          Verdict.MISSING, reference.plugin(), "prefixLengthWeight",
          "the share of a prompt that is cached counts, not the length of that; the profile expected-cost counts both");
    }
    parameters.has("maxModelLen");
    SequencedMap<String, Object> weights =
        tiers.of(parameters.text("prefixMatchInfoProducerName", reference.plugin().name()));
    if (weights.isEmpty()) {
      profile.score(use("cache-affinity", reference, "normalise", UNSCALED));
      return;
    }
    SequencedMap<String, Object> all = new LinkedHashMap<>(weights);
    all.putAll(use("tier-affinity", reference, "normalise", UNSCALED).parameters());
    profile.score(new PluginUse("tier-affinity", all, reference.plugin().part()));
  }

  private void session(Reference reference, ProfileDraft profile) {
    PluginEntry plugin = reference.plugin();
    YamlSection parameters = plugin.parameters();
    boolean clientsKey = parameters.text("algorithm", "").equals("session_id_header");
    String header = parameters.text("headerName", "x-session-token");
    skip(plugin, "profileName", "each profile scores its own workers");
    for (String store : List.of("evictionTtlSeconds", "evictionSweepSeconds", "missThreshold")) {
      skip(plugin, store, "nothing is stored: the worker follows from a hash of the key");
    }
    if (!clientsKey) {
      findings.parameter(
          Verdict.MISSING, plugin, "algorithm",
          "clients are given no " + header + " to send back; let them send a key of their own in this header");
    }
    profile.prepare(SessionKeys.of(header, plugin));
    profile.score(use("session-affinity", reference, "normalise", UNSCALED));
  }

  private void attribute(Reference reference, ProfileDraft profile) {
    PluginEntry plugin = reference.plugin();
    YamlSection parameters = plugin.parameters();
    String key = parameters.text("attributeKey", "");
    YamlSection algorithm = parameters.section("algorithm");
    String better = algorithm.text("type", "").contains("higher") ? "higher" : "lower";
    if (key.isEmpty()) {
      parameters.fault("attributeKey", "is missing");
    }
    if (algorithm.has("normalization")) {
      findings.parameter(
          Verdict.MISSING, plugin, "algorithm.normalization", "scores go from the least figure to the largest");
    }
    profile.score(use("external-metric", reference, "metric", key, "better", better));
  }

  private void skip(PluginEntry plugin, String parameter, String why) {
    if (plugin.parameters().has(parameter)) {
      findings.parameter(Verdict.NEEDLESS, plugin, parameter, why);
    }
  }

  /** A scorer with its weight after the parameters, unless it is the default. */
  private static PluginUse use(String scorer, Reference reference, Object... parameters) {
    SequencedMap<String, Object> all = new LinkedHashMap<>();
    PluginUse plain = PluginUse.of(scorer, reference.plugin().part(), parameters);
    all.putAll(plain.parameters());
    if (reference.weightOrDefault() != 1) {
      all.put("weight", reference.weightOrDefault());
    }
    return new PluginUse(scorer, all, plain.origin());
  }
}
