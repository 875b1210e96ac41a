package io.kvasir.programs;

/**
 * A turn of a program: a request as the guard sees it.
 *
 * @param program the program's name, unique among the programs of a cell
 * @param promptTokens tokens of the prompt
 * @param heldTokens leading tokens of it that some worker holds, at most {@code promptTokens}
 * @param last whether the program says that it ends with this turn
 */
public record ProgramTurn(String program, int promptTokens, int heldTokens, boolean last) {}
