package io.kvasir.programs;

/**
 * The state of a {@link ThrashGuard}.
 *
 * @param programs programs that are remembered
 * @param live those that are expected back
 * @param liveTokens tokens of their own
 * @param expectedTokens the same, those of idle programs by how likely these come back
 * @param waiting programs that wait
 */
public record GuardStatus(int programs, int live, long liveTokens, long expectedTokens, int waiting) {}
