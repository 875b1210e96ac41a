package io.kvasir.app.config;

import io.kvasir.admission.AdmissionSettings;
import io.kvasir.admission.AdmissionSettings.ClassSettings;
import io.kvasir.admission.ServiceClass;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Reads {@code kvasir.admission}. */
final class AdmissionReader {
  private AdmissionReader() {}

  static AdmissionSettings read(ConfigSection admission) {
    ConfigSection sections = admission.section("classes");
    Map<ServiceClass, ClassSettings> classes = new EnumMap<>(ServiceClass.class);
    for (ServiceClass each : ServiceClass.values()) {
      classes.put(each, settings(sections.section(each.label())));
    }
    sections.rejectUnread();
    AdmissionSettings settings =
        new AdmissionSettings(
            admission.flag("enabled"),
            classes,
            admission.count("quantum", 1, 100_000_000),
            admission.number("output-cost", 0, 1000),
            admission.number("kept-places", 0, 0.5),
            admission.number("kept-queue", 0, 1),
            profileClasses(admission),
            admission.durationOrNever("wait-for-workers"));
    admission.rejectUnread();
    return settings;
  }

  private static ClassSettings settings(ConfigSection section) {
    Duration longest = section.duration("longest-wait");
    Duration starvation = section.duration("starvation");
    if (starvation.compareTo(longest) > 0) {
      section.fault("starvation", "has to be at most longest-wait: who has waited that long is refused");
    }
    int most = section.count("max-waiting", 1, 1_000_000);
    int ofTenant = section.count("max-waiting-per-tenant", 1, 1_000_000);
    if (ofTenant > most) {
      section.fault("max-waiting-per-tenant", "has to be at most max-waiting");
    }
    if (section.has("first-token")) {
      section.fault("first-token", "is no setting any more: set engine-queue, how much work a worker may have queued"
          + " when a request of the class goes there; 200 ms suits interactive ones");
    }
    ClassSettings settings =
        new ClassSettings(
            section.duration("engine-queue"), longest, starvation, most, ofTenant, section.bytes("max-bytes"),
            section.count("preemptions", 0, 10));
    section.rejectUnread();
    return settings;
  }

  private static Map<String, ServiceClass> profileClasses(ConfigSection admission) {
    Map<String, ServiceClass> classes = new HashMap<>();
    admission.labels("profile-classes").forEach((profile, name) -> {
      try {
        classes.put(profile, ServiceClass.valueOf(name.toUpperCase(Locale.ROOT)));
      } catch (IllegalArgumentException unknown) {
        admission.fault(
            "profile-classes",
            "has '%s' for the profile %s; there are: %s".formatted(
                name, profile,
                Arrays.stream(ServiceClass.values()).map(ServiceClass::label).collect(Collectors.joining(", "))));
      }
    });
    return classes;
  }
}
