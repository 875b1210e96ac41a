package io.kvasir.app.config;

import io.kvasir.programs.GuardSettings;
import io.kvasir.programs.ProgramSettings;
import io.kvasir.programs.ProgramSources;

/** Reads {@code kvasir.programs}. */
final class ProgramSettingsReader {
  private static final long MOST_TOKENS = 1_000_000_000_000L;

  private ProgramSettingsReader() {}

  /**
   * Reads them.
   *
   * @param admission whether requests can wait
   */
  static ProgramSettings read(ConfigSection programs, boolean admission) {
    ProgramSources sources =
        new ProgramSources(
            programs.texts("headers"),
            programs.texts("fields"),
            programs.texts("parent-headers"),
            programs.texts("parent-fields"),
            programs.texts("last-headers"));
    ConfigSection guard = programs.section("guard");
    double admitBelow = guard.number("admit-below", 0.01, 1);
    double pauseAbove = guard.number("pause-above", 0.01, 2);
    if (pauseAbove < admitBelow) {
      guard.fault("pause-above", "has to be at least admit-below");
    }
    GuardSettings limits =
        new GuardSettings(
            admitBelow,
            Math.max(admitBelow, pauseAbove),
            Math.max(1, programs.duration("alive").toMillis()),
            Math.max(1, guard.duration("longest-wait").toMillis()),
            programs.count("remembered", 1, 1_000_000));
    ProgramSettings settings =
        new ProgramSettings(
            programs.flag("enabled"), sources, guard.flag("enabled"), limits,
            programs.whole("worker-tokens", 0, MOST_TOKENS));
    if (settings.guarded() && !(settings.on() && admission)) {
      guard.fault(
          "enabled",
          "needs programs.enabled = true, to know them, and admission.enabled = true, so that they can wait");
    }
    guard.rejectUnread();
    programs.rejectUnread();
    return settings;
  }
}
