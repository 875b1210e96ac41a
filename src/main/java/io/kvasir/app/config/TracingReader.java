package io.kvasir.app.config;

import io.kvasir.tracing.TracingSettings;
import io.kvasir.tracing.TracingSettings.Rule;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;

/** Reads {@code kvasir.tracing}: which requests are traced, and where their spans go. */
final class TracingReader {
  private static final String ENDPOINT = "endpoint";
  private static final String ALWAYS = "always";

  private TracingReader() {}

  static TracingSettings read(ConfigSection section) {
    String endpoint = section.text(ENDPOINT).isBlank() ? "" : section.url(ENDPOINT).toString();
    TracingSettings settings =
        new TracingSettings(
            endpoint, section.name("service-name"), section.share("sample"), always(section),
            section.duration("slow-after"));
    section.rejectUnread();
    return settings;
  }

  private static Set<Rule> always(ConfigSection section) {
    Set<Rule> rules = EnumSet.noneOf(Rule.class);
    List<String> names = section.texts(ALWAYS);
    for (String name : names) {
      Arrays.stream(Rule.values())
          .filter(rule -> label(rule).equals(name))
          .findFirst()
          .ifPresentOrElse(
              rules::add,
              () -> section.fault(
                  ALWAYS,
                  "has '%s' in it; it may have %s".formatted(
                      name, Arrays.stream(Rule.values()).map(TracingReader::label).collect(Collectors.joining(", ")))));
    }
    return rules;
  }

  private static String label(Rule rule) {
    return rule.name().toLowerCase(Locale.ROOT);
  }
}
