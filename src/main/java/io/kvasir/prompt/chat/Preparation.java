package io.kvasir.prompt.chat;

/**
 * How engines prepare conversations for their templates: the same for all versions between two changes.
 *
 * @param name such as {@code vLLM 0.33}: the make, and the version of the latest change
 */
public record Preparation(String name) {
  /** That of an engine. */
  public static Preparation of(EngineVersion engine) {
    return new Preparation(switch (engine) {
      case VllmVersion version -> "vLLM 0." + VllmRule.latest(version);
      case TensorRtVersion version -> disaggregated("TensorRT-LLM 1." + TensorRtRule.latest(version),
          version.disaggregated());
      case SglangVersion version -> {
        String parser = version.reasoningParser();
        String name = "SGLang 0.5." + SglangRule.latest(version) + (parser == null ? "" : " " + parser);
        yield disaggregated(name, version.disaggregated());
      }
    });
  }

  private static String disaggregated(String name, boolean disaggregated) {
    return disaggregated ? name + ", disaggregated" : name;
  }
}
