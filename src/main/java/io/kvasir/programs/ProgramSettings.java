package io.kvasir.programs;

import java.util.List;

/**
 * What an operator can set about programs.
 *
 * @param on whether programs are recognised
 * @param sources where requests name them
 * @param guard how programs are remembered
 * @param workerTokens tokens that each worker can hold; 0: as its engine's coefficients have it
 */
public record ProgramSettings(
    boolean on, ProgramSources sources, GuardSettings guard, long workerTokens) {
  /** No programs are recognised. */
  public static final ProgramSettings OFF =
      new ProgramSettings(
          false,
          new ProgramSources(List.of(), List.of(), List.of(), List.of(), List.of()),
          GuardSettings.DEFAULT,
          0);
}
