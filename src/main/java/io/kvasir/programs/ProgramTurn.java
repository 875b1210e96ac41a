package io.kvasir.programs;

/**
 * A turn of a program: a request as the guard sees it.
 *
 * @param program the program's name, unique among the programs of a cell
 * @param tenant whose program it is; empty where tenants are not known
 * @param weight the tenant's share against others, 1 or more
 * @param promptTokens tokens of the prompt
 * @param heldTokens leading tokens of it that some worker holds, at most {@code promptTokens}
 * @param last whether the program says that it ends with this turn
 */
public record ProgramTurn(
    String program, String tenant, int weight, int promptTokens, int heldTokens, boolean last) {
  /** A turn of a program of which the tenant is not known. */
  public ProgramTurn(String program, int promptTokens, int heldTokens, boolean last) {
    this(program, "", 1, promptTokens, heldTokens, last);
  }
}
