package io.kvasir.engines;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An engine as a survey has found it: what it told, and what it showed without telling. Immutable.
 *
 * @param name of its pod
 * @param description what it told
 * @param events where its cache events are
 * @param grpcPort where its pod says that it is asked over gRPC; null where it says nothing of that
 */
public record SurveyedEngine(
    String name, EngineDescription description, EventOrigin events, @Nullable Integer grpcPort) {
  /** An engine that is asked over HTTP only. */
  public SurveyedEngine(String name, EngineDescription description, EventOrigin events) {
    this(name, description, events, null);
  }

  /** The same engine under another name. */
  public SurveyedEngine named(String other) {
    return new SurveyedEngine(other, description, events, grpcPort);
  }

  /** Its data-parallel ranks, 1 where it does not tell. */
  public int ranks() {
    Integer told = description.cache().ranks();
    return told == null ? 1 : told;
  }

  /** The names of its models, those of LoRA adapters last. */
  public List<String> modelNames() {
    return description.models().stream().map(ServedModel::name).toList();
  }

  /** What it does not tell and what would serve its clients better, each a sentence or two with the remedy. */
  public List<String> remarks() {
    List<String> remarks = new ArrayList<>();
    for (Unknown unknown : description.unknowns()) {
      if (!unknown.what().equals(Unknown.EVENTS)) {
        remarks.add("It does not tell its " + unknown.what() + ". " + unknown.remedy());
      }
    }
    switch (events) {
      case EventOrigin.Announced(EventPublishing.Zmq zmq) -> {
        if (zmq.replay() == null) {
          remarks.add("Without replay_endpoint in --kv-events-config, cache events that are lost stay lost.");
        }
      }
      case EventOrigin.Assumed(String endpoint, boolean plainOnly) -> {
        remarks.add("It does not tell whether it publishes cache events; " + endpoint + ", the default, is taken for"
            + " its own. Where " + (plainOnly ? "kv_cache_config.kv_events_config" : "--kv-events-config") + " has a"
            + " replay_endpoint, set events of the pod with it.");
        if (plainOnly) {
          remarks.add("Its events leave out adapters and salts: serve such requests by other engines.");
        }
      }
      case EventOrigin.None(String why) ->
          remarks.add(why + " The router believes that it keeps what it was sent.");
    }
    if (grpcPort != null && description.identity().kind() != EngineKind.VLLM) {
      remarks.add("The grpc-port of its pod, " + grpcPort + ", has no effect: only vLLM is asked there. Leave it out.");
    }
    if (description.models().size() >= EngineDescription.MAX_MODELS) {
      remarks.add("Of the models and adapters that it names the first " + EngineDescription.MAX_MODELS + " are taken;"
          + " requests for others are refused. Describe the pod with the models that it should serve.");
    }
    if (Boolean.FALSE.equals(description.cache().prefixCaching())) {
      remarks.add("Its prefix caching is off: start it with --enable-prefix-caching (SGLang: without"
          + " --disable-radix-cache).");
    }
    if (Boolean.FALSE.equals(description.cache().reportsCachedTokens())) {
      remarks.add("It does not report the tokens that it found in its cache: start it with"
          + " --enable-prompt-tokens-details (SGLang: --enable-cache-report).");
    }
    return remarks;
  }

  /** The LoRA adapters of one of its models: those of an alias or of an unknown name are the first model's. */
  public List<String> adaptersOf(String model) {
    List<String> bases = description.baseModels().stream().map(ServedModel::name).toList();
    return description.models().stream()
        .filter(ServedModel::isAdapter)
        .filter(adapter -> model.equals(adapter.parent())
            || (!bases.contains(adapter.parent()) && model.equals(bases.getFirst())))
        .map(ServedModel::name)
        .toList();
  }
}
