package io.kvasir.engines;

/** The pages of JSON, beside {@code /v1/models}, by which engines tell what they are. */
public enum EnginePage {
  VERSION("/version"),
  /** All arguments of SGLang; of vLLM the whole configuration, in developer mode only. */
  SERVER_INFO("/server_info?config_format=json"),
  /** Which vLLM has since 0.31 at the latest. */
  EVENT_SOURCES("/kv_event_sources"),
  /** Which only llm-d's simulator has. */
  ADMIN_CONFIG("/admin/config"),
  /** Which only Kvasir's simulated engine has. */
  SIMULATION("/sim"),
  /**
   * Of what may be a frontend of Dynamo; others are not asked, for SGLang generates then. Newer versions leave the
   * instances out unless they are asked for.
   */
  HEALTH("/health?instances=true");

  private final String target;

  EnginePage(String target) {
    this.target = target;
  }

  /** Its path, with a query. */
  String target() {
    return target;
  }
}
