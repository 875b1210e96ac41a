package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The rules by which filters are translated, and detectors of saturation that a profile names as filters. */
final class FilterRules {
  private static final double UNLIMITED_MS = 1e9;

  private final TranslatedParts findings;

  FilterRules(TranslatedParts findings) {
    this.findings = findings;
  }

  /** Adds to a profile what stands for a filter; nothing where that has no counterpart, or is always there. */
  void apply(PluginEntry plugin, ProfileDraft profile) {
    switch (plugin.type()) {
      case LABEL_SELECTOR_FILTER, BY_LABEL_SELECTOR -> labels(plugin, profile);
      case PREFIX_CACHE_AFFINITY_FILTER -> warm(plugin, profile);
      case SESSION_AFFINITY_FILTER -> session(plugin, profile);
      case UTILIZATION_FILTER -> utilization(plugin, profile);
      case ACTIVE_REQUEST_FILTER -> {
        long most = plugin.parameters().whole("maxRequests", 1, 1, 999_999);
        profile.filter(PluginUse.of("saturation", plugin.part(), "in-flight", most + 1));
        plugin.parameters().has("fallbackOnEmpty");
      }
      case UTILIZATION_DETECTOR -> {
        YamlSection parameters = plugin.parameters();
        double headroom = 1 + parameters.number("headroom", 0, 0, 1000);
        long waiting = Math.max(1, Math.round(parameters.whole("queueDepthThreshold", 5, 1, 100_000) * headroom));
        double kvUse = Math.min(1, parameters.number("kvCacheUtilThreshold", 0.8, 1e-6, 1) * headroom);
        profile.filter(PluginUse.of("overload", plugin.part(), "waiting", waiting, "kv-use", kvUse));
      }
      case CONCURRENCY_DETECTOR -> profile.filter(
          PluginUse.of("saturation", plugin.part(), "in-flight", Concurrency.of(plugin)));
      default -> {
        // Roles and models are filtered in every profile; what has no counterpart is left out.
      }
    }
  }

  private void labels(PluginEntry plugin, ProfileDraft profile) {
    YamlSection parameters = plugin.parameters();
    List<String> conditions = new ArrayList<>();
    for (Map.Entry<String, String> label : parameters.map("matchLabels").entrySet()) {
      conditions.add(label.getKey() + "=" + label.getValue());
      profile.needLabel(label.getKey());
    }
    for (YamlSection expression : parameters.sections("matchExpressions")) {
      String key = expression.text("key", "");
      String values = String.join(", ", expression.texts("values"));
      switch (expression.text("operator", "")) {
        case "In" -> conditions.add(key + " in (" + values + ")");
        case "NotIn" -> conditions.add(key + " notin (" + values + ")");
        case "Exists" -> conditions.add(key);
        case "DoesNotExist" -> conditions.add("!" + key);
        default -> expression.fault("operator", "has to be In, NotIn, Exists or DoesNotExist");
      }
      profile.needLabel(key);
    }
    if (conditions.isEmpty()) {
      findings.add(Verdict.NEEDLESS, plugin.part(), plugin.line(), "a selector without conditions keeps every worker");
    } else {
      profile.filter(PluginUse.of("labels", plugin.part(), "match", String.join(", ", conditions)));
    }
  }

  private void warm(PluginEntry plugin, ProfileDraft profile) {
    YamlSection parameters = plugin.parameters();
    double share = parameters.number("affinityThreshold", 0.8, 0, 1);
    double penalty = parameters.number("maxTTFTPenaltyMs", 18_000, 0, UNLIMITED_MS);
    if (parameters.number("explorationProbability", 0, 0, 1) > 0) {
      findings.parameter(
          Verdict.MISSING, plugin, "explorationProbability",
          "no request ignores the cache by chance; sticky workers are left when they are saturated");
    }
    for (String measured : List.of(
        "peakPrefillThroughput", "ttftSource", "prefillCalibrationFile", "prefillCalibrationFingerprint",
        "prefillCalibrationRequired")) {
      if (parameters.has(measured)) {
        findings.parameter(
            Verdict.NEEDLESS, plugin, measured, "how fast each engine prefills is measured as requests go");
      }
    }
    profile.filter(
        PluginUse.of(
            "warm", plugin.part(), "share", share, "most-wait-ms", penalty == 0 ? UNLIMITED_MS : penalty));
  }

  private void session(PluginEntry plugin, ProfileDraft profile) {
    YamlSection parameters = plugin.parameters();
    boolean clientsKey = parameters.text("strategy", "").equals("session_id");
    YamlSection byKey = parameters.section("sessionIdConfig");
    String header =
        clientsKey ? keyHeader(byKey, plugin)
        : parameters.section("encodedEndpointHeaderConfig")
            .text("header", parameters.text("headerName", "x-session-token"));
    if (!clientsKey) {
      findings.parameter(
          Verdict.MISSING, plugin, "strategy",
          "clients are given no " + header + " to send back; let them send a key of their own in this header");
    }
    if (parameters.has("profileName")) {
      findings.parameter(Verdict.NEEDLESS, plugin, "profileName", "each profile remembers its own workers");
    }
    double ttl = byKey.number("evictionTtlSeconds", 300, 1, 2_592_000);
    byKey.has("evictionSweepSeconds");
    profile.prepare(SessionKeys.of(header, plugin));
    profile.stick(PluginUse.of("session", plugin.part(), "ttl", YamlSection.plain(Math.ceil(ttl)) + " s"));
  }

  private String keyHeader(YamlSection byKey, PluginEntry plugin) {
    List<String> headers = new ArrayList<>();
    for (YamlSection source : byKey.sections("sources")) {
      if (source.has("header")) {
        headers.add(source.text("header", ""));
      } else {
        findings.add(
            Verdict.MISSING, plugin.part() + ": sources", source.line(),
            "sessions are told by headers and fields of the body, not by attributes of other plugins");
      }
    }
    return headers.isEmpty() ? "x-session-id" : headers.getFirst();
  }

  private void utilization(PluginEntry plugin, ProfileDraft profile) {
    for (YamlSection condition : plugin.parameters().sections("conditions")) {
      double most = condition.number("maxValue", 0, 0, 999_998);
      switch (condition.text("metric", "")) {
        case "active-requests", "running-requests" -> profile.filter(
            PluginUse.of("saturation", plugin.part(), "in-flight", (long) most + 1));
        case "waiting-queue" -> profile.filter(
            PluginUse.of("overload", plugin.part(), "waiting", (long) most + 1, "kv-use", 1));
        case "kv-cache-utilization" -> profile.filter(
            PluginUse.of("overload", plugin.part(), "waiting", 1_000_000L, "kv-use", Math.min(1, most)));
        default -> condition.fault(
            "metric", "has to be active-requests, running-requests, waiting-queue or kv-cache-utilization");
      }
    }
    plugin.parameters().has("fallbackOnEmpty");
  }
}
