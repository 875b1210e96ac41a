package io.kvasir.programs;

import java.util.List;

/**
 * What an operator can set about programs.
 *
 * @param on whether programs are recognised
 * @param sources where requests name them
 * @param guarded whether the guard lets programs wait; otherwise it only knows them
 * @param guard the guard's settings
 * @param workerTokens tokens that each worker can hold; 0: as its engine's coefficients have it
 */
public record ProgramSettings(
    boolean on, ProgramSources sources, boolean guarded, GuardSettings guard, long workerTokens) {
  /** No programs are recognised. */
  public static final ProgramSettings OFF =
      new ProgramSettings(
          false,
          new ProgramSources(List.of(), List.of(), List.of(), List.of(), List.of()),
          false,
          GuardSettings.DEFAULT,
          0);
}
