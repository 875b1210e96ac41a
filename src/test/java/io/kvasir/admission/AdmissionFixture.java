package io.kvasir.admission;

import io.kvasir.admission.AdmissionSettings.ClassSettings;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Claims and settings of tests. */
final class AdmissionFixture {
  static final int QUANTUM = 1000;

  private AdmissionFixture() {}

  static Claim claim(ServiceClass serviceClass, String tenant, @Nullable String program) {
    return new Claim(serviceClass, tenant, 1, program, 100, 0);
  }

  static Claim claim(String tenant) {
    return claim(ServiceClass.DEFAULT, tenant, null);
  }

  static AdmissionSettings settings(UnaryOperator<ClassSettings> changed) {
    ClassSettings wide =
        new ClassSettings(
            Duration.ofSeconds(2), Duration.ofHours(10), Duration.ofHours(10), 100_000, 100_000, 1L << 40, 0);
    Map<ServiceClass, ClassSettings> classes = new EnumMap<>(ServiceClass.class);
    for (ServiceClass each : ServiceClass.values()) {
      classes.put(each, changed.apply(wide));
    }
    return new AdmissionSettings(true, classes, QUANTUM, 2, 0.02, 0.5, Map.of(), Duration.ZERO);
  }
}
