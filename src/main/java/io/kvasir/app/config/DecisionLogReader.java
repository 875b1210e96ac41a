package io.kvasir.app.config;

import io.kvasir.telemetry.DecisionLogSettings;

/** Reads {@code kvasir.decisions}: how decisions are recorded. */
final class DecisionLogReader {
  private DecisionLogReader() {}

  static DecisionLogSettings read(ConfigSection section) {
    DecisionLogSettings settings =
        new DecisionLogSettings(
            LogFileReader.read(section, "decisions.jsonl"),
            section.share("sample"),
            section.count("recent", 1, 100_000));
    section.rejectUnread();
    return settings;
  }
}
