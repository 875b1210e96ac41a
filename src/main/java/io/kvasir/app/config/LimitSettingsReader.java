package io.kvasir.app.config;

import io.kvasir.limits.LimitSettings;
import io.kvasir.limits.WorkCost;
import java.time.Duration;

/** Reads {@code kvasir.limits}. */
final class LimitSettingsReader {
  private static final Duration LONGEST_BURST = Duration.ofHours(1);
  private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

  private LimitSettingsReader() {}

  static LimitSettings read(ConfigSection limits) {
    ConfigSection cost = limits.section("cost");
    WorkCost costs = new WorkCost(cost.number("cached", 0, 1), cost.number("output", 0, 1000));
    cost.rejectUnread();
    LimitSettings settings =
        new LimitSettings(
            limits.flag("shadow"),
            costs,
            atMost(limits, "burst", LONGEST_BURST),
            atMost(limits, "owner-timeout", LONGEST_WAIT),
            limits.count("metric-tenants", 0, 10_000));
    limits.rejectUnread();
    return settings;
  }

  private static Duration atMost(ConfigSection limits, String setting, Duration longest) {
    Duration read = limits.duration(setting);
    if (read.compareTo(longest) > 0) {
      limits.fault(setting, "has to be at most " + longest.toSeconds() + " s");
    }
    return read;
  }
}
