package io.kvasir.engines;

import org.jspecify.annotations.Nullable;

/** Where the router reads an engine's load from: requests that run and wait, and the use of its KV cache. */
public sealed interface LoadOrigin {
  /** From where the engine tells that it publishes it. */
  record Pushed(LoadFeed feed) implements LoadOrigin {}

  /**
   * From a page of its own, which is polled.
   *
   * @param path one of the pages of {@link LoadGauge}
   * @param remark what would serve better, in whole sentences; null for nothing
   */
  record Polled(String path, @Nullable String remark) implements LoadOrigin {}

  /**
   * From nowhere: what the router itself has sent is all that it knows.
   *
   * @param remark as above
   */
  record None(@Nullable String remark) implements LoadOrigin {}

  /** Where that is and what would serve better, in words for people. */
  default String words() {
    return switch (this) {
      case Pushed(LoadFeed feed) ->
          "pushed by the engine at " + String.join(", ", feed.endpoints()) + ", as its " + SglangLoad.PAGE
              + " tells.";
      case Polled(String path, String remark) ->
          (path.equals(LoadGauge.ALL_METRICS)
              ? "read among all metrics, at /metrics."
              : "read at " + (path.equals(LoadGauge.ALONE) ? "/metrics/?name[]=..." : path)
                  + ", which has these gauges alone.")
              + (remark == null ? "" : " " + remark);
      case None(String remark) ->
          "not told, so that what the router has sent is all that it knows." + (remark == null ? "" : " " + remark);
    };
  }
}
