package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SequencedMap;

/** The rules by which flow control is translated: nothing waits in the router, so nearly all of it is named only. */
final class FlowControlRules {
  static final String GATE = "flowControl";

  /** Why each setting has no counterpart, and what to do. */
  private static final SequencedMap<String, String> MISSING = new LinkedHashMap<>();

  static {
    MISSING.put(
        "maxBytes", "nothing waits; the memory that requests under way may take is gateway.memory-share of the heap");
    MISSING.put("maxRequests", "nothing waits; max-in-flight of pods bounds what is under way");
    MISSING.put("defaultRequestTTL", "nothing waits: a request is refused with Retry-After when every worker is full");
    MISSING.put(
        "noEndpointRequestTTL", "nothing waits: without a worker a request is refused with 503 and Retry-After");
    for (String bands : List.of("defaultPriorityBand", "defaultNegativePriorityBand", "priorityBands")) {
      MISSING.put(
          bands, "nothing waits, so priorities decide nothing; limits of keys and tenants bound what each may use");
    }
    MISSING.put("usageLimitPolicyPluginRef", "nothing waits, so no request has a lower ceiling than another");
    MISSING.put("enableEviction", "requests under way are never taken back");
  }

  private final EndpointPickerConfig config;
  private final TranslatedParts findings;

  FlowControlRules(EndpointPickerConfig config, TranslatedParts findings) {
    this.config = config;
    this.findings = findings;
  }

  void apply(SequencedMap<String, Object> settings) {
    YamlSection flowControl = config.flowControl();
    boolean on = config.gates().contains(GATE);
    for (Map.Entry<String, String> setting : MISSING.entrySet()) {
      if (flowControl.has(setting.getKey())) {
        findings.add(
            on ? Verdict.MISSING : Verdict.NEEDLESS,
            "flowControl." + setting.getKey(),
            flowControl.line(setting.getKey()),
            on ? setting.getValue() : "the feature gate flowControl is off, so llm-d does not use it either");
      }
    }
    if (on && MISSING.keySet().stream().noneMatch(flowControl::has)) {
      findings.add(
          Verdict.MISSING, "featureGates: flowControl", 0,
          "nothing waits in the router: a request is refused with Retry-After when every worker is full");
    }
    YamlSection detector = flowControl.section("saturationDetector");
    PluginEntry plugin = EndpointPickerConfig.checkReference(detector, "pluginRef", config.plugins());
    if (plugin != null && plugin.type() == LlmdPlugin.CONCURRENCY_DETECTOR && on) {
      String mode = plugin.parameters().text("concurrencyMode", "requests");
      settings.put("pod-defaults.max-in-flight", Concurrency.of(plugin));
      if (!mode.equals("requests")) {
        findings.parameter(
            Verdict.MISSING, plugin, "concurrencyMode", "workers are full by requests, not by tokens");
        plugin.parameters().has("maxTokenConcurrency");
      }
    }
    detector.rejectUnread();
    flowControl.rejectUnread();
  }
}
