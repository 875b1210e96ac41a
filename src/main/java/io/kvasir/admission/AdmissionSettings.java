package io.kvasir.admission;

import java.time.Duration;
import java.util.Map;

/**
 * What an operator can set about waiting.
 *
 * @param on whether requests wait at all; otherwise what cannot be served at once is refused
 * @param classes of every class
 * @param quantum tokens by which a tenant of weight 1, or a program, that comes back may be ahead of the others: at
 *     least 1
 * @param outputCost what a generated token counts against one of a prompt that is not cached, 0 or more
 * @param keptPlaces the largest share of the workers' places that is kept for tenants which have not used up their
 *     shares, 0 to 0.5
 * @param keptQueue the share of what may be queued at a worker that is kept for them there, 0 to 1
 * @param profileClasses the classes of requests by their profiles, where their clients name none
 * @param waitForWorkers how long requests wait, too, while no worker of their model can be reached; zero: not at all
 */
public record AdmissionSettings(
    boolean on,
    Map<ServiceClass, ClassSettings> classes,
    int quantum,
    double outputCost,
    double keptPlaces,
    double keptQueue,
    Map<String, ServiceClass> profileClasses,
    Duration waitForWorkers) {
  private static final ClassSettings NEVER =
      new ClassSettings(Duration.ofSeconds(2), Duration.ofSeconds(30), Duration.ofSeconds(10), 1, 1, 1, 0);

  /** Nobody waits. */
  public static final AdmissionSettings OFF =
      new AdmissionSettings(
          false,
          Map.of(
              ServiceClass.SYSTEM, NEVER, ServiceClass.INTERACTIVE, NEVER, ServiceClass.DEFAULT, NEVER,
              ServiceClass.BULK, NEVER),
          1,
          0,
          0,
          0,
          Map.of(),
          Duration.ZERO);

  /**
   * What can be set about a class.
   *
   * @param engineQueue the most work that may be queued at a worker when a request goes there; more urgent classes
   *     have longer times, so that they go when others still wait
   * @param longestWait a request that has waited this long is refused
   * @param starvation when a request has waited this long and none of its class went for as long, it is next
   * @param maxLength requests that may wait, at least 1
   * @param maxTenantLength of these, of one tenant
   * @param maxBytes that the waiting requests may take
   * @param preemptions how often a request may be taken back from its worker, while its answer has not begun, for one
   *     of a more urgent class; 0 for never
   */
  public record ClassSettings(
      Duration engineQueue,
      Duration longestWait,
      Duration starvation,
      int maxLength,
      int maxTenantLength,
      long maxBytes,
      int preemptions) {}

  /**
   * Copies the maps.
   *
   * @throws IllegalArgumentException when a class is missing
   */
  public AdmissionSettings {
    classes = Map.copyOf(classes);
    profileClasses = Map.copyOf(profileClasses);
    for (ServiceClass each : ServiceClass.values()) {
      if (!classes.containsKey(each)) {
        throw new IllegalArgumentException("no settings of class " + each.label());
      }
    }
  }

  /** Those of a class. */
  public ClassSettings of(ServiceClass serviceClass) {
    ClassSettings settings = classes.get(serviceClass);
    if (settings == null) {
      throw new IllegalStateException("no settings of class " + serviceClass.label());
    }
    return settings;
  }
}
