package io.kvasir.app.config;

import io.kvasir.programs.GuardSettings;
import io.kvasir.programs.ProgramSettings;
import io.kvasir.programs.ProgramSources;

/** Reads {@code kvasir.programs}. */
final class ProgramSettingsReader {
  private static final long MOST_TOKENS = 1_000_000_000_000L;

  private ProgramSettingsReader() {}

  static ProgramSettings read(ConfigSection programs) {
    ProgramSources sources =
        new ProgramSources(
            programs.texts("headers"),
            programs.texts("fields"),
            programs.texts("parent-headers"),
            programs.texts("parent-fields"),
            programs.texts("last-headers"));
    GuardSettings guard =
        new GuardSettings(
            GuardSettings.DEFAULT.admitBelow(),
            GuardSettings.DEFAULT.pauseAbove(),
            Math.max(1, programs.duration("alive").toMillis()),
            GuardSettings.DEFAULT.longestWaitMs(),
            programs.count("remembered", 1, 1_000_000));
    ProgramSettings settings =
        new ProgramSettings(
            programs.flag("enabled"), sources, guard, programs.whole("worker-tokens", 0, MOST_TOKENS));
    programs.rejectUnread();
    return settings;
  }
}
