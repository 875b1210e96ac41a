package io.kvasir.prompt.chat;

/**
 * The engines that prepare conversations for their templates in one way: all versions of a make between two changes.
 *
 * @param name such as {@code vLLM 0.33}: the make, and the version of the latest change
 */
public record EngineGroup(String name) {
  /** That of an engine. */
  public static EngineGroup of(EngineVersion engine) {
    return new EngineGroup(switch (engine) {
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
