package io.kvasir.programs;

/**
 * What is known of one program.
 *
 * @param program its name
 * @param live whether it is expected back
 * @param turns those that went
 * @param gapMs mean milliseconds between the end of a turn and the next one, 0 before the second
 * @param returnedTokens prompt tokens of its turns after the first
 * @param heldTokens of these, tokens that a worker held when the turn went
 * @param ownTokens tokens of its context that are its own
 */
public record ProgramStatus(
    String program, boolean live, long turns, long gapMs, long returnedTokens, long heldTokens, int ownTokens) {}
