package io.kvasir.access;

import io.kvasir.admission.ServiceClass;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a caller may do. Immutable.
 *
 * @param models names of the models it may use, each exact or a beginning followed by {@code *}; empty for all
 * @param apis labels of the APIs it may use, as {@code kvasir_requests_total} has them; empty for all
 * @param profile the routing profile of its requests; null for that of its tenant, model or the default
 * @param highestClass the most urgent service class it may ask for
 * @param weight its share against other callers when the fleet is full, 1 or more
 * @param isolation who shares cached blocks and answers with it
 * @param routingDetails whether its answers say how a request was routed, and dry runs are answered
 * @param requestTemplates whether its requests may bring a chat template of their own
 */
public record Grants(
    Set<String> models,
    Set<String> apis,
    @Nullable String profile,
    ServiceClass highestClass,
    int weight,
    Isolation isolation,
    boolean routingDetails,
    boolean requestTemplates) {
  /** Everything but chat templates of its own. */
  public static final Grants ALL =
      new Grants(Set.of(), Set.of(), null, ServiceClass.INTERACTIVE, 1, Isolation.NONE, true, false);

  /** Makes the sets immutable. */
  public Grants {
    models = Set.copyOf(models);
    apis = Set.copyOf(apis);
  }

  /** The same without routing details. */
  public Grants withoutRoutingDetails() {
    return new Grants(models, apis, profile, highestClass, weight, isolation, false, requestTemplates);
  }

  /** Whether it may use a model. */
  public boolean allowsModel(String model) {
    return models.isEmpty() || models.contains(model) || models.stream().anyMatch(each -> begins(each, model));
  }

  /** Whether it may use an API. */
  public boolean allowsApi(String label) {
    return apis.isEmpty() || apis.contains(label);
  }

  private static boolean begins(String pattern, String model) {
    return pattern.endsWith("*") && model.startsWith(pattern.substring(0, pattern.length() - 1));
  }
}
