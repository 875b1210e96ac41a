package io.kvasir.llmd;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Objects;
import java.util.SequencedMap;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The rules by which profile handlers are translated: which profile decides, and which are steps of a workflow. */
final class HandlerRules {
  private final EndpointPickerConfig config;
  private final @Nullable PluginEntry handler;

  /** The profiles by step, by the handler's own names for them. */
  private record Stages(
      String decode, String prefill, String encode, @Nullable PluginEntry prefillDecider, boolean encodes) {}

  HandlerRules(EndpointPickerConfig config) {
    this.config = config;
    this.handler = config.handler();
  }

  /** The names of the profiles that choose with another step's worker in mind; empty where there is no workflow. */
  Set<String> steps() {
    Stages stages = stages();
    if (stages == null || !splits(stages)) {
      return Set.of();
    }
    return config.profiles().stream()
        .map(ProfileEntry::name)
        .filter(List.of(stages.decode, stages.prefill)::contains)
        .collect(Collectors.toUnmodifiableSet());
  }

  /** The profile that decides unless a request says otherwise. */
  ProfileEntry standard(TranslatedParts findings) {
    Stages stages = stages();
    String wanted = "";
    if (stages != null) {
      wanted = stages.decode;
    } else if (handler != null && handler.type() == LlmdPlugin.HEADER_PROFILE_HANDLER) {
      wanted = handler.parameters().text("defaultProfile", "decode");
      String header = handler.parameters().text("headerName", "EPP-Profile");
      if (!header.equalsIgnoreCase("EPP-Profile")) {
        findings.parameter(
            Verdict.MISSING, handler, "headerName",
            "clients name a profile by EPP-Profile or X-Router-Profile, not by " + header);
      }
    }
    String name = wanted;
    return config.profiles().stream()
        .filter(profile -> profile.name().equals(name))
        .findFirst()
        .orElse(config.profiles().getFirst());
  }

  /** The workflow's settings, null where a single worker serves each request. */
  @Nullable SequencedMap<String, Object> workflow(ProfileNames names, TranslatedParts findings) {
    Stages stages = stages();
    if (stages == null || !splits(stages)) {
      return null;
    }
    SequencedMap<String, Object> workflow = new LinkedHashMap<>();
    ProfileEntry encode = profile(stages.encode);
    workflow.put("name", stages.encodes && encode != null ? "encode-prefill-decode" : "prefill-decode");
    PluginEntry decider = stages.prefillDecider;
    if (decider == null) {
      workflow.put("remote-prefill", "never");
    } else if (decider.type() == LlmdPlugin.ALWAYS_DISAGG_PD_DECIDER) {
      workflow.put("remote-prefill", "always");
    } else {
      long threshold = decider.parameters().whole("nonCachedTokens", 0, 0, Integer.MAX_VALUE);
      if (threshold == 0) {
        findings.parameter(
            Verdict.SAME, decider, "nonCachedTokens", "0 turns it off: remote-prefill = never");
        workflow.put("remote-prefill", "never");
      } else {
        workflow.put("remote-prefill", "auto");
        workflow.put("least-tokens", threshold);
      }
    }
    if (encode != null && stages.encodes) {
      workflow.put("encode", names.of(encode));
    }
    // A workflow without prefill workers of its own still has the step; the same profile can choose for both.
    ProfileEntry decode = Objects.requireNonNullElse(profile(stages.decode), config.profiles().getFirst());
    workflow.put("prefill", names.of(Objects.requireNonNullElse(profile(stages.prefill), decode)));
    workflow.put("decode", names.of(decode));
    return workflow;
  }

  private @Nullable Stages stages() {
    if (handler == null) {
      return null;
    }
    YamlSection parameters = handler.parameters();
    return switch (handler.type()) {
      case DISAGG_PROFILE_HANDLER -> {
        YamlSection profiles = parameters.section("profiles");
        YamlSection deciders = parameters.section("deciders");
        PluginEntry encodes = decider(deciders, "encode", "");
        yield new Stages(
            profiles.text("decode", "decode"),
            profiles.text("prefill", "prefill"),
            profiles.text("encode", "encode"),
            decider(deciders, "prefill", ""),
            encodes != null);
      }
      case PD_PROFILE_HANDLER -> {
        Stream.of("prefixPluginType", "prefixPluginName", "primaryPort", "threshold", "hashBlockSize")
            .forEach(parameters::has);
        yield new Stages(
            parameters.text("decodeProfile", "decode"),
            parameters.text("prefillProfile", "prefill"),
            "",
            decider(parameters, "deciderPluginName", LlmdPlugin.PREFIX_BASED_PD_DECIDER.wireName()),
            false);
      }
      default -> null;
    };
  }

  /** A decider by its name; llm-d takes any plugin's. */
  private @Nullable PluginEntry decider(YamlSection section, String key, String otherwise) {
    String name = section.text(key, otherwise);
    PluginEntry plugin = config.plugins().get(name);
    if (!name.isEmpty() && (plugin == null || plugin.type().kind() != LlmdPlugin.Kind.DECIDER)) {
      section.fault(key, "there is no decider '" + name + "' under plugins");
      return null;
    }
    return plugin;
  }

  private static boolean splits(Stages stages) {
    return stages.prefillDecider != null || stages.encodes;
  }

  private @Nullable ProfileEntry profile(String name) {
    return config.profiles().stream().filter(profile -> profile.name().equals(name)).findFirst().orElse(null);
  }
}
