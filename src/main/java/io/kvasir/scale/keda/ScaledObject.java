package io.kvasir.scale.keda;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.kvasir.routing.Role;
import io.kvasir.scale.ScaleTarget;
import io.kvasir.scale.keda.wire.ScaledObjectRef;
import java.util.Arrays;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * A ScaledObject of KEDA, as it refers to its trigger.
 *
 * @param name its name
 * @param namespace its namespace
 * @param metadata the trigger's settings: {@code model}, {@code role}, {@code workersPerReplica}, and KEDA's own
 */
record ScaledObject(String name, String namespace, Map<String, String> metadata) {
  private static final int MOST_WORKERS = 64;

  static ScaledObject of(ScaledObjectRef reference) {
    return new ScaledObject(
        reference.getName(), reference.getNamespace(), Map.copyOf(reference.getScalerMetadataMap()));
  }

  /**
   * The target that it scales.
   *
   * @throws StatusRuntimeException INVALID_ARGUMENT when a setting is missing or malformed; the message names it
   */
  ScaleTarget target() {
    String model = metadata.getOrDefault("model", "").strip();
    if (model.isEmpty()) {
      throw invalid("model", "is missing: name the base model, as requests name it");
    }
    String role = metadata.getOrDefault("role", Role.BOTH.label());
    return Arrays.stream(Role.values())
        .filter(each -> each.label().equals(role.strip().toLowerCase(Locale.ROOT)))
        .findFirst()
        .map(each -> new ScaleTarget(model, each))
        .orElseThrow(
            () -> invalid(
                "role",
                "is '%s'; it has to be one of %s".formatted(
                    role, Arrays.stream(Role.values()).map(Role::label).collect(Collectors.joining(", ")))));
  }

  /**
   * The workers of one replica: its data-parallel ranks.
   *
   * @throws StatusRuntimeException INVALID_ARGUMENT when it is no such number
   */
  int workersPerReplica() {
    String written = metadata.getOrDefault("workersPerReplica", "1").strip();
    try {
      int workers = Integer.parseInt(written);
      if (workers >= 1 && workers <= MOST_WORKERS) {
        return workers;
      }
    } catch (NumberFormatException malformed) {
      // Reported below, as a number out of range is.
    }
    throw invalid(
        "workersPerReplica", "is '%s'; it has to be a whole number from 1 to %d".formatted(written, MOST_WORKERS));
  }

  private StatusRuntimeException invalid(String setting, String fault) {
    return Status.INVALID_ARGUMENT
        .withDescription("ScaledObject %s/%s: metadata.%s %s".formatted(namespace, name, setting, fault))
        .asRuntimeException();
  }
}
