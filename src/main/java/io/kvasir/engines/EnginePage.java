package io.kvasir.engines;

/** The pages of JSON, beside {@code /v1/models}, by which engines tell what they are. */
public enum EnginePage {
  VERSION("/version"),
  /**
   * All arguments of SGLang; of vLLM the whole configuration, in developer mode only. vLLM looks around on its machine
   * when it is asked first (0.32, {@code collect_env.py}): libraries, drivers, devices, which takes seconds.
   */
  SERVER_INFO("/server_info?config_format=json", 6),
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
  private final int timeoutFactor;

  EnginePage(String target) {
    this(target, 1);
  }

  EnginePage(String target, int timeoutFactor) {
    this.target = target;
    this.timeoutFactor = timeoutFactor;
  }

  /** Its path, with a query. */
  String target() {
    return target;
  }

  /** How many times as long as another page it may take. */
  int timeoutFactor() {
    return timeoutFactor;
  }
}
