package io.kvasir.llmd;

import java.util.List;

/** The preparer of session keys that stands for what llm-d's plugins say of sessions. */
final class SessionKeys {
  private SessionKeys() {}

  /** Sessions are told by this header alone. */
  static PluginUse of(String header, PluginEntry plugin) {
    return PluginUse.of("session-key", plugin.part(), "headers", List.of(header), "fields", List.of());
  }
}
