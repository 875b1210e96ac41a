package io.kvasir.scale;

import io.kvasir.routing.Role;

/**
 * What an autoscaler sizes: the workers that serve one model in one role.
 *
 * @param model the base model as requests name it
 * @param role the role its workers were given
 */
public record ScaleTarget(String model, Role role) {
  @Override
  public String toString() {
    return model + " (" + role.label() + ")";
  }
}
